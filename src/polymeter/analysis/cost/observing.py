"""The usage of the samples of a run: requests, tokens, money and time of each, by its journal."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from polymeter.core.records.rates import Rates
from polymeter.core.records.usage import MODEL_ROLE
from polymeter.prices.tokens.texts import TextRule
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.reading.usage import AnswerUsage, usage_of_samples

Tiers = Mapping[str, Mapping[str, Rates]]
"""Rates by role and service tier."""
_BY_CHARACTERS = TextRule()


@dataclass(slots=True)
class RoleSpend:
    """The usage of a sample in some roles. ``None``: an answer does not say it.

    Attributes:
        requests: The number of answers.
        input: Tokens of prompts.
        output: Tokens of answers.
        cost: Money.
        n_counted: The answers whose tokens are counted from their text, because the endpoint reports none.
    """

    requests: int = 0
    input: float | None = 0.0
    output: float | None = 0.0
    cost: float | None = 0.0
    n_counted: int = 0

    def add(self, answer: AnswerUsage) -> None:
        """Add an answer. Of a price that depends on what is not known, the dearest counts."""
        usage, cost = answer.usage, answer.usage.cost.high
        output: float | None = usage.output
        if output is None and answer.text:
            output = _BY_CHARACTERS.of(answer.text).expected
            self.n_counted += 1
        self.requests += 1
        self.input = None if self.input is None or usage.prompt is None else self.input + usage.prompt
        self.output = None if self.output is None or output is None else self.output + output
        self.cost = None if self.cost is None or cost is None else self.cost + cost


@dataclass(slots=True)
class SampleSpend:
    """The usage of a sample.

    Attributes:
        index: Its position in the task.
        model: In the role of the measured model.
        others: In all further roles (judges).
        seconds: The time of its answers, one after the other.
    """

    index: int
    model: RoleSpend
    others: RoleSpend
    seconds: float = 0.0


def observed(folder: RunFolder, task: str, tiers: Tiers, *, counts_reused: bool) -> list[SampleSpend]:
    """Read what the samples of a task have used in a run, in their order.

    Args:
        folder: The run folder.
        task: The task.
        tiers: The rates of answers whose cost the provider does not state.
        counts_reused: Whether answers that were taken from another run count as if they had been asked for.

    Raises:
        JournalError: if the journal cannot be read.
    """
    found: dict[int, SampleSpend] = {}
    if not folder.journal.exists():
        return []
    with closing(Journal(folder.journal)) as journal:
        for answer in usage_of_samples(journal, task, tiers):
            sample = found.setdefault(answer.sample, SampleSpend(answer.sample, RoleSpend(), RoleSpend()))
            if answer.is_reused and not counts_reused:
                continue
            spend = sample.model if answer.role == MODEL_ROLE else sample.others
            spend.add(answer)
            sample.seconds += (answer.latency_ms or 0.0) / 1000
    return [found[index] for index in sorted(found)]
