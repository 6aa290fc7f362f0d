"""A task whose questions are asked with their choices in several orders, made of any compiled one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from polymeter.core.errors import DataError, PlanError, ScoreError, UnfitError, count
from polymeter.core.identity import fingerprint
from polymeter.core.records.attempts import estimates_among
from polymeter.core.records.lint_finding import LintFinding
from polymeter.core.settings.needs import SKIP_UNFIT
from polymeter.core.task import Result, Task
from polymeter.guests import contained
from polymeter.run.permuting.asking import OrderedSamples, Permuting
from polymeter.run.permuting.reducing import reduce_orders
from polymeter.run.permuting.scoring import score_orders

_VERSION = 1
_OPTION = "--permute-choices"
_MOST_FACTOR = 12
"""The factorial of more choices is more than anybody asks for."""


def permuted(task: Task, k: int, numbers: Iterable[int], seed: int) -> Task:
    """Return a task that asks every question with its choices in ``k`` orders.

    Args:
        task: The task.
        k: The number of orders, at least 2.
        numbers: The positions of the samples that are run, which are looked at beforehand.
        seed: The run's seed.

    Raises:
        UnfitError: if the order of its choices cannot matter or cannot be changed, or none of its questions has another
            order.
        PlanError: if no question has that many orders, or an answer is none of its choices.
    """
    name = task.spec.name
    if task.choice_orders is None:
        raise _unfit(f"Task {name!r} lists no choices that Polymeter knows of, so they have no other order.")
    if task.needs.are_prompts_unknown:
        raise _unfit(f"The model makes its own prompts for task {name!r}, so the order of its choices is the model's.")
    with contained():
        try:
            orders = task.choice_orders()
        except UnfitError as error:
            raise _unfit(error.what) from error
        permuting = Permuting(name, orders, task.samples, k, seed, task.is_guest)
        looked = _looked_at(task, permuting, numbers)
    looked.check(name, k)

    def finish(results: Sequence[Result], report_path: Path) -> None:
        made = estimates_among({(result.metric, result.filter) for result in results})
        task.finish([result for result in results if (result.metric, result.filter) not in made], report_path)

    return replace(
        task,
        rollout=partial(permuting.ask, task.rollout),
        score=partial(score_orders, permuting, task.score),
        reduce=partial(reduce_orders, task.reduce, k, further_subsets=task.further_subsets),
        finish=finish,
        row_functions=orders.row_functions(OrderedSamples(permuting)),
        score_digest=fingerprint([task.score_digest, "choice orders", k, _VERSION]),
        findings=(*task.findings, *looked.findings(name, k)),
    )


@dataclass(slots=True)
class _LookedAt:
    """The questions that are run.

    Attributes:
        n_choices: How many choices the questions have that can be permuted → how many of these there are.
        fixed: Why others have one order only → how many of these there are.
    """

    n_choices: Counter[int] = field(default_factory=Counter)
    fixed: Counter[str] = field(default_factory=Counter)

    def check(self, task: str, k: int) -> None:
        """Refuse a task without a question that has ``k`` orders.

        Raises:
            UnfitError: if no question has another order.
            PlanError: if none has as many.
        """
        if not self.n_choices:
            why = f": they {', or '.join(self.fixed)}" if self.fixed else ""
            raise _unfit(f"No question of task {task!r} can be asked in another order{why}.")
        most = max(self.n_choices)
        if _orders(most) < k:
            raise PlanError(
                f"The questions of task {task!r} have at most {count(most, 'choice')}, which have {_orders(most)} "
                f"orders and not {k}.",
                where=_OPTION,
                hint=f"Ask for {_orders(most)} at most.",
            )

    def findings(self, task: str, k: int) -> list[LintFinding]:
        """Return notes on questions that have fewer orders."""
        n = self.n_choices.total() + self.fixed.total()
        said = [
            f"{fixed} of {count(n, 'question')} {why}: asked in the author's order only."
            for why, fixed in self.fixed.items()
        ]
        fewer = sum(number for choices, number in self.n_choices.items() if _orders(choices) < k)
        if fewer:
            said.append(f"{fewer} of {count(n, 'question')} have fewer than {k} orders, which count in turn.")
        return [LintFinding("choice-orders", text, task, _OPTION, severity="note") for text in said]


def _orders(n: int) -> int:
    return math.factorial(min(n, _MOST_FACTOR))


def _looked_at(task: Task, permuting: Permuting, numbers: Iterable[int]) -> _LookedAt:
    """Read the choices of the questions that are run, so that what cannot be scored shows before anything is sent.

    Raises:
        PlanError: if the answer of one is none of its choices.
    """
    found = _LookedAt()
    for number in numbers:
        try:
            listed = permuting.listed(task.samples[number])
        except ScoreError as error:
            where = error.where or str(task.spec.file)
            raise PlanError(error.what, where=where, hint=error.hint) from error
        except DataError:
            continue  # a row that cannot be read is a failure of its sample alone
        if listed.fixed:
            found.fixed[listed.fixed] += 1
        else:
            found.n_choices[len(listed.texts)] += 1
    return found


def _unfit(what: str) -> UnfitError:
    return UnfitError(what, where=_OPTION, hint=f"Leave {_OPTION} out. {SKIP_UNFIT}")
