"""Chains of filters: a task's ``filter_list``, applied to the answers of one sample.

lm-eval applies a chain to all requests of a task at once; here it is applied to the requests of one sample, as soon as
that has ended, with one filter object for the whole run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, ScoreError, UnscoredError, boundary, did_you_mean
from polymeter.guests import name_of, resolve
from polymeter.interop.lm_eval.instance import Instance
from polymeter.interop.lm_eval.tasks.scoring.filters import FILTERS, TakeFirstFilter, find_filter


@dataclass(frozen=True, slots=True)
class Chain:
    """Filters that are applied one after the other, under one name.

    Attributes:
        name: The name, the second part of the key of each value.
        task: The task, for messages.
        steps: The filters, each with words for messages.
    """

    name: str
    task: str
    steps: tuple[tuple[str, Any], ...]

    def apply(self, instances: Sequence[Instance]) -> list[Any]:
        """Apply the chain to the answers of each request of one sample; each request keeps its own.

        Raises:
            ScoreError: if a filter raises, or does not return one item for each request.
            UnscoredError: if a pattern takes longer than scoring a sample may take.
        """
        filtered = self.filtered([instance.resps for instance in instances], [instance.doc for instance in instances])
        for instance, read in zip(instances, filtered, strict=True):
            instance.filtered_resps[self.name] = read
        return filtered

    def filtered(self, resps: list[Any], docs: list[Any]) -> list[Any]:
        """Apply the chain to answers.

        Args:
            resps: The answers of each request of one sample, one for each repeat.
            docs: The sample's row, once for each request.

        Raises:
            ScoreError: if a filter raises, or does not return one item for each request.
            UnscoredError: if a pattern takes longer than scoring a sample may take.
        """
        for what, step in self.steps:
            try:
                with boundary(ScoreError, f"{what} of task {self.task!r}"):
                    resps = list(step.apply(resps, docs))
            except UnscoredError as error:
                raise UnscoredError(error.what, where=f"{what} of task {self.task!r}", hint=error.hint) from None
        if len(resps) != len(docs):
            raise ScoreError(
                f"The filters {self.name!r} of task {self.task!r} returned {len(resps)} items for {len(docs)} "
                "requests.",
                hint="A filter returns one item for each request that it is given, in their order.",
            )
        return resps


def chains(items: Iterable[Any] | None, *, task: str, where: str, sources: Collection[Path] = ()) -> tuple[Chain, ...]:
    """The named chains of a task; without a filter list there is one, ``none``: the first answer. Of two chains of one
    name the later counts. Filters that the task's own code (``sources``) registers win over built-in ones.

    Raises:
        PlanError: if an entry is not understood, or a filter is unknown or does not take its arguments.
    """
    if items is None:
        return (Chain("none", task, (("Filter 'take_first'", TakeFirstFilter()),)),)
    named: dict[str, Chain] = {}
    for item in items:
        name, steps = (item.get("name"), item.get("filter")) if isinstance(item, Mapping) else (None, None)
        if not isinstance(name, str) or not isinstance(steps, (list, tuple)):
            raise PlanError(f"An entry of filter_list needs 'name' and a list 'filter', not {item!r:.80}.", where=where)
        named[name] = Chain(name, task, tuple([_step(step, task, where, sources) for step in steps]))
    return tuple(named.values())


def _step(step: Any, task: str, where: str, sources: Collection[Path]) -> tuple[str, Any]:
    """A filter object of one entry, and words for it."""
    if not isinstance(step, Mapping) or "function" not in step:
        raise PlanError(f"A filter needs 'function', not {step!r:.80}.", where=where)
    function = step["function"]
    kwargs = {name: value for name, value in step.items() if name != "function"}
    if isinstance(function, str):
        what = f"Filter {function!r}"
        make = find_filter(function, sources)
        if make is None:
            hint = did_you_mean(function, FILTERS) or f"Known: {', '.join(sorted(FILTERS))}."
            raise PlanError(f"There is no filter {function!r}.", where=where, hint=hint)
    else:
        what = f"Filter {name_of(function)}"
        make = resolve(function)
    with boundary(PlanError, f"{what} of task {task!r}", hint=f"Check its arguments, {where}."):
        return what, make(**kwargs)
