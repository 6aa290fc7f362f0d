"""How a dataset class scores: each sample by itself (``evaluate_sample``), all predictions together (``evaluate``), or
both; and what its scores of one sample become.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import ScoreError
from polymeter.core.parts import is_picture
from polymeter.core.task import Score

if TYPE_CHECKING:
    from pandas import Series

NO_FILTER = "none"
_OURS = "polymeter.formats.table"
_BASES = f"{_OURS}.base"
_FOR_PEOPLE = ("explanation", "answer")
_SHOWN = 2000


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a class defines.

    Attributes:
        by_sample: Whether it scores samples by themselves.
        by_file: Whether it evaluates a prediction file.
    """

    by_sample: bool
    by_file: bool


def scoring_of(found: type) -> Scoring:
    """How a class scores. What it defines itself counts before what it inherits: an ``evaluate`` that is nearer than
    ``evaluate_sample`` replaces it. Of the built-in classes, which have both, the samples' own scores are taken.
    """
    sample, file = _definer(found, "evaluate_sample"), _definer(found, "evaluate")
    line = list(found.__mro__)
    if sample is not None and file is not None:
        if line.index(file) < line.index(sample):
            sample = None
        elif file.__module__.startswith(_OURS):
            file = None
    return Scoring(sample is not None, file is not None)


def built_in(dataset: Any, name: str) -> Callable[..., Any] | None:
    """A method of an instance that one of our own classes defines. Others may have methods of that name that mean
    something else.
    """
    owner = next((base for base in type(dataset).__mro__ if name in vars(base)), None)
    is_ours = owner is not None and owner.__module__.startswith(_OURS)
    method: Callable[..., Any] | None = getattr(dataset, name) if is_ours else None
    return method


def is_built_in(found: type) -> bool:
    """Whether a class is one of our own."""
    return found.__module__.startswith(_OURS)


def is_thread_safe(found: type) -> bool:
    """Whether a class declares that its methods may run at the same time; one that inherits this has code of its own
    that does not.
    """
    is_own = is_built_in(found) or "is_thread_safe" in vars(found)
    return is_own and bool(getattr(found, "is_thread_safe", False))


def sample_score(dataset: Any, line: Series[Any], prediction: Any, judge: Mapping[str, Any], target: str) -> Score:
    """What ``evaluate_sample`` gives of one sample. Of several texts each is scored, and a metric is their mean.

    Args:
        dataset: The instance.
        line: The row.
        prediction: Images, a text, or several texts.
        judge: Keyword arguments for it.
        target: What was expected, for people.

    Raises:
        ScoreError: It gave no mapping, or a metric that is no number.
    """
    several = isinstance(prediction, list) and bool(prediction) and isinstance(prediction[0], str)
    found = [
        _checked(dataset, dataset.evaluate_sample(line, item, **judge))
        for item in (prediction if several else [prediction])
    ]
    pictures = {name: value for one in found for name, value in one.items() if is_picture(value)}
    names = dict.fromkeys(name for one in found for name in one if name not in _FOR_PEOPLE and name not in pictures)
    values = {(name, NO_FILTER): _mean([one[name] for one in found if name in one]) for name in names}
    told = {name: _text([one.get(name) for one in found]) for name in _FOR_PEOPLE}
    return Score(values, target or None, told["answer"], told["explanation"], pictures)


def _definer(found: type, name: str) -> type | None:
    """The class that defines a method; ``None`` where it is missing, or only a base class's reminder to write it."""
    owner = next((base for base in found.__mro__ if name in vars(base)), None)
    is_reminder = owner is not None and (
        owner.__module__ == _BASES or getattr(vars(owner)[name], "__isabstractmethod__", False)
    )
    return None if is_reminder else owner


def _checked(dataset: Any, given: Any) -> dict[str, Any]:
    author = type(dataset).__name__
    if not isinstance(given, Mapping):
        raise ScoreError(
            f"evaluate_sample of {author} returned a {type(given).__name__}.",
            hint="It must return a mapping from metric to number.",
        )
    checked = {str(name): value for name, value in given.items()}
    for name, value in checked.items():
        if name not in _FOR_PEOPLE and not is_picture(value):
            checked[name] = _number(value, name, author)
    return checked


def _number(value: Any, name: str, author: str) -> float | int:
    if hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
        value = value.item()
    if not isinstance(value, Real):
        raise ScoreError(
            f"evaluate_sample of {author} gave {str(value)[:80]!r} for the metric {name!r}.",
            hint="Give a number, or NaN where there is none; 'explanation' and 'answer' may be texts.",
        )
    return int(value) if isinstance(value, Integral) else float(value)


def _mean(values: list[Any]) -> Any:
    """The mean of those that were had; of one value itself."""
    had = [value for value in values if value == value] or values[:1]  # noqa: PLR0124  (NaN is what differs from itself)
    return had[0] if len(values) == 1 else math.fsum(had) / len(had)


def _text(values: list[Any]) -> str | None:
    """What people read: one text, or the texts of several answers, numbered."""
    if all(value is None for value in values):
        return None
    if len(values) == 1:
        return str(values[0])[:_SHOWN]
    return "\n".join(f"{number}. {value}" for number, value in enumerate(values, 1))[:_SHOWN]
