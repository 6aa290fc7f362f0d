"""``evalscope.metrics``: its functions have the values of the generation whose code calls them."""

from typing import Any

import pytest

from polymeter.interop.evalscope.shim.evalscope import metrics
from polymeter.interop.evalscope.tasks.scoring import metrics as of_0_17


def called_from(module: str, name: str, *args: Any) -> Any:
    """Call a function as an author's code that this part of Polymeter has called."""
    space = {"__name__": module, "call": getattr(metrics, name), "args": args}
    exec("def hook():\n    return call(*args)\nvalue = hook()", space)
    return space["value"]


@pytest.mark.parametrize(("module", "n"), [("v1.adapters.default_adapter", 9), ("tasks.compile", 9)])
def test_the_caller_decides(module: str, n: int) -> None:
    value = called_from(
        f"polymeter.interop.evalscope.{module}", "compute_rouge_score_one_sample", ["a", "b"], ["a", "c"]
    )
    assert len(value) == n
    # 0.17 counts the last pair alone, 1.x takes the mean.
    assert value["rouge-1-f"] == (0.5 if module.startswith("v1") else 0)


def test_a_script_has_the_earlier_ones() -> None:
    assert metrics.extract_answer("the answer is 1,200 apples") == of_0_17.extract_answer("the answer is 1,200 apples")
