"""The account of a run under caps: what is spent, what is reserved, and whether more may be sent.

A reservation is a row of the journal that is committed before anything is sent, so that a run killed at any instant
finds it again: a reservation that nothing settled counts as spent, at the worst. The settlement replaces the row.

Sending stops when something has to be sent that does not fit although nothing is in flight, or when the time is over.
While something is in flight, its answer may free the money, and others wait for that.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from polymeter.core.errors import StorageError
from polymeter.run.budget.amounts import Amount, in_dollars, in_units
from polymeter.run.budget.caps import MAX_COST, MAX_TIME, MAX_TOKENS, Caps, amount_in_words
from polymeter.store.journal_writer import JournalWriter
from polymeter.store.schema import RESERVATIONS

State = Literal["reserved", "spent", "released"]
"""The state of a reservation in the journal: nothing is known of it, it was spent, or nothing of it was."""
CLOCK = "clock"
"""The role of the row that holds the time of a part, and what its machine cost."""
_CLOCK_ROW = 0
_TICK_S = 1.0
"""The time of a part is written so often. A part that is killed counts up to a tick more than it lasted."""


@dataclass(slots=True, eq=False)
class Hold:
    """A reservation.

    Attributes:
        number: Its number in its part.
        role: The role of the model.
        worst: What is reserved.
        outcome: What was spent, once it is known; ``None``: take the worst.
        is_over: Whether the try has ended.
    """

    number: int
    role: str
    worst: Amount
    outcome: Amount | None = None
    is_over: bool = False


@dataclass(slots=True)
class Spent:
    """The money, tokens and time that were spent, by certainty.

    Attributes:
        stated: By answers that state it.
        worst: Tries whose cost is unknown, at the worst: they failed, or nothing is known of them.
        machine: Picodollars that this machine cost.
        seconds: The time of all parts so far.
    """

    stated: Amount = field(default_factory=Amount)
    worst: Amount = field(default_factory=Amount)
    machine: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> Amount:
        """All that was spent."""
        return self.stated + self.worst + Amount(cost=self.machine)


class Ledger:
    """The account. Thread-safe.

    Args:
        caps: The caps.
        before: What earlier parts have spent.
        writer: The journal.
        part: The part of the run.
        on_end: Called, once, with the flag of the cap and the reason, when nothing more may be sent and nothing is in
            flight.
        machine_rate: Picodollars of one second on this machine.
        clock: Returns the time in seconds. Tests replace it.

    Attributes:
        n_freed: The number of times that what is reserved has become less.
    """

    def __init__(
        self,
        caps: Caps,
        before: Spent,
        writer: JournalWriter,
        part: int,
        on_end: Callable[[str, str], None],
        *,
        machine_rate: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.caps = caps
        self._before = before
        self._stated, self._worst = before.stated, before.worst
        self._reserved = Amount()
        self._writer = writer
        self._part = part
        self._on_end = on_end
        self._machine_rate = machine_rate
        self._clock = clock
        self._began_s = clock()
        self._longest_s = 0.0
        self._n_open = self._number = 0
        self._why = self._flag = ""
        self._is_ended = False
        self._changed = threading.Condition()
        self._freed: list[Callable[[], None]] = []
        self._is_over = threading.Event()
        self.n_freed = 0

    @property
    def is_closed(self) -> bool:
        """True if nothing more may be sent."""
        return bool(self._why)

    def start(self) -> None:
        """Begin to write the time, and to watch its end."""
        self._tick(_TICK_S)
        threading.Thread(target=self._watch, name="polymeter-caps", daemon=True).start()

    def end(self) -> None:
        """Write the time of this part; nothing more may be sent."""
        self._is_over.set()
        with self._changed:
            self._is_ended = True
            self._why = self._why or "the run has ended"
            self._changed.notify_all()
        self._tick(0.0)

    def on_freed(self, call: Callable[[], None]) -> None:
        """Have a function called, on any thread, when what is reserved has become less."""
        self._freed.append(call)

    def hold(self, role: str, worst: Amount) -> Hold | None:
        """Reserve the worst that something can cost; ``None``: it must not be sent, at least not now.

        Args:
            role: The role of the model.
            worst: The worst.
        """
        with self._changed:
            hold = self._hold(role, worst)
        self._end_if_quiet()
        return hold

    def hold_first(self, role: str, worsts: list[Amount], *, waits: bool) -> tuple[Hold | None, int]:
        """Reserve for as many of some things as fit, from the first.

        Args:
            role: The role of the model.
            worsts: The most that each can cost.
            waits: Whether to wait until the first fits, while others are in flight.

        Returns:
            The reservation and the number of things; ``None`` and 0 if none may be sent now.
        """
        with self._changed:
            while not self._why:
                n, fitting = 0, Amount()
                while n < len(worsts) and not self._refusal(fitting + worsts[n]):
                    fitting += worsts[n]
                    n += 1
                if n or not worsts:
                    return self._hold(role, fitting), n
                if (hold := self._hold(role, worsts[0])) is not None:
                    return hold, 1
                if not waits:
                    break
                if not self._why:
                    self._changed.wait()
        self._end_if_quiet()
        return None, 0

    def settle(self, hold: Hold, seconds: float = 0.0) -> None:
        """End a reservation: what was spent replaces it.

        Args:
            hold: The reservation, with its outcome.
            seconds: How long this machine computed for it.
        """
        outcome = hold.outcome
        with self._changed:
            self._n_open -= 1
            self.n_freed += 1
            self._reserved -= hold.worst
            self._longest_s = max(self._longest_s, seconds)
            if outcome is None:
                self._worst += hold.worst
            else:
                self._stated += outcome
            self._changed.notify_all()
        if outcome is not None and hold.worst != Amount():
            self._put(hold.number, hold.role, "spent" if outcome != Amount() else "released", outcome)
        for call in self._freed:
            call()
        self._end_if_quiet()

    def committed(self, call: Callable[[], object]) -> None:
        """Have a function called when all reservations so far are in the journal, or cannot be written."""
        self._writer.after_commit(call)

    def check(self) -> None:
        """Check that reservations can be written.

        Raises:
            StorageError: if one could not be.
        """
        self._writer.check()

    def close(self, flag: str) -> None:
        """Have nothing more sent because of a cap; when nothing is in flight, the run ends."""
        with self._changed:
            if not self._why:
                self._flag, self._why = flag, self._reason(flag, Amount())
            self._changed.notify_all()
        self._end_if_quiet()

    def spent(self) -> Spent:
        """Return what was spent so far, without what is reserved."""
        with self._changed:
            seconds = self._seconds()
            return Spent(self._stated, self._worst, self._before.machine + self._machine(), seconds)

    def in_words(self) -> str:
        """Return what was spent of each cap, in a few words."""
        spent, caps = self.spent(), self.caps
        told = []
        if caps.cost is not None:
            told.append(f"{in_dollars(spent.total.cost)} of {caps.in_words(MAX_COST)}")
        if caps.tokens is not None:
            told.append(f"{spent.total.tokens:,} of {caps.in_words(MAX_TOKENS)}")
        if caps.time_s is not None:
            told.append(f"{in_units(spent.seconds)} of {caps.in_words(MAX_TIME)}")
        return ", ".join(told)

    def _hold(self, role: str, worst: Amount) -> Hold | None:
        if self._why:
            return None
        flag = self._refusal(worst)
        if not flag:
            self._number += 1
            self._n_open += 1
            self._reserved += worst
            if worst != Amount():
                self._put(self._number, role, "reserved", worst)
            return Hold(self._number, role, worst)
        if not self._n_open:
            self._flag, self._why = flag, self._reason(flag, worst)
            self._changed.notify_all()
        return None

    def _refusal(self, worst: Amount) -> str:
        """The flag of the cap that more of this amount could exceed; empty: none."""
        tail = Amount(cost=int(self._longest_s * self._machine_rate))
        return self.caps.exceeded_by(self._total() + self._reserved + tail + worst, self._seconds())

    def _total(self) -> Amount:
        return self._stated + self._worst + Amount(cost=self._before.machine + self._machine())

    def _seconds(self) -> float:
        return self._before.seconds + self._clock() - self._began_s

    def _machine(self) -> int:
        return int((self._clock() - self._began_s) * self._machine_rate) + 1 if self._machine_rate else 0

    def _reason(self, flag: str, worst: Amount) -> str:
        caps, total = self.caps, self._total()
        if flag == MAX_TIME:
            return f"the cap {MAX_TIME} of {caps.in_words(flag)} is reached."
        left = Amount(max((caps.tokens or 0) - total.tokens, 0), max((caps.cost or 0) - total.cost, 0))
        needed = f"the next request may take up to {amount_in_words(flag, worst)}"
        if flag == MAX_COST and not worst.cost:
            needed = "this machine's time takes more"
        return (
            f"the cap {flag} of {caps.in_words(flag)} has no room for more: spent {amount_in_words(flag, total)}, "
            f"left {amount_in_words(flag, left)}, and {needed}."
        )

    def _end_if_quiet(self) -> None:
        with self._changed:
            if not self._why or self._n_open or self._is_ended:
                return
            self._is_ended = True
        self._on_end(self._flag, self._why)

    def _watch(self) -> None:
        while not self._is_over.wait(self._pause_s()):
            self._tick(_TICK_S)
            with self._changed:
                flag = self._refusal(Amount())
                is_late = flag == MAX_TIME or (flag == MAX_COST and self._machine_rate and not self._n_open)
            if is_late:
                self.close(flag)
                return

    def _pause_s(self) -> float:
        left_s = _TICK_S if self.caps.time_s is None else self.caps.time_s - self._seconds()
        return min(_TICK_S, max(left_s, 0.0))

    def _tick(self, ahead_s: float) -> None:
        seconds = self._clock() - self._began_s + ahead_s
        cost = int(seconds * self._machine_rate) + 1 if self._machine_rate else 0
        self._put(_CLOCK_ROW, CLOCK, "spent", Amount(cost=cost), round(seconds * 1000))

    def _put(self, number: int, role: str, state: State, amount: Amount, ms: int = 0) -> None:
        row: tuple[Any, ...] = (self._part, number, role, state, amount.tokens, amount.cost, ms)
        with suppress(StorageError):  # the wait for its commit reports it
            self._writer.put(RESERVATIONS, [row])
