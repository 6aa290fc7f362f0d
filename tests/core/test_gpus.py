"""How the GPUs of a machine are shared out among replicas."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.machine.gpus import share_out, visible_gpus

FOUR = ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("n", "each", "expected"),
    [
        (2, 1, [["0"], ["1"]]),
        (2, 2, [["0", "1"], ["2", "3"]]),
        ("auto", 1, [["0"], ["1"], ["2"], ["3"]]),
        ("auto", 2, [["0", "1"], ["2", "3"]]),
        ("auto", 3, [["0", "1", "2"]]),
        (3, 0.5, [["0"], ["1"], ["2"]]),
        ("auto", 0.5, [[gpu] for gpu in FOUR * 2]),
        (5, 0.3, [["0"], ["1"], ["2"], ["3"], ["0"]]),
    ],
)
def test_each_replica_has_its_own_gpus_or_its_share_of_one(n: Any, each: float, expected: list[list[str]]) -> None:
    assert share_out(FOUR, n, each) == expected


def test_without_gpus_there_is_nothing_to_share() -> None:
    assert share_out([], 3, 1) == [[], [], []]
    assert share_out([], "auto", 1) == [[]]


@pytest.mark.parametrize(("n", "each"), [(5, 1), (3, 2), (9, 0.5), ("auto", 8)])
def test_too_few_gpus_are_told_before_anything_starts(n: Any, each: float) -> None:
    with pytest.raises(PlanError, match="do not fit on the 4") as refused:
        share_out(FOUR, n, each)
    assert refused.value.where == "--replicas"


@pytest.mark.parametrize("each", [0, -1, 1.5])
def test_gpus_are_whole_or_a_share_of_one(each: float) -> None:
    with pytest.raises(PlanError, match="must be a whole number or a share of one GPU, not"):
        share_out(FOUR, 2, each)


@pytest.mark.parametrize(
    ("told", "expected"), [("2,5", ["2", "5"]), ("", []), ("-1", []), ("GPU-8f2a, GPU-77", ["GPU-8f2a", "GPU-77"])]
)
def test_the_user_s_choice_of_gpus_is_kept(told: str, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", told)
    assert visible_gpus() == expected
