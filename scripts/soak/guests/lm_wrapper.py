"""A wrapper as lm-eval's users write them: it continues texts and scores continuations."""

import importlib.util
from pathlib import Path

from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

spec = importlib.util.spec_from_file_location("soak_questions", Path(__file__).with_name("questions.py"))
asked = importlib.util.module_from_spec(spec)
spec.loader.exec_module(asked)


@register_model("soak-lm")
class SoakLM(LM):
    def __init__(self, batch_size: int = 2, **kwargs) -> None:
        super().__init__()
        assert kwargs == {}

    def loglikelihood(self, requests):
        pairs = [request.args for request in requests]
        return [(-float(len(continuation)), asked.answer(context, "") in continuation) for context, continuation in pairs]

    def loglikelihood_rolling(self, requests):
        return [-float(len(request.args[0])) for request in requests]

    def generate_until(self, requests):
        return [asked.answer(request.args[0], request.task_name) for request in requests]
