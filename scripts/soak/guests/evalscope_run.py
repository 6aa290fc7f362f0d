"""A script as EvalScope's users write them, with a model of their own that answers with text and with images."""

import os

os.environ["POLYMETER_INCLUDE_PATH"] = "bench"

import counted
from evalscope import TaskConfig, run_task
from evalscope.models import CustomModel
from PIL import Image
from questions import answer, mark

assert counted


class Mine(CustomModel):
    def __init__(self, config):
        super().__init__(config)

    def predict(self, prompts, **kwargs):
        return [{"choices": [{"message": {"content": self.content(prompt)}}]} for prompt in prompts]

    def content(self, prompt):
        if prompt.startswith("picture"):
            return Image.new("RGB", (16, 12), (mark(prompt), 9, 9))
        return answer(prompt)


if __name__ == "__main__":
    run_task(
        TaskConfig(
            model=Mine({"model_id": "mine"}), eval_type="custom", datasets=["quiz", "drawn"], use_cache="run"
        )
    )
