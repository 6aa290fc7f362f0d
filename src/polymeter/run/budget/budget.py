"""The budget of one part of a run: what is checked before it begins, and the account and meters while it lasts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.model import AsyncModel, Model
from polymeter.run.budget.amounts import PER_DOLLAR, Amount
from polymeter.run.budget.caps import Caps, amount_in_words
from polymeter.run.budget.earlier import reserve_preflight
from polymeter.run.budget.ledger import Ledger, Spent
from polymeter.run.budget.meter import Meter
from polymeter.run.budget.worst_case import Tariff
from polymeter.run.schedule.events import Events
from polymeter.store.folder import RunFolder
from polymeter.store.journal_writer import JournalWriter

_GREETINGS = 2
"""The small requests by which an address shows, at the most, that it is there and what it accepts."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The budget of a run as its plan has it.

    Attributes:
        caps: The caps.
        tariffs: What the requests in each role cost.
        machine_rate: Picodollars of one second on this machine.
        before: What earlier parts have spent.
        greeted: What was reserved for small requests before the run.
    """

    caps: Caps
    tariffs: Mapping[str, Tariff]
    machine_rate: float
    before: Spent
    greeted: list[Amount] = field(default_factory=list)

    def refuse_spent(self, folder: RunFolder) -> None:
        """Refuse caps below what the run has spent already.

        Raises:
            PlanError: if one is.
        """
        flag = self.caps.exceeded_by(self.before.total, self.before.seconds)
        if flag:
            spent = amount_in_words(flag, self.before.total, self.before.seconds)
            raise PlanError(
                f"The cap {flag} of {self.caps.in_words(flag)} is not above what this run has spent already: {spent}.",
                where=str(folder.path),
                hint=f"Continue with a higher {flag}.",
            )

    def may_greet(self, folder: RunFolder, endpoints: list[AsyncModel]) -> bool:
        """Reserve for the small requests that show whether endpoints are there; ``False``: the caps have no room for
        them, and they must not be sent.
        """
        if not self.caps.counts_requests:
            return True
        amount = Amount()
        for tariff in self.tariffs.values():
            if isinstance(tariff.model, AsyncModel) and tariff.model in endpoints:
                amount += tariff.small(_GREETINGS * len(tariff.model.instances))
        if self.caps.exceeded_by(self.before.total + amount):
            return False
        lock = folder.lock()
        try:
            reserve_preflight(folder, amount)
        finally:
            lock.release()
        self.before.worst += amount
        self.greeted.append(amount)
        return True

    def keep_greetings(self, folder: RunFolder) -> None:
        """Journal the small requests once more, in a journal that was begun anew."""
        for amount in self.greeted:
            reserve_preflight(folder, amount)

    def forget(self, folder: RunFolder) -> None:
        """Delete the record of small requests before a run that did not begin, in a folder that nobody can name."""
        if self.greeted and not folder.is_begun():
            folder.remove_unbegun()

    def account(
        self, writer: JournalWriter, part: int, events: Events, continuing: Callable[[str], str]
    ) -> SpendingAccount:
        """Open the account of a part of the run.

        Args:
            writer: The journal.
            part: The part.
            events: Receives the end when a cap is reached.
            continuing: Returns the command that continues the run with a higher cap, whose flag it gets.
        """

        def reached(flag: str, reason: str) -> None:
            events.cap_reached(f"{reason}\nContinue with a higher cap: {continuing(flag)}")

        ledger = Ledger(self.caps, self.before, writer, part, reached, machine_rate=self.machine_rate)
        return SpendingAccount(ledger, {id(tariff.model): tariff for tariff in self.tariffs.values()}, events.note)


class SpendingAccount:
    """The account of a part of a run, with the meters of its models.

    Args:
        ledger: The account.
        tariffs: What requests cost, by the ``id`` of their model.
        note: Takes what the user should know.
    """

    def __init__(self, ledger: Ledger, tariffs: Mapping[int, Tariff], note: Callable[[str], None]) -> None:
        self.ledger = ledger
        self._tariffs = tariffs
        self._note = note

    def meter(self, model: Model) -> Meter | None:
        """The meter of a model; ``None`` for one that is not asked."""
        tariff = self._tariffs.get(id(model))
        return None if tariff is None else Meter(self.ledger, tariff, self._note)

    def document(self) -> dict[str, Any]:
        """The caps and what was spent, as ``run.json`` has them: dollars, tokens and seconds."""
        spent, caps = self.ledger.spent(), self.ledger.caps
        found: dict[str, Any] = {"seconds": round(spent.seconds, 3)}
        if caps.cost is not None:
            found["cost"] = spent.total.cost / PER_DOLLAR
            found["cost_unknown"] = spent.worst.cost / PER_DOLLAR
            found["cost_machine"] = spent.machine / PER_DOLLAR
        if caps.tokens is not None:
            found["tokens"] = spent.total.tokens
            found["tokens_unknown"] = spent.worst.tokens
        return {"caps": caps.document(), "spent": found}
