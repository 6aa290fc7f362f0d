"""Images with choices: two base classes, and messages that the adapter makes itself."""

import base64

from evalscope.api.benchmark import BenchmarkMeta, MultiChoiceAdapter, VisionLanguageAdapter
from evalscope.api.dataset import Sample
from evalscope.api.messages import ChatMessageUser, Content, ContentImage, ContentText
from evalscope.api.registry import register_benchmark
from evalscope.constants import Tags
from evalscope.utils.io_utils import bytes_to_base64
from evalscope.utils.multi_choices import MultipleChoiceTemplate, prompt


@register_benchmark(
    BenchmarkMeta(
        name="colours",
        pretty_name="Colours",
        dataset_id="made/colours",
        description="Questions about plain images.",
        tags=[Tags.MULTI_MODAL, Tags.MULTIPLE_CHOICE],
        subset_list=["default"],
        metric_list=["acc"],
        eval_split="test",
        prompt_template=MultipleChoiceTemplate.SINGLE_ANSWER_COT,
    )
)
class ColoursAdapter(VisionLanguageAdapter, MultiChoiceAdapter):
    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)

    def record_to_sample(self, record):
        text = prompt(question=record["question"], choices=record["options"], template=self.prompt_template)
        content: list[Content] = [ContentText(text=text)]
        for image in record["images"]:
            data = base64.b64decode(image)
            content.append(ContentImage(image=bytes_to_base64(data, format="png", add_header=True)))
        return Sample(
            input=[ChatMessageUser(content=content)],
            choices=record["options"],
            target=record["answer"],
            metadata={"id": record["id"]},
        )
