"""Stand-in for ``lmms_eval.models.model_utils.reasoning_model_utils``: the answer out of a reasoning model's text."""

from __future__ import annotations

import re

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_ANSWERS = (
    re.compile(r"<answer>\s*(.*?)\s*</answer>", re.DOTALL),
    re.compile(r"\\boxed\{\s*(.*?)\s*\}", re.DOTALL),
)


def parse_reasoning_model_answer(model_answer: str) -> str:
    """What stands between the first ``<answer>`` tags, else in the first ``\\boxed{}`` (up to its first closing brace),
    else all of it; without thoughts.
    """
    text = _THOUGHTS.sub("", model_answer).strip()
    found = next((match for pattern in _ANSWERS if (match := pattern.search(text))), None)
    return found[1] if found else text
