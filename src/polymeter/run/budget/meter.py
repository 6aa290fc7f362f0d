"""Meters: dispatchers reserve through one of them before they send, each model through its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from polymeter.core.request import Response
from polymeter.run.budget.amounts import Amount
from polymeter.run.budget.ledger import Hold, Ledger
from polymeter.run.budget.worst_case import Tariff
from polymeter.run.schedule.running_samples import PendingRequest

Group = list[PendingRequest]
"""Requests that reach the model in one call of it."""
_SMALL = "preflight"
"""The role of small requests that show whether an endpoint is there."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The part of a batch that may be computed.

    Attributes:
        groups: What may be computed.
        later: What may not be, now.
        worsts: The most that each of the groups can cost.
        hold: The reservation.
        began_s: When it was made.
    """

    groups: list[Group]
    later: list[Group]
    worsts: list[Amount]
    hold: Hold | None
    began_s: float


class Meter:
    """Reserves for the requests to one model. Thread-safe.

    Args:
        ledger: The account of the run.
        tariff: What the model's requests cost.
        note: Takes what the user should know.
    """

    def __init__(self, ledger: Ledger, tariff: Tariff, note: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._tariff = tariff
        self._note = note
        self._stretch = 1.0

    @property
    def is_closed(self) -> bool:
        """True if nothing more may be sent."""
        return self._ledger.is_closed

    def on_freed(self, call: Callable[[], None]) -> None:
        """Have a function called when what is reserved has become less."""
        self._ledger.on_freed(call)

    def worst_of(self, group: Group) -> Amount:
        """The most that one try can cost.

        Raises:
            PlanError: if it has no bound.
        """
        return self._tariff.worst_of([one.for_model for one in group])

    def hold(self, role: str, worst: Amount) -> Hold | None:
        """Reserve for one try in a role, at most ``worst``; ``None``: it must not be sent, at least not now."""
        return self._ledger.hold(role, worst.scaled(self._stretch))

    def hold_small(self) -> Hold | None:
        """Reserve for a small request; ``None``: it must not be sent."""
        return self._ledger.hold(_SMALL, self._tariff.small())

    async def committed(self) -> None:
        """Wait until all reservations so far survive the death of the process.

        Raises:
            StorageError: if they cannot be written.
        """
        import asyncio  # 40 ms, which a run without an endpoint need not pay

        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def set_done() -> None:
            if not done.done():
                done.set_result(None)

        def tell() -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(set_done)

        self._ledger.committed(tell)
        await done
        self._ledger.check()

    def learn(self, hold: Hold, group: Group, responses: Sequence[Response]) -> None:
        """Note the end of a try in its reservation, which ``settle`` ends."""
        hold.is_over = True
        hold.outcome = self._tariff.spent_by([one.for_model for one in group], responses)
        if hold.outcome is not None:
            self._check(hold.worst, hold.outcome)

    def settle(self, hold: Hold, seconds: float = 0.0) -> None:
        """End a reservation; of a try whose end is unknown, the worst counts."""
        self._ledger.settle(hold, seconds)

    @property
    def n_freed(self) -> int:
        """The number of times that what is reserved has become less."""
        return self._ledger.n_freed

    def admit(self, groups: Sequence[Group], *, waits: bool) -> Admission:
        """Reserve for as much of a batch as may be computed now. Not for an event loop.

        Args:
            groups: The batch.
            waits: Whether to wait until something may be computed, while others are in flight.

        Raises:
            PlanError: if a request has no bound.
            StorageError: if the journal cannot be written.
        """
        worsts = [self.worst_of(group).scaled(self._stretch) for group in groups]
        hold, n = self._ledger.hold_first(groups[0][0].role, worsts, waits=waits)
        if hold is not None and hold.worst != Amount():
            is_written = threading.Event()
            self._ledger.committed(is_written.set)
            is_written.wait()
            self._ledger.check()
        return Admission([*groups[:n]], [*groups[n:]], worsts[:n], hold, time.monotonic())

    def computed(self, admission: Admission, responses: Sequence[Response | None]) -> None:
        """End the reservation of a batch.

        Args:
            admission: The batch.
            responses: One for each request; ``None``: it did not fit into memory.
        """
        hold = admission.hold
        if hold is None:
            return
        left = iter(responses)
        spent = Amount()
        for group, worst in zip(admission.groups, admission.worsts, strict=True):
            given = [next(left) for _ in group]
            answered = [(one.for_model, response) for one, response in zip(group, given, strict=True) if response]
            own = self._tariff.spent_by(*zip(*answered, strict=True)) if answered else Amount()
            spent += worst if own is None else own
        hold.outcome = spent
        self._check(hold.worst, spent)
        self.settle(hold, time.monotonic() - admission.began_s)

    def lost(self, admission: Admission) -> None:
        """End the reservation of a batch whose replica was lost: nothing is known of it, and the worst counts."""
        if admission.hold is not None:
            self.settle(admission.hold, time.monotonic() - admission.began_s)

    def _check(self, worst: Amount, spent: Amount) -> None:
        """Reserve more from now on if an answer states more than the bound of its request."""
        ratios = [own / most for own, most in ((spent.tokens, worst.tokens), (spent.cost, worst.cost)) if most]
        ratio = max(ratios, default=1.0)
        if ratio > 1.0:
            if self._stretch == 1.0:
                self._note(
                    f"An answer of {self._tariff.name} states {ratio:.2f} times the tokens or cost that its request "
                    "can have, by its length and its token limit. More is reserved from now on."
                )
            self._stretch *= ratio
