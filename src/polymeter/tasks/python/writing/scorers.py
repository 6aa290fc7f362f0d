"""Scorers as their authors write them: functions decorated with ``scorer``, and what they may return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, overload

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.records.spread import UNBOUNDED, Bounds
from polymeter.tasks.python.writing.places import NAME, place_of

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
Aggregate = Callable[[list[Any]], float]
_ARGUMENTS = ("answer", "reference", "row", "answers")
"""The parameters that a scorer may have."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A score together with what a reader should see beside it. A scorer may return it in place of a number.

    Attributes:
        value: The score, or several by name.
        answer: The part of the answer that was scored; default: the whole answer.
        explanation: The reason for the score.
        log: Further values for the sample's page; they are stored and never averaged.
    """

    value: float | Mapping[str, float]
    answer: str | None = None
    explanation: str | None = None
    log: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Scorer(Generic[P, R_co]):
    """A scoring function with its settings, as ``scorer`` makes it. Calling it calls the function.

    Attributes:
        function: The function.
        name: The name of its metric.
        higher_is_better: Whether a higher score is better; for several scores by name; ``None``: neither.
        aggregation: How the scores of all samples become one number: the name of an aggregation (``mean``, ``median``,
            ``max``, …), or a function of all scores in the order of the samples.
        bounds: The lowest and highest score, which no interval leaves; ``None`` for an end that is open.
    """

    function: Callable[P, R_co]
    name: str
    higher_is_better: bool | Mapping[str, bool] | None = True
    aggregation: str | Aggregate = "mean"
    bounds: Bounds = UNBOUNDED

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            what = f"{self.name!r} cannot be the name of a scorer."
            raise PlanError(what, where=place_of(self.function), hint="Add name='…' to @polymeter.scorer.")
        parameters = inspect.signature(self.function).parameters
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        needed = [
            name
            for name, parameter in parameters.items()
            if parameter.default is parameter.empty and parameter.kind in (*named, parameter.POSITIONAL_ONLY)
        ]
        unknown = [name for name in needed if name not in _ARGUMENTS or parameters[name].kind not in named]
        if unknown:
            raise PlanError(
                f"Scorer {self.name!r} has an unknown parameter {unknown[0]!r}.",
                where=place_of(self.function),
                hint=did_you_mean(unknown[0], _ARGUMENTS, n=1) or f"A scorer may have: {', '.join(_ARGUMENTS)}.",
            )

    @property
    def arguments(self) -> frozenset[str]:
        """The names of the arguments that the function takes."""
        return frozenset(inspect.signature(self.function).parameters) & frozenset(_ARGUMENTS)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)


@overload
def scorer(function: Callable[P, R_co], /) -> Scorer[P, R_co]: ...
@overload
def scorer(
    *,
    name: str = "",
    higher_is_better: bool | Mapping[str, bool] | None = True,
    aggregation: str | Aggregate = "mean",
    bounds: Bounds = UNBOUNDED,
) -> Callable[[Callable[P, R_co]], Scorer[P, R_co]]: ...
def scorer(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    higher_is_better: bool | Mapping[str, bool] | None = True,
    aggregation: str | Aggregate = "mean",
    bounds: Bounds = UNBOUNDED,
) -> Any:
    """Make a function a scorer, with or without settings: ``@scorer`` or ``@scorer(bounds=(0, 1))``.

    The function is called for each answer with the arguments that it names: ``answer`` (the text or the image),
    ``reference``, ``row``, and ``answers`` (all answers to the sample; a function that names it is called once). It
    returns a number, a truth value, several numbers by name, or ``Scored``. NaN means that there is no score.

    Args:
        function: The function.
        name: The name of its metric; default: the function's name.
        higher_is_better: Whether a higher score is better; for several scores by name; ``None``: neither.
        aggregation: How the scores of all samples become one number: a name, or a function of all scores.
        bounds: The lowest and highest score.

    Raises:
        PlanError: if the function needs an argument that scorers are not given.
    """

    def make(function: Callable[..., Any]) -> Scorer[..., Any]:
        own = name or getattr(function, "__name__", type(function).__name__)
        return Scorer(function, own, higher_is_better, aggregation, bounds)

    return make if function is None else make(function)
