"""Short essays, scored by a judge alone, and an average over the subsets in the report."""

from typing import Literal

from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import Sample
from evalscope.api.judge import JudgeContext, JudgeDefinition
from evalscope.api.metric import AggScore
from evalscope.api.registry import register_benchmark
from evalscope.constants import ScoringPolicy
from pydantic import BaseModel, Field

PROMPT = "Essay:\n{essay}\n\nTopic: {topic}\nIs the essay about its topic?"


class Verdict(BaseModel):
    reasoning: str = Field(default="", description="why")
    verdict: Literal["good", "fair", "poor"]


@register_benchmark(
    BenchmarkMeta(
        name="essays",
        pretty_name="Essays",
        dataset_id="made/essays",
        description="Essays on given topics.",
        subset_list=["short", "long"],
        metric_list=["quality"],
        eval_split="test",
        prompt_template="Write an essay about {question}.",
    )
)
class EssaysAdapter(DefaultDataAdapter):
    scoring_policy = ScoringPolicy.JUDGE_ONLY

    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        return Sample(input=record["topic"], target=record["topic"], metadata={"level": record["level"]})

    def judge_definition(self, context: JudgeContext) -> JudgeDefinition:
        return JudgeDefinition.labels(
            prompt=PROMPT.format(essay=context.original_prediction, topic=context.reference),
            schema_model=Verdict,
            scores={"good": {"quality": 1.0}, "fair": {"quality": 0.5}, "poor": {"quality": 0.0}},
        )

    def aggregate_scores(self, sample_scores):
        values = [one.score.value["quality"] for one in sample_scores if "quality" in one.score.value]
        if not values:
            return []
        return [
            AggScore(metric_name="quality", score=sum(values) / len(values), num=len(values)),
        ]
