"""The GPUs and cores of a machine, divided among replicas."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.machine.gpus import VISIBLE
from polymeter.run.dispatch.replicas.devices import divided


@pytest.mark.parametrize(
    ("replicas", "each", "gpus", "seen"),
    [
        ("auto", None, 4, ["0", "1", "2", "3"]),
        ("auto", 2, 5, ["0,1", "2,3"]),
        (3, 0.5, 2, ["0", "1", "0"]),
        (2, None, 4, ["0", "1"]),
        (2, 0, 4, ["", ""]),
        (2, 0, 0, ["", ""]),
    ],
)
def test_each_replica_sees_its_own_gpus(replicas: Any, each: float | None, gpus: int, seen: list[str]) -> None:
    division = divided([replicas], each, None, list(map(str, range(gpus))))
    assert [division.environment(slot)[VISIBLE] for slot in range(sum(division.numbers))] == seen
    assert not division.note


def test_judges_have_gpus_of_their_own() -> None:
    gpus = list("01234")
    division = divided(["auto", 2], None, None, gpus)
    assert [*division.numbers] == [3, 2]
    assert [division.environment(slot)[VISIBLE] for slot in range(5)] == gpus
    beside = divided([2], None, None, gpus, n_here=1, is_first_taken=True)
    assert [beside.environment(slot)[VISIBLE] for slot in range(2)] == ["1", "2"], "the model here has the first"
    with pytest.raises(PlanError, match="6 replicas with 1 GPUs each do not fit on the 5"):
        divided(["auto", 5], None, None, gpus)
    with pytest.raises(PlanError, match=r"5 replicas .* on the 4 .* The first GPU is the measured model's"):
        divided([5], None, None, gpus, n_here=1, is_first_taken=True)


def test_a_judge_in_the_process_of_the_run_takes_no_gpu_from_the_replicas() -> None:
    assert divided([2], None, None, ["0", "1"], n_here=1).gpus == [["0"], ["1"]]
    assert [*divided(["auto"], None, None, ["0", "1"], n_here=1).numbers] == [2]


def test_where_no_gpu_is_found_replicas_see_what_there_is() -> None:
    """AMD's are not listed by ``nvidia-smi``, and a container may lack that program."""
    division = divided([2], None, None, [])
    assert [VISIBLE in division.environment(slot) for slot in range(2)] == [False, False]


def test_without_gpus_auto_is_one_replica_and_says_so() -> None:
    division = divided(["auto"], None, None, [])
    assert sum(division.numbers) == 1
    assert "--replicas N makes more" in division.note


def test_gpus_that_are_not_there_are_refused() -> None:
    with pytest.raises(PlanError, match="This machine has no GPU for replicas"):
        divided([2], 1, None, [])
    with pytest.raises(PlanError, match="3 replicas with 1 GPUs each do not fit on the 2 GPUs available here"):
        divided([3], None, None, ["0", "1"])


def test_cores_are_shared_unless_somebody_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("polymeter.run.dispatch.replicas.devices.available_cores", lambda: 8)
    assert divided([3], None, None, []).environment(0)["OMP_NUM_THREADS"] == "2"
    assert divided([3], None, None, [], n_here=1).environment(0)["OMP_NUM_THREADS"] == "2"
    assert divided([1], None, None, [], n_here=1).environment(0)["OMP_NUM_THREADS"] == "4"
    assert divided([99], None, None, []).environment(0)["OMP_NUM_THREADS"] == "1"
    assert divided([3], None, 5, []).environment(0)["OMP_NUM_THREADS"] == "5"
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert divided([3], None, None, []).environment(0)["OMP_NUM_THREADS"] == "7", "what the user has set stays"
    assert divided([3], None, 5, []).environment(0)["OMP_NUM_THREADS"] == "5", "and the option wins over it"
