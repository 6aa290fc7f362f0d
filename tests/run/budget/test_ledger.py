"""The account of a capped run: nothing is reserved beyond a cap, and the journal holds what was spent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.run.budget.amounts import PER_DOLLAR, Amount, in_dollars, in_units, picodollars
from polymeter.run.budget.caps import Caps
from polymeter.run.budget.ledger import CLOCK, Hold, Ledger, Spent
from polymeter.store.journal import Journal
from polymeter.store.journal_writer import JournalWriter


@dataclass
class Kept:
    """An open account, and what it reported."""

    ledger: Ledger
    writer: JournalWriter
    path: Path
    now_s: list[float]
    ends: list[tuple[str, str]] = field(default_factory=list)

    def rows(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Tokens and picodollars in the journal, by role and state."""
        self.writer.flush()
        with closing(Journal(self.path)) as journal:
            return {(role, state): (tokens, cost) for _, role, state, tokens, cost, _ in journal.reservations()}


@contextmanager
def opened(caps: Caps, before: Spent | None = None, rate: float = 0.0) -> Iterator[Kept]:
    with TemporaryDirectory() as folder:
        path, ends, now_s = Path(folder) / "journal.db", [], [0.0]
        writer = JournalWriter(path, [])
        ledger = Ledger(
            caps,
            before or Spent(),
            writer,
            7,
            lambda flag, reason: ends.append((flag, reason)),
            machine_rate=rate,
            clock=lambda: now_s[0],
        )
        yield Kept(ledger, writer, path, now_s, ends)
        writer.close()


def settled(ledger: Ledger, hold: Hold | None, outcome: Amount | None) -> None:
    assert hold is not None
    hold.outcome = outcome
    ledger.settle(hold)


@given(
    st.integers(50, 2000),
    st.lists(
        st.tuples(st.integers(1, 300), st.integers(0, 100), st.sampled_from(["answer", "worst", "free"])), max_size=40
    ),
    st.randoms(use_true_random=False),
)
def test_what_is_spent_and_reserved_never_passes_the_cap(cap: int, tries: list[tuple[int, int, str]], chance) -> None:  # type: ignore[no-untyped-def]
    with opened(Caps(tokens=cap)) as kept:
        ledger, open_holds, spent = kept.ledger, [], 0
        for worst, share, end in tries:
            hold = ledger.hold("model", Amount(worst))
            if hold is not None:
                open_holds.append((hold, worst * share // 100, end))
            assert spent + sum(one.worst.tokens for one, _, _ in open_holds) <= cap
            while open_holds and chance.random() < 0.6:
                one, actual, how = open_holds.pop(chance.randrange(len(open_holds)))
                outcome = {"answer": Amount(actual), "worst": None, "free": Amount()}[how]
                spent += one.worst.tokens if outcome is None else outcome.tokens
                settled(ledger, one, outcome)
        assert ledger.spent().total.tokens == spent
        counted = sum(tokens for (_, state), (tokens, _) in kept.rows().items() if state != "released")
        assert counted == spent + sum(one.worst.tokens for one, _, _ in open_holds), "the journal holds the same"
        assert len(kept.ends) <= 1


def test_a_try_waits_while_others_may_free_what_it_needs_and_the_run_ends_when_none_can() -> None:
    with opened(Caps(tokens=100)) as kept:
        ledger = kept.ledger
        first = ledger.hold("model", Amount(60))
        assert ledger.hold("judge", Amount(60)) is None
        assert not ledger.is_closed
        freed: list[int] = []
        ledger.on_freed(lambda: freed.append(1))
        settled(ledger, first, Amount(20))
        assert freed
        second = ledger.hold("judge", Amount(60))
        settled(ledger, second, None)
        assert not kept.ends
        assert ledger.hold("model", Amount(60)) is None
        [(flag, reason)] = kept.ends
        assert flag == "--max-tokens"
        assert reason == (
            "the cap --max-tokens of 100 tokens has no room for more: spent 80 tokens, left 20 tokens, and the next "
            "request may take up to 60 tokens."
        )
        assert ledger.hold("model", Amount(1)) is None, "nothing is sent any more"
        assert kept.rows() == {("model", "spent"): (20, 0), ("judge", "reserved"): (60, 0)}


def test_a_batch_gets_what_fits_and_waits_when_nothing_does() -> None:
    with opened(Caps(tokens=100)) as kept:
        ledger = kept.ledger
        held, n = ledger.hold_first("model", [Amount(40)] * 4, waits=True)
        assert n == 2
        got: list[int] = []
        waiting = threading.Thread(
            target=lambda: got.append(ledger.hold_first("model", [Amount(40)] * 2, waits=True)[1])
        )
        waiting.start()
        settled(ledger, held, Amount(10))
        waiting.join(30)
        assert got == [2]


def test_the_end_comes_when_what_is_in_flight_has_come_back() -> None:
    with opened(Caps(time_s=60.0)) as kept:
        hold = kept.ledger.hold("model", Amount())
        kept.now_s[0] = 61.0
        assert kept.ledger.hold("model", Amount()) is None
        kept.ledger.close("--max-time")
        assert not kept.ends
        settled(kept.ledger, hold, Amount())
        assert kept.ends == [("--max-time", "the cap --max-time of 1m is reached.")]


def test_a_machine_that_took_more_than_the_cap_before_its_first_request_ends_the_run() -> None:
    with opened(Caps(cost=PER_DOLLAR), rate=PER_DOLLAR) as kept:
        kept.now_s[0] = 3.0
        assert kept.ledger.hold("model", Amount()) is None
        [(flag, reason)] = kept.ends
    assert flag == "--max-cost"
    assert "left $0.00, and this machine's time takes more." in reason


def test_this_machine_costs_by_the_second_and_is_kept_in_the_journal() -> None:
    caps = Caps(cost=10 * PER_DOLLAR)
    with opened(caps, Spent(machine=4 * PER_DOLLAR), rate=PER_DOLLAR) as kept:
        batch = kept.ledger.hold("model", Amount())
        kept.now_s[0] = 2.0
        settled_at = kept.ledger
        assert batch is not None
        batch.outcome = Amount()
        settled_at.settle(batch, 2.0)
        assert in_dollars(kept.ledger.spent().total.cost) == "$6.00"
        assert kept.ledger.hold("model", Amount()) is not None, "another batch of two seconds ends at 8"
        kept.now_s[0] = 4.5
        assert kept.ledger.hold("model", Amount()) is None, "it would end at 10.5"
        kept.ledger.end()
        assert kept.rows()[CLOCK, "spent"][1] == int(4.5 * PER_DOLLAR) + 1


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (0, "$0.00"),
        (PER_DOLLAR, "$1.00"),
        (1234 * PER_DOLLAR, "$1,234.00"),
        (PER_DOLLAR // 200, "$0.005"),
        (5, "$0.000000000005"),
    ],
)
def test_money_has_as_many_digits_as_it_needs(cost: int, words: str) -> None:
    assert in_dollars(cost) == words


def test_a_sum_of_prices_is_exact() -> None:
    assert picodollars(3 * 0.15 / 1e6) == 450_000
    assert sum(picodollars(0.1) for _ in range(10)) == PER_DOLLAR


@pytest.mark.parametrize(
    ("seconds", "words"), [(7200, "2h"), (90, "90s"), (120, "2m"), (1.25, "1.2s"), (3661, "3661s")]
)
def test_a_time_is_written_as_it_is_given(seconds: float, words: str) -> None:
    assert in_units(seconds) == words
