"""A wrapper as ULMEvalKit's users write them, which brings its own prompts. It writes down every question."""

from PIL import Image
from ulmeval.ulm.base import BaseModel

from .questions import answer, mark, told


class OracleUlm(BaseModel):
    def __init__(self, shade=100, **kwargs):
        super().__init__()
        self.shade = shade

    def use_custom_prompt(self, dataset):
        return dataset != "garden"

    def build_prompt(self, line, dataset=None):
        text = line.get("prompt") or line.get("question")
        return [{"type": "text", "value": f"{dataset} says: {text}\nOptions: A, B or C"}]

    def generate_inner(self, message, dataset=None):
        text = " ".join(item["value"] for item in message if item["type"] == "text")
        told((text, dataset))
        if dataset in ("garden", "shades"):
            return Image.new("RGB", (16, 12), (self.shade, mark(text), 9))
        return answer(text)
