"""Two small benchmarks of EvalScope 0.17: one answer with one number, and several answers with several numbers."""

from __future__ import annotations

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.metrics import mean

RECORDS = {
    "europe": [
        ("France", "Paris"),
        ("Spain", "Madrid"),
        ("Latvia", "Riga"),
        ("Poland", "Warsaw"),
        ("Greece", "Athens"),
    ],
    "asia": [("Japan", "Tokyo"), ("Nepal", "Kathmandu"), ("Laos", "Vientiane"), ("Oman", "Muscat")],
}


class _Capitals(DataAdapter):
    def load(self, **kwargs):
        return {
            subset: {"test": [{"country": country, "capital": capital} for country, capital in records]}
            for subset, records in RECORDS.items()
        }

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(self.prompt_template.format(**input_d))

    def get_gold_answer(self, input_d):
        return input_d["capital"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        return result.strip().strip(".")


@Benchmark.register(
    name="capitals",
    dataset_id="made/capitals",
    subset_list=list(RECORDS),
    metric_list=["AverageAccuracy"],
    few_shot_num=0,
    eval_split="test",
    prompt_template="What is the capital of {country}?",
)
class Capitals(_Capitals):
    """Right or wrong."""

    def match(self, gold, pred):
        return float(gold == pred)


@Benchmark.register(
    name="spelled_capitals",
    dataset_id="made/spelled_capitals",
    subset_list=["asia"],
    metric_list=["exact", "length"],
    few_shot_num=0,
    eval_split="test",
    prompt_template="Spell the capital of {country}.",
)
class SpelledCapitals(_Capitals):
    """Two numbers for each answer, and more than one answer where the model gives them."""

    def load(self, **kwargs):
        return {"asia": super().load(**kwargs)["asia"]}

    def match(self, gold, pred):
        return {"exact": float(gold == pred), "length": min(len(pred) / len(gold), 1.0)}

    def compute_metric(self, review_res_list, **kwargs):
        flat = [item for items in review_res_list for item in (items if isinstance(items, list) else [items])]
        return [
            {"metric_name": name, "score": mean([item[name] for item in flat]), "num": len(review_res_list)}
            for name in ("exact", "length")
        ]
