"""Which of several addresses gets the next request."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from polymeter.run.dispatch.endpoint.balancing import least_loaded, shares


@dataclass
class Address:
    number: int
    in_flight: int = 0
    limit: int = 8
    n_sent: int = 0
    is_there: bool = True

    @property
    def has_room(self) -> bool:
        return self.is_there and self.in_flight < self.limit

    @property
    def load(self) -> float:
        return self.in_flight / self.limit


def test_the_one_whose_limit_is_least_used_is_chosen() -> None:
    slow, fast = Address(0, in_flight=3, limit=4), Address(1, in_flight=16, limit=64)
    assert least_loaded([slow, fast]) is fast, "it has more in flight, and still more room"


def test_between_equals_the_one_that_was_sent_least_is_chosen() -> None:
    assert least_loaded([Address(0, n_sent=5), Address(1, n_sent=4)]).number == 1  # type: ignore[union-attr]
    assert least_loaded([Address(0), Address(1)]).number == 0, "then the first one"  # type: ignore[union-attr]


def test_requests_that_come_one_at_a_time_use_all() -> None:
    addresses = [Address(number) for number in range(3)]
    for _ in range(30):
        chosen = least_loaded(addresses)
        assert chosen is not None
        chosen.n_sent += 1
    assert [one.n_sent for one in addresses] == [10, 10, 10]


def test_nobody_is_chosen_without_room() -> None:
    assert least_loaded([]) is None
    assert least_loaded([Address(0, in_flight=8), Address(1, is_there=False)]) is None


def test_a_request_avoids_where_it_failed_unless_nobody_else_has_room() -> None:
    failed, other = Address(0), Address(1, in_flight=7)
    assert least_loaded([failed, other], {0}) is other
    other.in_flight = 8
    assert least_loaded([failed, other], {0}) is failed
    assert least_loaded([failed, other], {0, 1}) is failed


def test_those_that_failed_a_request_take_turns() -> None:
    busy, idle, other = Address(0, in_flight=7, n_sent=9), Address(1), Address(2)
    assert least_loaded([busy, idle], [0, 1]) is busy, "the other one failed it last"
    assert least_loaded([busy, idle], [1, 0]) is idle
    assert least_loaded([busy, idle, other], [0, 1]) is other


@pytest.mark.parametrize(
    ("answered", "expected"), [([3, 1], [0.75, 0.25]), ([0, 0], [0.0, 0.0]), ([1, 1, 1], [0.3333] * 3), ([], [])]
)
def test_shares_are_of_all_answers(answered: list[int], expected: list[float]) -> None:
    assert shares(answered) == expected
