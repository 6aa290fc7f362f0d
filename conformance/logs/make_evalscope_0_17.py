"""Writes a log of EvalScope 0.17 on made data: ``python conformance/logs/make_evalscope_0_17.py FOLDER``.

It is a script for EvalScope, so it runs where EvalScope is installed and, unmodified, under ``polymeter python``. Then
``python -m conformance.logs.cleaning WRITTEN KEPT`` keeps what it has written.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from evalscope import TaskConfig, run_task
from evalscope.models import CustomModel

sys.path.insert(0, str(Path(__file__).parent))

import capitals_adapter

assert capitals_adapter  # it registers its benchmarks

ANSWERS = {
    "France": "Paris.",
    "Spain": "Madrid",
    "Poland": "Krakow",
    "Greece": " Athens ",
    "Japan": "Tokyo",
    "Nepal": "I do not know.",
    "Laos": "Vientiane",
    "Oman": "Muscat",
}
"""What the model says; it fails for Latvia."""


class Speaker(CustomModel):
    """Says what is written above."""

    def predict(self, prompts, **kwargs):
        n = 2 if "Spell" in str(prompts) else 1
        return [self._answer(str(prompt), n) for prompt in prompts]

    def _answer(self, prompt, n):
        country = next((name for name in ANSWERS if name in prompt), "")
        if not country:
            raise RuntimeError("The model has no answer.")
        texts = [ANSWERS[country], ANSWERS[country][:3]][:n]
        return {
            "choices": [
                {"index": i, "message": {"content": text, "role": "assistant"}} for i, text in enumerate(texts)
            ],
            "created": time.time(),
            "model": self.config["model_id"],
            "object": "chat.completion",
            "usage": {"completion_tokens": 2, "prompt_tokens": 7, "total_tokens": 9},
        }


def config(dataset, **generation):
    """How a benchmark is run."""
    return TaskConfig(
        model=Speaker(config={"model_id": "speaker"}),
        eval_type="custom",
        datasets=[dataset],
        work_dir=sys.argv[1],
        ignore_errors=True,
        judge_strategy="rule",
        generation_config={"max_new_tokens": 16, **generation},
    )


if __name__ == "__main__":
    run_task([config("capitals"), config("spelled_capitals", n=2)])
