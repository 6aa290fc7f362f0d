"""The benchmarks of ``conformance/logs/make_evalscope_1.py`` in the form of EvalScope 0.17, with the same answers: a
script for ``polymeter python``. An empty answer has no number in 1.x, whose mean is that of the others: instead of it,
the other one is given again.
"""

import sys

from evalscope import TaskConfig, run_task
from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.metrics import mean
from evalscope.models import CustomModel

CAPITALS = {
    "europe": ["France Paris", "Spain Madrid", "Latvia Riga", "Poland Warsaw", "Greece Athens"],
    "asia": ["Japan Tokyo", "Nepal Kathmandu", "Laos Vientiane", "Oman Muscat"],
}
SAID = {
    "France": ["Paris.", "Lyon"],
    "Spain": ["Madrid", "Madrid"],
    "Poland": ["Krakow", "Warsaw"],
    "Greece": [" Athens ", "It is Athens"],
    "Japan": ["Tokyo", "Tokyo"],
    "Nepal": ["I do not know.", "Kathmandu"],
    "Laos": ["Vientiane", "Vientiane"],
    "Oman": ["Muscat", "Muscat"],
    "sky": ["ANSWER: B"],
    "grass": ["ANSWER: A"],
    "blood": ["I cannot tell."],
}


def row_of(country, capital):
    return {"question": f"What is the capital of {country}?", "answer": capital, "country": country, "capital": capital}


class Made(DataAdapter):
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["question"])

    def get_gold_answer(self, input_d):
        return input_d["answer"]


@Benchmark.register(
    name="capitals",
    dataset_id="made/capitals",
    subset_list=list(CAPITALS),
    metric_list=["exact_match", "accuracy"],
    few_shot_num=0,
    eval_split="test",
)
class Capitals(Made):
    def load(self, **kwargs):
        return {subset: {"test": [row_of(*pair.split()) for pair in pairs]} for subset, pairs in CAPITALS.items()}

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result

    def match(self, gold, pred):
        return {"exact_match": float(pred.strip().strip(".") == gold), "accuracy": float(gold in pred)}

    def compute_metric(self, review_res_list, **kwargs):
        return [
            {"metric_name": name, "score": mean([of_sample(own, name) for own in review_res_list]), "num": 8}
            for name in ("exact_match", "accuracy")
        ]


def of_sample(answers, name):
    return mean([one[name] for one in answers]) if isinstance(answers, list) else answers[name]


@Benchmark.register(
    name="general_mcq",
    dataset_id="made/colours",
    subset_list=["colours"],
    metric_list=["accuracy"],
    few_shot_num=0,
    eval_split="test",
)
class Colours(Made):
    def load(self, **kwargs):
        end = "\nA) green\nB) blue\nC) red\nANSWER: A,B,C"
        pairs = [("sky", "B"), ("grass", "A"), ("blood", "C")]
        rows = [{"question": f"Which colour has the {thing}?{end}", "answer": letter} for thing, letter in pairs]
        return {"colours": {"test": rows}}

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result.removeprefix("ANSWER: ")

    def match(self, gold, pred):
        return {"accuracy": float(gold == pred)}

    def compute_metric(self, review_res_list, **kwargs):
        numbers = [own["accuracy"] for own in review_res_list]
        return [{"metric_name": "accuracy", "score": mean(numbers), "num": len(numbers)}]


class Speaker(CustomModel):
    def predict(self, prompts, **kwargs):
        return [self.answer(str(prompt)) for prompt in prompts]

    def answer(self, prompt):
        word = next((word for word in SAID if word in prompt), "")
        if not word:
            raise RuntimeError("The model has no answer.")
        choices = [{"index": i, "message": {"content": text, "role": "assistant"}} for i, text in enumerate(SAID[word])]
        usage = {"completion_tokens": 2, "prompt_tokens": 7, "total_tokens": 9}
        return {"choices": choices, "model": "speaker", "object": "chat.completion", "created": 0, "usage": usage}


for name, n in (("capitals", 2), ("general_mcq", 1)):
    run_task(
        TaskConfig(
            model=Speaker(config={"model_id": "speaker"}),
            eval_type="custom",
            datasets=[name],
            work_dir=sys.argv[1],
            generation_config={"max_new_tokens": 16, "n": n},
            ignore_errors=True,
        )
    )
