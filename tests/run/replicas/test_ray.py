"""Replicas on Ray without a cluster: what is refused, how a cluster is divided, what is carried and what is not, and
that Ray is imported for nobody who has not asked for it.
"""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter import PlanError, RunOptions
from polymeter.api.running import with_settings
from polymeter.core.names.registries import MODELS
from polymeter.run.dispatch.replicas.hosts import Computed, HostListener, Work
from polymeter.run.dispatch.replicas.ray import cluster, room
from polymeter.run.dispatch.replicas.ray.actor import RayReplica, code_mark, sent
from polymeter.run.dispatch.replicas.ray.head_watch import HeadWatch, answers
from polymeter.run.dispatch.replicas.ray.host import Joined, RayHost
from polymeter.run.dispatch.replicas.ray.object_store import INLINE, Pieces
from polymeter.run.dispatch.replicas.ray.visibility import Visibility, is_seen, machine_mark, mark_of
from polymeter.run.dispatch.replicas.ray.working_folder import WorkingFolder, here
from polymeter.run.dispatch.replicas.wire import unpacked
from tests.helpers.replicated import Counted

GPU_NODE = {"CPU": 16.0, "GPU": 8.0}
CPU_NODE = {"CPU": 4.0}


def options(**given: Any) -> RunOptions:
    return RunOptions.make({"executor": "ray", **given})


def divided(nodes: list[dict[str, float]], given: dict[str, Any], *, is_growing: bool = True) -> cluster.Cluster:
    return cluster.divided(nodes, options(**given), wanted(given), is_growing=is_growing)


def join(**given: Any) -> cluster.Cluster:
    return cluster.join(options(**given), wanted(given))


def wanted(given: dict[str, Any]) -> list[Any]:
    judges = given.get("judge_replicas")
    return [given.get("replicas", "auto"), *([judges] if judges else [])]


@pytest.mark.parametrize(
    ("nodes", "given", "expected"),
    [
        ([GPU_NODE, GPU_NODE], {"replicas": "auto"}, (16, 1, 1)),
        ([GPU_NODE, GPU_NODE], {}, (16, 1, 1)),
        ([GPU_NODE, GPU_NODE], {"gpus_per_replica": 4}, (4, 4, 1)),
        ([GPU_NODE], {"gpus_per_replica": 0.5, "replicas": "auto"}, (16, 0.5, 1)),
        ([GPU_NODE], {"gpus_per_replica": 0.5, "cpus_per_replica": 4}, (4, 0.5, 4)),
        ([GPU_NODE, CPU_NODE], {"replicas": 3}, (3, 1, 1)),
        ([CPU_NODE, {"CPU": 8.0}], {"replicas": "auto"}, (3, 0, 4)),
        ([CPU_NODE, CPU_NODE], {"replicas": "auto", "cpus_per_replica": 3}, (2, 0, 3)),
        ([CPU_NODE, {}], {"replicas": 2}, (2, 0, 1)),
    ],
)
def test_a_cluster_is_divided(nodes: list[dict[str, float]], given: dict[str, Any], expected: tuple[Any, ...]) -> None:
    found = divided(nodes, given)
    assert (sum(found.numbers), found.gpus_per_replica, found.cpus_per_replica, found.note) == (*expected, "")


def test_replicas_without_room_wait_where_nodes_can_join_and_are_said_to_wait_in_vain_elsewhere() -> None:
    asked = {"replicas": 9, "cpus_per_replica": 2}
    growing = divided([CPU_NODE, CPU_NODE], asked)
    assert growing.note == (
        "The Ray cluster has room for 4 of 9 replicas of 2 cores. The others start when nodes join."
    )
    note = divided([CPU_NODE], asked, is_growing=False).note
    assert "The others will never start: no node can join this cluster." in note
    assert [*divided([], {"replicas": 2}).numbers] == [2], "the first node may join later"


def test_judges_have_room_of_their_own() -> None:
    assert [*divided([GPU_NODE, GPU_NODE], {"judge_replicas": 4}).numbers] == [12, 4]
    assert [*divided([CPU_NODE], {"judge_replicas": 3}).numbers] == [1, 3]
    crowded = divided([GPU_NODE], {"replicas": 8, "judge_replicas": 1})
    assert crowded.note.startswith("The Ray cluster has room for 8 of 9 replicas of 1 core and 1 GPU.")
    nobody = cluster.divided([], options(), [], is_growing=False)
    assert (sum(nobody.numbers), nobody.note) == (0, ""), "only scoring is spread"


@pytest.mark.parametrize(
    ("given", "is_growing", "said"),
    [
        ({"gpus_per_replica": 1.5}, True, "must be a whole number or a share of one GPU, not 1.5"),
        ({"gpus_per_replica": 1, "replicas": 1}, False, "has room for a replica of 1 core and 1 GPU"),
        ({"cpus_per_replica": 64}, True, "has room for a replica of 64 cores"),
    ],
)
def test_a_cluster_that_can_hold_no_replica_is_refused(given: dict[str, Any], is_growing: bool, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        divided([CPU_NODE], given, is_growing=is_growing)


def test_a_missing_ray_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "ray" else real(name, *more))
    with pytest.raises(PlanError, match=r"The package 'ray', needed by --executor ray, is not installed.*\[ray\]"):
        join()


def test_ray_is_not_imported_unless_it_is_asked_for(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a", n=4)
    code = (
        "import sys; from polymeter.cli.main import main\n"
        "code = main([*sys.argv[1:], '--replicas', '2'])\n"
        "loaded = sorted(name for name in sys.modules if name.partition('.')[0] == 'ray' or '.executors.ray' in name)\n"
        "print('ray:', code, loaded)"
    )
    done = subprocess.run([sys.executable, "-c", code, *counted.words()], capture_output=True, text=True, check=True)
    assert "ray: 0 []" in done.stdout, done.stdout + done.stderr


def test_a_large_piece_is_put_once_and_small_ones_travel_with_the_call() -> None:
    put: list[bytes] = []

    def store(data: bytes) -> str:
        put.append(data)
        return f"ref {len(put)}"

    pieces = Pieces(store, most_bytes=3 * INLINE)
    small, one, other = b"s" * INLINE, b"1" * (INLINE + 1), b"2" * (INLINE + 1)
    asked = [memoryview(small), memoryview(one), memoryview(other)]
    assert pieces.stand_ins(asked) == [small, "ref 1", "ref 2"]
    assert pieces.stand_ins([memoryview(bytes(bytearray(one)))]) == ["ref 1"], "equal bytes are one piece"
    assert pieces.stand_ins([memoryview(b"3" * (INLINE + 1))]) == ["ref 3"]
    assert pieces.stand_ins(asked[1:]) == ["ref 1", "ref 4"], "what was not shown for longest was let go of"
    assert len(put) == 4


def test_files_of_this_machine_are_read_and_others_carried(tmp_path: Path) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(b"jpeg")
    asked: list[Any] = []
    here = Visibility(machine_mark(), lambda *what: asked.append(what))
    there = Visibility("another machine", lambda *what: asked.append(what))
    assert here(file)
    assert not there(file)
    assert asked == [], "a local disk is not asked about: what has the same name there may be another file"


def test_a_shared_folder_is_read_once_a_replica_was_seen_to_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("polymeter.run.dispatch.replicas.ray.visibility.file_system", lambda path: "nfs4")
    file = tmp_path / "a.jpg"
    file.write_bytes(b"jpeg")
    asked: list[Any] = []
    there = Visibility("another machine", lambda *what: asked.append(what))
    assert [there(file), there(file)] == [False, False], "until the answer comes, bytes are carried"
    ((folder, mark),) = asked
    assert (folder, is_seen(mark)) == (tmp_path, True)
    there.learn(folder, True)
    assert there(file)
    assert there(tmp_path / "b.jpg")
    assert not there(tmp_path / "below" / "c.jpg"), "another folder may be another mount"
    assert len(asked) == 1, "a file that is not there cannot be asked about"


def test_a_file_is_seen_only_if_it_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(b"jpeg")
    mark = mark_of(file)
    assert is_seen(mark)
    file.write_bytes(b"other")
    assert not is_seen(mark)
    file.unlink()
    assert not is_seen(mark)


def test_an_address_where_no_cluster_is_ends_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")

    def refuse(**asked: Any) -> None:
        assert asked["address"] == "10.0.0.1:6379"
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(MODELS, "_users", {})
    counted = Counted(tmp_path / "a", n=4)
    asked = {**counted.arguments(), "executor": "ray", "address": "10.0.0.1:6379"}
    with pytest.raises(PlanError, match=r"Joining the Ray cluster at 10.0.0.1:6379 raised ConnectionError: nobody"):
        polymeter.evaluate(**asked)
    assert not (asked["output"] / "run.json").exists(), "the run has not begun"


def test_an_address_without_the_executor_is_refused(tmp_path: Path) -> None:
    counted = Counted(tmp_path / "a", n=4)
    with pytest.raises(PlanError, match=r"the run does not use one.*--address.*Add --executor ray"):
        polymeter.evaluate(**counted.arguments(), address="auto")


class InCluster:
    """A process that is in a cluster of two nodes, of which others use some."""

    gcs_address = "127.0.0.1:6379"

    def __init__(self, monkeypatch: pytest.MonkeyPatch, free: list[dict[str, float]]) -> None:
        ray = pytest.importorskip("ray", reason="Ray is not installed")
        self._free = free
        monkeypatch.setattr(cluster, "_RETURNING_S", 0.0, raising=False)
        monkeypatch.setattr(ray, "is_initialized", lambda: True)
        monkeypatch.setattr(ray, "get_runtime_context", lambda: self)
        monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": GPU_NODE}] * 2)
        monkeypatch.setattr(ray, "available_resources", self.available)

    def available(self) -> dict[str, float]:
        return self._free.pop(0) if len(self._free) > 1 else self._free[0]


ALL_FREE = {"CPU": 32.0, "GPU": 16.0}


@pytest.mark.parametrize("address", [None, "auto", "127.0.0.1:6379", "localhost:6379", "ray://localhost:10001"])
def test_a_process_stays_in_the_cluster_that_it_is_in(monkeypatch: pytest.MonkeyPatch, address: str | None) -> None:
    InCluster(monkeypatch, [ALL_FREE])
    found = join(address=address)
    assert ([*found.numbers], found.note, found.is_left) == ([16], "", False)


@pytest.mark.parametrize("address", ["127.0.0.1:6380", "10.255.0.9:6379", "ray://10.255.0.9:10001", "local"])
def test_the_address_of_another_cluster_than_the_process_is_in_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    InCluster(monkeypatch, [ALL_FREE])
    with pytest.raises(PlanError, match=r"is in the Ray cluster at 127.0.0.1:6379 already") as refused:
        join(address=address)
    assert f"cannot join the one at {address}" in str(refused.value)
    assert "ray.shutdown()" in refused.value.hint


def test_auto_is_as_many_replicas_as_there_is_room_for_now(monkeypatch: pytest.MonkeyPatch) -> None:
    InCluster(monkeypatch, [{"CPU": 9.0, "GPU": 3.0}])
    found = join(replicas="auto")
    assert [*found.numbers] == [3]
    assert found.note == ("Others use the Ray cluster: it has room for 3 of 16 replicas of 1 core and 1 GPU now.")
    assert [*join(replicas=5).numbers] == [5], "who says how many is not asked to wait for others"


def test_a_cluster_that_others_use_entirely_has_one_replica_which_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    InCluster(monkeypatch, [{"CPU": 9.0}])
    found = join()
    assert [*found.numbers] == [1]
    assert found.note.endswith(
        "has room for 0 of 16 replicas of 1 core and 1 GPU now. One is started and waits for room."
    )


def test_what_is_being_given_back_counts_as_free(monkeypatch: pytest.MonkeyPatch) -> None:
    InCluster(monkeypatch, [{"CPU": 31.0, "GPU": 15.0}, ALL_FREE])
    monkeypatch.setattr(cluster, "_RETURNING_S", 60.0, raising=False)
    assert [*join().numbers] == [16]


class Call:
    """A call of an actor, of which nothing is ever heard."""

    def remote(self, *arguments: Any) -> Call:
        return self

    def future(self) -> Future[Any]:
        return Future()


class Actors:
    """An actor class whose actors never find a node."""

    begin = load = live = close = Call()

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ray = pytest.importorskip("ray", reason="Ray is not installed")
        self.n_made, self.n_ended = 0, 0
        monkeypatch.setattr(ray, "put", lambda value: value)
        monkeypatch.setattr(ray, "remote", lambda **asked: lambda actor: self)
        monkeypatch.setattr(ray, "kill", self.kill)

    def remote(self, n_cores: int) -> Actors:
        self.n_made += 1
        return self

    def kill(self, handle: Actors, *, no_restart: bool) -> None:
        self.n_ended += 1


def hosting(told: list[str]) -> RayHost:
    unheard = [lambda *told: pytest.fail(f"nothing is to be told: {told}")] * 4
    joined = Joined("", HeadWatch("127.0.0.1:6379"))
    listener = HostListener(*unheard, gone=told.append)
    return RayHost(Opening(""), cluster.ONE_CORE, joined, listener)


def test_a_host_that_is_closed_starts_no_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Actors(monkeypatch)
    host = hosting([])
    host.close()
    host.start(0, 0)
    assert made.n_made == 0


def test_scorers_end_when_a_replica_waits_for_their_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    actors, told = Actors(monkeypatch), []
    replicas, scorers = hosting([]), hosting(told)
    began = time.monotonic()
    for number in range(3):
        scorers.start(number, number)
    replicas.start(7, 0)
    seconds = iter((began, began + 30, began + 70, began + 80))
    asked: list[int] = []

    def would_help(n_scorers: int) -> bool:
        asked.append(n_scorers)
        return len(asked) == 2

    room.make_room_when_needed([replicas], scorers, would_help, every_s=0.0, clock=lambda: next(seconds)).join(60)
    assert asked == [3, 3], "nothing is asked before it has waited for a minute"
    assert (actors.n_ended, scorers.n_actors, replicas.n_actors) == (3, 0, 1)
    assert told == ["a replica that was lost can be started again only on cores that scorers had."]
    scorers.start(3, 0)
    assert scorers.n_actors == 0, "none takes the cores again"


def test_a_replica_that_waited_before_there_were_scorers_does_not_end_them(monkeypatch: pytest.MonkeyPatch) -> None:
    Actors(monkeypatch)
    replicas = hosting([])
    replicas.start(0, 0)
    assert replicas.waiting_since(0.0) is not None
    assert replicas.waiting_since(time.monotonic()) is None


def test_room_is_asked_of_the_whole_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    InCluster(monkeypatch, [{"CPU": 1.0, "GPU": 1.0}])
    assert room.has_room_but_for(cluster.Cluster((1,), 1.0, 4, "", is_left=False), 3)
    assert not room.has_room_but_for(cluster.Cluster((1,), 1.0, 4, "", is_left=False), 2), "cores of others are missing"
    assert not room.has_room_but_for(cluster.Cluster((1,), 2.0, 1, "", is_left=False), 64), "a GPU is missing"


@dataclass(frozen=True)
class Opening:
    """Makes something whose loading opens a file by a relative path."""

    path: str

    def made(self) -> Opening:
        return self

    def places(self) -> tuple[Any, ...]:
        return {"pretrained": [self.path], "n": 3, "none": "", "odd": "\0"}, (Path("missing.py"),)

    def load(self) -> None:
        Path(self.path).read_text()

    def prepare(self, work: Work) -> None:
        pass

    def compute(self, work: Work, preparation: Any = None) -> Computed:
        return Computed(work.lease, ())

    def close(self) -> None:
        pass


def loaded(monkeypatch: pytest.MonkeyPatch, setup: Opening, folder: WorkingFolder) -> tuple[str, Any]:
    """What becomes of loading in an actor whose node was started in another folder than the run."""
    for name in ("MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.chdir("/")  # and back after the test
    actor = RayReplica(1)
    how, what = actor.load(code_mark(), sent(folder), sent(setup))
    actor.close()
    return how, unpacked(*what)


def test_a_relative_path_means_on_a_node_what_it_means_where_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weights").touch()
    monkeypatch.chdir(tmp_path)
    setup = Opening("weights")
    folder = WorkingFolder.of(setup, here())
    assert folder == WorkingFolder(str(tmp_path), ("weights",))
    assert loaded(monkeypatch, setup, folder)[0] == "ready"


def test_a_node_without_the_run_s_folder_is_named_where_something_of_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").touch()
    needed, absolute = Opening("weights"), Opening(str(tmp_path / "there"))
    how, error = loaded(monkeypatch, needed, WorkingFolder("/no/such folder", ("weights",)))
    assert how == "failed"
    assert str(error).startswith(
        f"On node {socket.gethostname()}: The run works in '/no/such folder', which cannot be entered here, and "
        "'weights' is relative to it: No such file or directory."
    )
    folder = WorkingFolder.of(absolute, "/no/such folder")
    assert folder.relative == ()
    assert loaded(monkeypatch, absolute, folder)[0] == "ready"


def test_a_folder_that_was_deleted_is_entered_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert WorkingFolder.of(Opening("weights"), here()) == WorkingFolder("", ())
    monkeypatch.chdir("/")
    WorkingFolder("", ()).enter()
    assert here() == "/"


def test_files_to_import_are_absolute_before_a_run_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").touch()
    monkeypatch.chdir(tmp_path)
    asked = options(imports=(Path("own.py"), Path("missing.py")))
    assert with_settings(asked, {}).imports == (tmp_path / "own.py", Path("missing.py"))


def watched(seen: list[bool], *, patience_s: float) -> tuple[HeadWatch, list[str]]:
    """Watch a head that is seen or not at each second; returns when the watch has ended."""
    over, told = threading.Event(), []
    seconds = -1

    def is_there(address: str) -> bool:
        nonlocal seconds
        seconds += 1
        if seconds == len(seen) - 1:
            watch.close()
            over.set()
        return seen[seconds]

    def on_gone(reason: str) -> None:
        told.append(reason)
        over.set()

    watch = HeadWatch("10.0.0.1:6379", is_there, patience_s=patience_s, every_s=0.0, clock=lambda: seconds)
    watch.begin(on_gone)
    assert over.wait(60)
    return watch, told


def test_a_head_that_is_away_for_too_long_is_told_once_with_its_address() -> None:
    watch, told = watched([True, False, True, False, False, False, False, True], patience_s=4)
    assert told == [
        "The head of the Ray cluster at 10.0.0.1:6379 has not answered for 4 s. Resume the run on any cluster "
        "(--address)."
    ]
    assert watch.is_gone


def test_a_head_that_comes_back_in_time_is_not_gone() -> None:
    watch, told = watched([True, False, False, False, True, False, False, False, True], patience_s=4)
    assert (watch.is_gone, told) == (False, [])


def test_a_head_that_this_process_never_reaches_is_not_watched() -> None:
    watch, told = watched([False], patience_s=0)
    assert (watch.is_gone, told) == (False, [])


def test_a_head_is_there_while_its_port_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        assert answers(address)
    assert not answers(address)
    assert not answers("no port")
