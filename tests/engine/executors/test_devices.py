"""The GPUs and cores of a machine, divided among replicas."""

from __future__ import annotations

import pytest

from polymeter.core.errors import PlanError
from polymeter.engine.executors.devices import VISIBLE, divided, visible_gpus


@pytest.mark.parametrize(
    ("replicas", "each", "gpus", "n", "seen"),
    [
        ("auto", None, 4, 4, ["0", "1", "2", "3"]),
        ("auto", 2, 5, 2, ["0,1", "2,3"]),
        ("auto", 0.5, 2, 4, ["0", "1", "0", "1"]),
        (2, None, 4, 2, ["0", "1"]),
        (3, 0.3, 1, 3, ["0", "0", "0"]),
        (2, 0, 4, 2, ["", ""]),
    ],
)
def test_each_replica_sees_its_own_gpus(replicas, each, gpus, n, seen) -> None:
    division = divided(replicas, each, None, tuple(map(str, range(gpus))))
    assert division.n_replicas == n
    assert [division.environment(slot)[VISIBLE] for slot in range(n)] == seen
    assert not division.note


def test_without_gpus_auto_is_one_replica_and_says_so() -> None:
    division = divided("auto", None, None, ())
    assert division.n_replicas == 1
    assert "--replicas N makes more" in division.note


def test_cores_are_shared_unless_somebody_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("polymeter.engine.executors.devices.available_cores", lambda: 8)
    assert divided(3, None, None, ()).environment(0)["OMP_NUM_THREADS"] == "2"
    assert divided(99, None, None, ()).environment(0)["OMP_NUM_THREADS"] == "1"
    assert divided(3, None, 5, ()).environment(0)["OMP_NUM_THREADS"] == "5"
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert divided(3, None, None, ()).environment(0)["OMP_NUM_THREADS"] == "7", "what the user has set stays"
    assert divided(3, None, 5, ()).environment(0)["OMP_NUM_THREADS"] == "5", "and the option wins over it"


@pytest.mark.parametrize(
    ("replicas", "each", "gpus", "why"),
    [
        (3, None, 2, "3 replicas of 1 GPU each do not fit: this machine has 2"),
        (2, 4, 4, "2 replicas of 4 GPUs each do not fit"),
        (3, 0.5, 1, "3 replicas of 0.5 GPUs each do not fit"),
        ("auto", 8, 4, "1 replica of 8 GPUs each do not fit"),
        (1, 1.5, 4, "cannot have 1.5 GPUs"),
    ],
)
def test_what_does_not_fit_is_refused(replicas, each, gpus, why) -> None:
    with pytest.raises(PlanError, match=why):
        divided(replicas, each, None, tuple(map(str, range(gpus))))


@pytest.mark.parametrize(
    ("told", "gpus"),
    [("2,5", ("2", "5")), ("", ()), ("0,-1,2", ("0",)), ("GPU-8f2a, GPU-77", ("GPU-8f2a", "GPU-77"))],
)
def test_gpus_are_those_that_the_environment_leaves(told: str, gpus: tuple[str, ...]) -> None:
    assert visible_gpus({VISIBLE: told}) == gpus
