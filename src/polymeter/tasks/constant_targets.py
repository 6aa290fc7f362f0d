"""Targets that are the same throughout a task, for formats of all kinds: a model that always gives this answer gets
full marks, which is seldom meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from polymeter.core.errors import PolymeterError
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.task import Sample, Samples
from polymeter.core.text.phrases import quoted

_LOOKED_AT = 200
_FEWEST = 10
"""Fewer rows may well have one target by chance."""
_LONGEST_SHOWN = 60


def equal_targets(samples: Samples, target_of: Callable[[Sample], Any]) -> list[Any]:
    """The targets of samples that lie evenly in a task if all are equal. Empty if two differ, as the first two nearly
    always do, if the task is too small to tell, or if a row cannot be read, which is reported with its sample.

    Args:
        samples: The samples.
        target_of: From a sample to its target.
    """
    n = min(len(samples), _LOOKED_AT)
    values: list[Any] = []
    for number in range(n if n >= _FEWEST else 0):
        try:
            value = target_of(samples[round(number * (len(samples) - 1) / (n - 1))])
        except PolymeterError:
            return []
        if values and value != values[0]:
            return []
        values.append(value)
    return values


def constant_target(
    task: str, where: str, values: Sequence[Any], n_samples: int, *, has_choices: bool, hint: str = ""
) -> Iterator[LintFinding]:
    """A finding about targets that are all equal.

    Args:
        task: The task.
        where: What gives its targets.
        values: The targets that were looked at; empty: they differ.
        n_samples: How many samples there are.
        has_choices: Whether a number is the place of a choice: the right one may always be the first where each row has
            choices of its own.
        hint: What to do about it.
    """
    if not values or values[0] in (None, "", []) or (has_choices and isinstance(values[0], int)):
        return
    of = "every sample" if len(values) == n_samples else f"all {len(values)} samples looked at"
    shown = quoted(values[0], _LONGEST_SHOWN)
    text = f"The target is {shown} in {of}: a model that always gives this answer gets full marks."
    yield LintFinding("constant-target", text, task, where, hint)
