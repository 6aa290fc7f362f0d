"""Multiple choice with examples from a split of its own, one subset for each value of a column."""

from evalscope.api.benchmark import BenchmarkMeta, MultiChoiceAdapter
from evalscope.api.dataset import Sample
from evalscope.api.registry import register_benchmark
from evalscope.constants import Tags
from evalscope.utils.multi_choices import MultipleChoiceTemplate


@register_benchmark(
    BenchmarkMeta(
        name="planets",
        pretty_name="Planets",
        dataset_id="made/planets",
        description="Questions about planets.",
        tags=[Tags.MULTIPLE_CHOICE],
        subset_list=["inner", "outer"],
        default_subset="default",
        metric_list=["acc"],
        few_shot_num=1,
        train_split="dev",
        eval_split="test",
        prompt_template=MultipleChoiceTemplate.SINGLE_ANSWER,
    )
)
class PlanetsAdapter(MultiChoiceAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.reformat_subset = True
        self.category_map = {"inner": "rock", "outer": "gas"}

    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        return Sample(
            input=record["question"],
            choices=record["options"],
            target="ABCD"[record["label"]],
            subset_key=record["zone"],
            metadata={"zone": record["zone"]},
        )
