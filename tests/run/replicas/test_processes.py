"""Children of this process: what of theirs cannot be read, and that none outlives its host."""

from __future__ import annotations

import queue
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.run.dispatch.replicas import processes
from polymeter.run.dispatch.replicas.devices import Division
from polymeter.run.dispatch.replicas.hosts import Computed, ComputerSetup, HostListener, Work
from polymeter.run.dispatch.replicas.processes import LocalHost
from tests.helpers.odd_computer import OddSetup

WAIT_S = 60


class Heard:
    """A host of one core, and what it reports."""

    def __init__(self, setup: ComputerSetup) -> None:
        self._reported: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        put = self._reported.put
        self.listener = HostListener(
            lambda number: put(("ready", number)),
            lambda number, computed: put(("computed", computed)),
            lambda number, reason: put(("lost", reason)),
            lambda number, error: put(("failed", error)),
        )
        self.host = LocalHost(setup, Division([1], [[]], 1), 0, self.listener)

    def next(self, kind: str) -> Any:
        """What is reported next, which must be of this kind."""
        found, value = self._reported.get(timeout=WAIT_S)
        assert found == kind, value
        return value

    def answers(self, lease: int, *texts: str) -> Computed:
        """What becomes of some work."""
        self.host.send(0, Work(lease, [[text] for text in texts]))
        computed = self.next("computed")
        assert isinstance(computed, Computed)
        return computed


@pytest.fixture
def heard() -> Iterator[Heard]:
    made = Heard(OddSetup())
    made.host.start(0, 0)
    assert made.next("ready") == 0
    yield made
    made.host.close()


def test_an_answer_that_the_run_cannot_read_is_an_error_and_the_replica_goes_on(heard: Heard) -> None:
    computed = heard.answers(3, "thing", "a")
    assert (computed.lease, len(computed.responses)) == (3, 2)
    for response in computed.responses:
        assert response.error.kind == "permanent"
        assert "The model's answer cannot be read by the run: ModuleNotFoundError" in response.error.message
    assert [one.text for one in heard.answers(4, "b").responses] == ["b"]


def test_a_text_of_a_class_that_only_the_replica_has_arrives_as_a_text(heard: Heard) -> None:
    (response,) = heard.answers(1, "text").responses
    assert (response.text, type(response.text)) == ("mine", str)


def test_an_error_that_the_run_cannot_read_is_told_all_the_same() -> None:
    heard = Heard(OddSetup(is_loadable=False))
    heard.host.start(0, 0)
    error = heard.next("failed")
    assert isinstance(error, PlanError)
    assert "its error cannot be read by the run: ModuleNotFoundError" in str(error)
    heard.host.close()


def test_a_replica_that_is_started_while_the_host_closes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard(OddSetup())
    started: list[Any] = []

    class Late(processes._ReplicaChild):
        def __init__(self, *how: Any) -> None:
            super().__init__(*how)
            started.append(self)
            heard.host.close()

    monkeypatch.setattr(processes, "_ReplicaChild", Late)
    heard.host.start(0, 0)
    (child,) = started
    is_ended = child._child.status is not None
    child.kill()
    assert is_ended
    heard.host.start(1, 0)
    assert len(started) == 1, "a host that is closed starts nobody"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has somebody to watch, and lists processes like this")
@pytest.mark.parametrize("end", ["close", "kill", "by itself"])
def test_nobody_watches_a_replica_that_is_gone(heard: Heard, end: str) -> None:
    replica = int(heard.answers(1, "pid").responses[0].text)
    assert len(group_of(replica)) == 2, "the replica and who watches it"
    if end == "close":
        heard.host.close()
    elif end == "kill":
        heard.host.kill(0)
    else:
        heard.host.send(0, Work(2, [["exit"]]))
        assert "ended with status 3" in heard.next("lost")
    deadline = time.monotonic() + WAIT_S
    while group_of(replica):
        assert time.monotonic() < deadline


def group_of(leader: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdecimal():
                state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
                found += [int(process.name)] if state != "Z" and int(group) == leader else []
    return found
