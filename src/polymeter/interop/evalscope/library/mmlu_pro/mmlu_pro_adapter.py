"""MMLU-Pro (Wang et al. 2024, arXiv 2406.01574): questions of fourteen subjects with up to ten options.

Five worked examples of the subject stand before each question, and the model is told to reason first. An answer is read
as the benchmark's authors read it: what follows "answer is", else what follows "Answer:", else the last letter that
stands alone. An answer without a letter is wrong.
"""

import re

from evalscope.benchmarks import Benchmark, DataAdapter
from evalscope.constants import OutputType

SUBSETS = [
    "computer science",
    "math",
    "chemistry",
    "engineering",
    "law",
    "biology",
    "health",
    "physics",
    "business",
    "philosophy",
    "economics",
    "other",
    "psychology",
    "history",
]
LETTERS = list("ABCDEFGHIJ")
READINGS = (
    re.compile(r"answer is \(?([A-J])\)?", re.IGNORECASE),
    re.compile(r"answer:\s*\(?([A-J])\)?", re.IGNORECASE),
)
ALONE = re.compile(r"\b([A-J])\b")
PROMPT = (
    "The following are multiple choice questions (with answers) about {subset_name}. Think step by step and then "
    'finish your answer with "the answer is (X)" where X is the correct letter choice.\n{query}'
)


@Benchmark.register(
    name="mmlu_pro",
    pretty_name="MMLU-Pro",
    tags=["MCQ", "Knowledge"],
    description="Twelve thousand multiple-choice questions of fourteen subjects that ask for reasoning, with up to ten "
    "options each.",
    dataset_id="modelscope/MMLU-Pro",
    model_adapter=OutputType.GENERATION,
    output_types=[OutputType.MULTIPLE_CHOICE, OutputType.GENERATION],
    subset_list=SUBSETS,
    metric_list=["AverageAccuracy"],
    few_shot_num=5,
    train_split="validation",
    eval_split="test",
    prompt_template=PROMPT,
)
class MMLUProAdapter(DataAdapter):
    """The records of one dataset, told apart by their subject."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.choices = LETTERS

    def load(self, **kwargs):
        """All records, regrouped by subject."""
        kwargs["subset_list"] = ["default"]
        return self.reformat_subset(super().load(**kwargs), subset_key="category")

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        """The subject's examples, then the question."""
        examples = "".join(f"{ask(record)}{record['cot_content']}\n\n" for record in few_shot_list)
        prompt = self.prompt_template.format(subset_name=subset_name, query=examples + ask(input_d))
        return self.gen_prompt_data(prompt, choices=LETTERS[: len(input_d["options"])])

    def get_gold_answer(self, input_d):
        """A letter."""
        return input_d["answer"]

    def parse_pred_result(self, result, raw_input_d=None, **kwargs):
        """A letter, or nothing."""
        return result if self.model_adapter == OutputType.MULTIPLE_CHOICE else letter_of(result)

    def match(self, gold, pred):
        """1 for the right letter."""
        return float(bool(pred) and gold == pred)


def ask(record):
    """A question with its options."""
    options = "\n".join(f"({letter}): {text}" for letter, text in zip(LETTERS, record["options"], strict=False))
    return f"Q: {record['question']}\nOptions are:\n{options}\n\n"


def letter_of(text):
    """The letter that an answer comes to."""
    for reading in READINGS:
        found = reading.search(text)
        if found:
            return found.group(1).upper()
    alone = ALONE.findall(text)
    return alone[-1] if alone else ""
