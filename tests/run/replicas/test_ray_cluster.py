"""Replicas on a real Ray cluster of two nodes on this machine: equal results, and what becomes of a run when a replica,
a process, a node or the driver dies, when a replica hangs, and when a node joins late.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter import RunOptions
from polymeter.core.format import OpenContext
from polymeter.core.model import ModelSpec
from polymeter.core.names.registries import MODELS
from polymeter.run.dispatch.replicas import planning
from polymeter.run.dispatch.replicas.hosts import HostListener
from polymeter.run.dispatch.replicas.ray import room
from polymeter.run.dispatch.replicas.ray.cluster import ONE_CORE, Cluster
from polymeter.run.dispatch.replicas.ray.head_watch import HeadWatch
from polymeter.run.dispatch.replicas.ray.host import Joined, RayHost
from polymeter.run.dispatch.replicas.replica import ReplicaSetup
from polymeter.run.dispatch.replicas.scoring_pace import PaceLimits
from polymeter.store.reading.comparing import first_difference
from tests.helpers.replicated import KINDS, Counted, When, assert_equal_runs, kill, replicas_of
from tests.helpers.slow_scoring import Benchmark, assert_same_journal

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.needs_system("lmms_eval", "evalscope")]
QUICK = {"health_check_period_ms": 500, "health_check_initial_delay_ms": 500, "health_check_failure_threshold": 3}
"""How soon a node counts as dead whose port is closed."""
NODE = {"num_cpus": 2, "object_store_memory": 120 * 2**20}
HELD = 2 * 2
"""The most that a replica holds: a batch of two that it computes, and another one, which waits behind it or whose
answers have not left its process yet. Both are lost with the process.
"""


class Nodes:
    """A cluster whose nodes come and go."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster as Machines

        self.cluster = Machines(initialize_head=True, head_node_args={**NODE, "_system_config": QUICK})
        self.address = self.cluster.address
        self.others: list[Any] = []
        self.add()

    def add(self, *, is_awaited: bool = True) -> None:
        self.others.append(self.cluster.add_node(**NODE, wait=is_awaited))

    def kill(self) -> None:
        """End a node as a power failure does, with everything that runs there."""
        self.cluster.remove_node(self.others.pop(), allow_graceful=False)

    def wait(self) -> None:
        """Wait until Ray knows who is left, and what ran in the test before has given its cores back."""
        import ray

        n_cores = NODE["num_cpus"] * (1 + len(self.others))
        for _ in range(600):
            n_alive = sum(node["Alive"] for node in ray.nodes())
            if n_alive == 1 + len(self.others) and ray.available_resources().get("CPU") == n_cores:
                return
            time.sleep(0.05)
        raise AssertionError(f"{ray.nodes()} have {ray.available_resources()}")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    import ray

    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    patch.setenv("ORACLE_CALLS", str(tmp_path_factory.mktemp("asked") / "calls.log"))  # nodes inherit it
    # Whoever ends a cluster forgets the last one that was started in the same folder. Paths of sockets must be short.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as own:
        patch.setenv("RAY_TMPDIR", own)
        nodes = Nodes()
        ray.init(address=nodes.address, log_to_driver=False, logging_level="error")
        yield nodes
        ray.shutdown()
        nodes.cluster.shutdown()
    patch.undo()


@pytest.fixture(autouse=True)
def as_after_its_start(nodes: Nodes) -> None:
    nodes.wait()


@pytest.fixture(autouse=True)
def own_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODELS, "_users", {})


def on_ray(nodes: Nodes, replicas: int = 2, **more: Any) -> dict[str, Any]:
    return {"executor": "ray", "address": nodes.address, "replicas": replicas, "cpus_per_replica": 1, **more}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_the_same_as_in_one_process(nodes: Nodes, kind: str, tmp_path: Path) -> None:
    result = assert_equal_runs(kind, tmp_path, **on_ray(nodes))
    slots = replicas_of(result)["slots"]
    assert sum(slot["n_items"] for slot in slots) > 0
    assert [slot["n_lost"] for slot in slots] == [0, 0]


def test_a_replica_that_dies_and_one_that_hangs_cost_what_they_held(nodes: Nodes, tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a")
    asked = counted.arguments(dies_at="What is 7 ", hangs_at="What is 21 ")
    result = polymeter.evaluate(**asked, **on_ray(nodes, lease_timeout_s=6))
    counted.assert_whole(result, n_most_twice=2 * HELD)
    assert replicas_of(result)["n_lost"] == 2
    assert len(counted.processes()) >= 3, "one at least was replaced before the end"


def test_a_question_that_kills_every_replica_is_an_error_alone(nodes: Nodes, tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a", n=12)
    result = polymeter.evaluate(**counted.arguments(dies_at="What is 7 ", always=True), **on_ray(nodes))
    counted.assert_whole(result, n_most_twice=HELD, n_failed=1)
    (failed,) = [sample for sample in result.samples() if sample.status != "ok"]
    assert "Replicas were lost 2 times while computing this request" in failed.error


def test_a_process_that_is_killed_costs_what_it_computed(nodes: Nodes, tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a")
    killer = When(8, lambda: kill(counted.processes()[0]))
    result = polymeter.evaluate(**counted.arguments(gate=3, after=16), **on_ray(nodes), progress=killer)
    counted.assert_whole(result, n_most_twice=HELD)
    assert replicas_of(result)["n_lost"] == 1
    assert any("Replica" in note and "was lost" in note for note in killer.notes), killer.notes


def test_a_node_that_is_killed_costs_what_it_computed(nodes: Nodes, tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a")

    def kill_one() -> None:
        counted.await_processes(2)
        nodes.kill()

    # After sixteen notes everybody waits until the replica that takes the lost one's place has loaded the model.
    asked = counted.arguments(gate=3, after=16)
    result = polymeter.evaluate(**asked, **on_ray(nodes), progress=When(8, kill_one))
    nodes.add()
    counted.assert_whole(result, n_most_twice=HELD)
    assert replicas_of(result)["n_lost"] == 1, "replicas are spread over nodes, so one was there"


def test_a_node_that_joins_late_gets_the_replica_that_waited(nodes: Nodes, tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a", n=30)
    joins = When(6, lambda: nodes.add(is_awaited=False))
    # After twelve notes everybody waits until five processes have loaded the model: four fit until a node joins.
    result = polymeter.evaluate(**counted.arguments(gate=5, after=12), **on_ray(nodes, replicas=5), progress=joins)
    counted.assert_whole(result, n_most_twice=0)
    assert len(set(counted.processes())) == 5
    assert any("has room for 4 of 5 replicas" in note and "when nodes join" in note for note in joins.notes), (
        joins.notes
    )
    nodes.kill()


def test_a_killed_driver_resumes_with_another_number_of_replicas(nodes: Nodes, tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a")
    ray = ["--executor", "ray", "--address", nodes.address, "--replicas", "2", "--cpus-per-replica", "1"]
    # When twelve notes are there, everybody waits for a process that never comes.
    words = [sys.executable, "-m", "polymeter", *counted.words(gate=99, after=12), *ray]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as driver:
        while len(counted.lines()) <= 12:
            assert driver.poll() is None, driver.stderr.read() if driver.stderr else ""
            os.sched_yield()
        driver.kill()
    n_before = sum(counted.asked().values())
    assert 0 < n_before < counted.n
    result = polymeter.evaluate(**counted.arguments(), **on_ray(nodes, replicas=3))
    counted.assert_whole(result, n_most_twice=2 * HELD)
    assert [session["status"] for session in result.folder.read_manifest()["sessions"]][-1] == "complete"


def test_relative_paths_are_those_of_the_run_and_not_of_the_node(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Counted(tmp_path / "a", n=6)
    monkeypatch.chdir(counted.folder)  # the nodes were started elsewhere
    counted.log.touch()
    asked = {**counted.arguments(log=counted.log.name), "imports": ("counting.py",)}
    result = polymeter.evaluate(**asked, **on_ray(nodes))
    counted.assert_whole(result, n_most_twice=0)


def test_without_an_address_a_cluster_is_started_beside_one_that_runs_here(nodes: Nodes, tmp_path: Path) -> None:
    written = Path(os.environ["RAY_TMPDIR"], "ray", "ray_current_cluster")
    assert written.exists(), "which is how Ray finds the cluster that was started last"
    counted = Counted(tmp_path / "a", n=4)
    words = [*counted.words(), "--executor", "ray", "--replicas", "1", "--cpus-per-replica", "1"]
    free = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    done = subprocess.run([sys.executable, "-m", "polymeter", *words], env=free, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sum(counted.asked().values()) == counted.n


SOON = """\
import sys
from polymeter.run.dispatch.replicas.ray import head_watch
head_watch.PATIENCE_S = 3.0
from polymeter.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_run_stops_in_order_when_the_head_of_its_cluster_is_gone(nodes: Nodes, tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster as Machines

    alone = Machines(initialize_head=True, head_node_args=NODE)
    address = alone.address
    counted = Counted(tmp_path / "a")
    ray = ["--executor", "ray", "--address", address, "--replicas", "1", "--cpus-per-replica", "1"]
    # When twelve notes are there, everybody waits for a process that never comes.
    words = [sys.executable, "-c", SOON, *counted.words(gate=99, after=12), *ray, "--publish", str(tmp_path / "b")]
    try:
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as driver:
            while len(counted.lines()) <= 12:
                assert driver.poll() is None, driver.stdout.read() if driver.stdout else ""
                os.sched_yield()
            alone.head_node.kill_gcs_server()
            said, _ = driver.communicate(timeout=100)
    finally:
        alone.shutdown()
    assert f"The head of the Ray cluster at {address} has not answered for 3 s" in said
    assert "polymeter resume" in said
    assert driver.returncode == 1
    assert polymeter.open_run(tmp_path / "b").status == "stopped"
    result = polymeter.evaluate(**counted.arguments(), **on_ray(nodes))
    counted.assert_whole(result, n_most_twice=HELD)


AT_ONCE = PaceLimits(n_samples=2, sample_s=0.0, share=0.0, left_s=0.0)
"""Every task counts as slow to score after two samples."""


@pytest.mark.parametrize("asks", [False, True])
def test_scoring_is_spread_over_free_cores_and_nothing_changes(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asks: bool
) -> None:
    scored = Benchmark(tmp_path / "a", asks=asks)
    roles = {"judge": polymeter.ModelSpec("mock", args={"mode": "echo"})} if asks else {}
    single = scored.run("single", roles=roles)
    assert list(scored.processes()) == [os.getpid()]
    monkeypatch.setattr(planning, "SPREAD_FROM", AT_ONCE)
    spread = scored.run("spread", roles=roles, **on_ray(nodes, replicas=1))
    assert_same_journal(single, spread)
    record = spread.folder.read_manifest()["sessions"][-1]["spread_scoring"]
    n_elsewhere = sum(len(rows) for process, rows in scored.processes().items() if process != os.getpid())
    assert record["tasks"] == {"slowly_scored": n_elsewhere}
    assert n_elsewhere > scored.n // 2
    assert record["n_lost"] == 0


def test_the_scores_of_an_endpoint_s_answers_and_their_judges_are_spread_and_scored_again(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = Benchmark(tmp_path / "a", asks=True)
    roles = {"judge": polymeter.ModelSpec("mock", args={"mode": "echo"})}
    single = scored.run("single", is_endpoint=True, roles=roles)
    monkeypatch.setattr(planning, "SPREAD_FROM", AT_ONCE)
    place = {"executor": "ray", "address": nodes.address, "judge_replicas": 1, "cpus_per_replica": 1}
    spread = scored.run("spread", is_endpoint=True, roles=roles, **place)
    assert_same_journal(single, spread)
    session = spread.folder.read_manifest()["sessions"][-1]
    assert session["lanes"]["judge"]["replicas"]["planned"] == 1
    assert session["spread_scoring"]["tasks"]["slowly_scored"] > scored.n // 2
    assert "replicas" not in session["lanes"]["model"]

    again = scored.score_again(single, "again", executor="ray", address=nodes.address)
    assert first_difference(scored.score_again(single, "here").folder, again.folder) is None
    assert again.folder.read_manifest()["sessions"][-1]["spread_scoring"]["tasks"]["slowly_scored"] > scored.n // 2


def test_verdicts_on_the_answers_of_a_data_adapter_are_asked_from_elsewhere(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "SPREAD_FROM", AT_ONCE)
    run = assert_equal_runs("adapter", tmp_path, **on_ray(nodes, replicas=1))
    assert sum(run.folder.read_manifest()["sessions"][-1]["spread_scoring"]["tasks"].values()) > 0


def test_a_replica_that_waits_for_the_cores_of_scorers_gets_them(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_PATIENCE_S", 1.0)
    joined = Joined(str(tmp_path), HeadWatch(nodes.address))
    setup = ReplicaSetup(ModelSpec("mock"), (), {}, OpenContext(), RunOptions(), tmp_path)
    are_ready, is_ready, told = threading.Semaphore(0), threading.Event(), []

    def unheard(*what: Any) -> None:
        told.append(what)

    scorers = RayHost(
        setup,
        ONE_CORE,
        joined,
        HostListener(lambda number: are_ready.release(), unheard, unheard, unheard, gone=told.append),
    )
    of_two = Cluster((1,), 0.0, 2, "", is_left=False)
    replicas = RayHost(setup, of_two, joined, HostListener(lambda number: is_ready.set(), unheard, unheard, unheard))
    try:
        for number in range(4):
            scorers.start(number, number)
        for _ in range(4):
            assert are_ready.acquire(timeout=100), told
        room.make_room_when_needed([replicas], scorers, partial(room.has_room_but_for, of_two), every_s=0.1)
        replicas.start(0, 0)
        assert is_ready.wait(100), told
    finally:
        scorers.close()
        replicas.close()
    assert told == ["a replica that was lost can be started again only on cores that scorers had."]


def test_a_sample_whose_scoring_kills_is_an_error_alone(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = Benchmark(tmp_path / "a")
    single = scored.run("single")
    (scored.folder / "kills").write_text(str(os.getpid()))
    monkeypatch.setattr(planning, "SPREAD_FROM", AT_ONCE)
    spread = scored.run("spread", **on_ray(nodes, replicas=1))
    assert spread.status == "complete"
    before, after = ({one.id: one for one in run.samples()} for run in (single, spread))
    differ = [
        mark
        for mark in before
        if (before[mark].status, before[mark].scores) != (after[mark].status, after[mark].scores)
    ]
    assert differ == ["13"]
    assert "Scorers were lost 2 times while scoring this sample" in after["13"].error
