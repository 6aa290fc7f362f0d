"""The datasets of a collection, in VLMEvalKit's idioms."""

from vlmeval.smp import load

from .image_base import ImageBaseDataset


class Part(ImageBaseDataset):
    TYPE = "VQA"
    DATASET_URL = {"Part_a": "", "Part_b": ""}

    def evaluate(self, eval_file, **judge_kwargs):
        data = load(eval_file)
        return {"right": sum(said == answer for said, answer in zip(data["prediction"], data["answer"]))}
