"""Functions that both generations have in one module under one name, with different values: the code that calls them
decides, by the part of Polymeter that has called it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from polymeter.interop.evalscope.tasks.scoring import metrics as of_0_17
from polymeter.interop.evalscope.v1.scoring import functions, math_answers

T = TypeVar("T")

_OF_1X, _OF_0_17 = "polymeter.interop.evalscope.v1.", "polymeter.interop.evalscope.tasks."


def _chosen(earlier: Callable[..., T], later: Callable[..., T]) -> Callable[..., T]:
    @wraps(later)
    def call(*args: Any, **kwargs: Any) -> T:
        return (later if _is_called_by_1x() else earlier)(*args, **kwargs)

    return call


def _is_called_by_1x() -> bool:
    """Return whether the nearest part of Polymeter among the callers runs adapters of 1.x. A script has neither."""
    frame = sys._getframe(2)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith((_OF_1X, _OF_0_17)):
            return name.startswith(_OF_1X)
        frame = frame.f_back  # type: ignore[assignment]
    return False


compute_rouge_score_one_sample = _chosen(
    of_0_17.compute_rouge_score_one_sample, functions.compute_rouge_score_one_sample
)
compute_rouge_score_one_sample_zh = _chosen(
    of_0_17.compute_rouge_score_one_sample_zh, functions.compute_rouge_score_one_sample_zh
)
extract_answer = _chosen(of_0_17.extract_answer, math_answers.extract_answer)
math_equal = _chosen(of_0_17.math_equal, math_answers.math_equal)
strip_answer_string = _chosen(of_0_17.strip_answer_string, math_answers.strip_answer_string)
