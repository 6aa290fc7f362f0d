"""Text questions with a number or a name as the answer, repeated attempts and a filter."""

import re

from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import Sample
from evalscope.api.evaluator import TaskState
from evalscope.api.metric import Score
from evalscope.api.registry import register_benchmark
from evalscope.constants import Tags
from evalscope.utils.logger import get_logger

logger = get_logger()


@register_benchmark(
    BenchmarkMeta(
        name="rivers",
        pretty_name="Rivers",
        dataset_id="made/rivers",
        description="Questions about rivers.",
        tags=[Tags.KNOWLEDGE, Tags.QA],
        subset_list=["europe", "asia"],
        metric_list=["acc", "exact_match"],
        primary_metric="acc",
        aggregation="mean",
        few_shot_num=2,
        train_split="train",
        eval_split="test",
        prompt_template="Question: {question}\nAnswer in one word.",
        few_shot_prompt_template="Examples:\n{fewshot}\n\nQuestion: {question}\nAnswer in one word.",
        system_prompt="You know rivers.",
        extra_params={
            "strict": {"type": "bool", "description": "Compare case.", "value": False},
        },
    )
)
class RiversAdapter(DefaultDataAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.is_strict = self.extra_params.get("strict", False)

    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        return Sample(
            input=record["question"],
            target=record["answer"],
            metadata={"length_km": record.get("length_km"), "hint": record.get("hint", "")},
        )

    def sample_filter(self, sample):
        return sample.metadata.get("hint") != "skip"

    def sample_to_fewshot(self, sample):
        return f"Question: {sample.input}\nAnswer: {sample.target}"

    def extract_answer(self, prediction, task_state):
        found = re.search(r"[Aa]nswer(?: is)?:?\s*(\w+)", prediction)
        if found is None:
            logger.warning("no answer in %r", prediction)
        return found.group(1) if found else prediction.strip()

    def match_score(self, original_prediction, filtered_prediction, reference, task_state: TaskState):
        score = Score(extracted_prediction=filtered_prediction, prediction=original_prediction)
        same = filtered_prediction == reference
        loose = filtered_prediction.lower() == reference.lower()
        score.value = {"acc": float(same if self.is_strict else loose), "exact_match": float(same)}
        score.metadata = {"length_km": task_state.metadata["length_km"]}
        score.main_score_name = "acc"
        return score
