"""The usage of the samples of a run: requests, tokens, money and time of each, by its journal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from polymeter.core.records.usage import MODEL_ROLE, ModelUsage
from polymeter.prices.tokens.texts import TextRule
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.store.reading.usage import AnswerUsage, usage_of_samples

PriceOf = Callable[[str, ModelUsage], float | None]
"""Returns the cost of an answer in a role; ``None``: unknown."""
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

    def add(self, answer: AnswerUsage, cost: float | None) -> None:
        """Add an answer."""
        usage = answer.usage
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


def observed(folder: RunFolder, task: str, price_of: PriceOf) -> list[SampleSpend]:
    """Read what the samples of a task have used in a run, in their order.

    Args:
        folder: The run folder.
        task: The task.
        price_of: Returns the cost of an answer.

    Raises:
        JournalError: if the journal cannot be read.
    """
    found: dict[int, SampleSpend] = {}
    if not folder.journal.exists():
        return []
    with closing(Journal(folder.journal)) as journal:
        for answer in usage_of_samples(journal, task):
            sample = found.setdefault(answer.sample, SampleSpend(answer.sample, RoleSpend(), RoleSpend()))
            spend = sample.model if answer.role == MODEL_ROLE else sample.others
            spend.add(answer, price_of(answer.role, answer.usage))
            sample.seconds += (answer.latency_ms or 0.0) / 1000
    return [found[index] for index in sorted(found)]
