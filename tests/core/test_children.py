"""Children: they end with whoever started them, leave nothing behind, and their last words are known."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.children.child import Child

WAIT_S = 30
pytestmark = pytest.mark.skipif(os.name != "posix", reason="no signals here")
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux does this, and lists processes like this")
STARTS_ANOTHER = """\
import subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(other.pid, flush=True)
"""
IS_DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
DEAF = f"{IS_DEAF}print('here', flush=True)\ntime.sleep(600)"
ASKED = """\
import signal, sys, time
def end(*_):
    print("asked to end", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
print("here", flush=True)
time.sleep(600)
"""
OWNER = """\
import sys, threading
from polymeter.core.children.child import Child
started = []
thread = threading.Thread(target=lambda: started.append(Child([sys.executable, "-c", sys.argv[1]], grace_s={grace_s})))
thread.start()
thread.join()
while not (words := started[0].said(100).strip()):
    pass
print(started[0].pid, words, flush=True)
sys.stdin.read()
"""


def soon(is_so: Callable[[], Any]) -> bool:
    """Wait until something is so."""
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        with suppress(OSError):
            return state.read_text().rpartition(")")[2].split()[0] != "Z"
        return not Path("/proc/self").exists()
    return False


def group_of(leader: int) -> list[int]:
    """The living processes of a group but its leader."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, group = (process / "stat").read_text().rpartition(")")[2].split()[:3]
            found += [int(process.name)] if state != "Z" and int(group) == leader else []
    return [pid for pid in found if pid != leader]


@pytest.fixture
def start() -> Iterator[Callable[..., Child]]:
    """Starts Python code."""
    started: list[Child] = []

    def begin(code: str, **how: Any) -> Child:
        started.append(Child([sys.executable, "-c", code], **how))
        return started[-1]

    yield begin
    for child in started:
        child.kill()


@pytest.fixture
def owner() -> Iterator[Callable[..., tuple[subprocess.Popen[str], list[str]]]]:
    """Starts a process that has started a child, on a thread that has ended, and says what the child has printed."""
    started: list[subprocess.Popen[str]] = []

    def begin(code: str, grace_s: float = 0.0) -> tuple[subprocess.Popen[str], list[str]]:
        process = subprocess.Popen(
            [sys.executable, "-c", OWNER.format(grace_s=grace_s), code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(polymeter.__file__).parents[1])},
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().split()

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def test_it_is_the_program_itself_with_pipes_folder_and_environment(
    start: Callable[..., Child], tmp_path: Path
) -> None:
    code = "import os, signal, sys; print(os.getpid(), os.getppid(), os.getcwd(), os.environ['OWN'], sys.stdin.read())"
    child = start(
        code,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "OWN": "mine"},
    )
    child.stdin.write(b"told")
    child.stdin.close()
    expected = [str(child.pid), str(os.getpid()), str(tmp_path), "mine", "told"]
    assert child.stdout.read().decode().split() == expected
    assert (child.wait(WAIT_S), child.status, child.said(100)) == (0, 0, "")


def test_a_broken_pipe_ends_it_as_it_ends_any_program(start: Callable[..., Child]) -> None:
    numbers = "import signal; print(*(int(signal.getsignal(n) == signal.SIG_IGN) for n in (13, 25)))"
    plain = subprocess.run([sys.executable, "-c", numbers], capture_output=True, text=True, check=True).stdout
    child = start(numbers)
    assert (child.wait(WAIT_S), child.said(100)) == (0, plain)
    shell = Child(["sh", "-c", "kill -PIPE $$"])
    assert shell.wait(WAIT_S) == -signal.SIGPIPE
    shell.kill()


@pytest.mark.parametrize("is_guarded", [True, False])
def test_its_last_words_are_those_since_its_start_and_outlive_it(
    start: Callable[..., Child], tmp_path: Path, is_guarded: bool
) -> None:
    log = tmp_path / "log"
    log.write_text("of another\n")
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(4)"
    for how in ({"log": log}, {}):
        child = start(code, is_guarded=is_guarded, **how)
        assert child.wait(WAIT_S) == 4
        assert (child.said(100), child.said(4)) == ("out\nerr\n", "err\n")
        child.kill()
        child.kill()
        assert (child.said(100), child.said(4), child.status) == ("out\nerr\n", "err\n", 4)
    assert log.read_text() == "of another\nout\nerr\n"


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    child = Child(["/no/such/program"])
    assert child.wait(WAIT_S) == 127
    assert "/no/such/program cannot be started: " in child.said(1000)
    child.kill()
    with pytest.raises(FileNotFoundError):
        Child(["/no/such/program"], is_guarded=False)
    with pytest.raises(FileNotFoundError):
        Child([sys.executable], cwd=tmp_path / "nowhere")


def test_waiting_has_a_deadline(start: Callable[..., Child]) -> None:
    child = start("import time; time.sleep(600)")
    assert (child.status, child.wait(0.01)) == (None, None)
    child.kill()
    assert child.wait() == -signal.SIGKILL


@only_linux
def test_its_memory_is_limited(start: Callable[..., Child]) -> None:
    child = start("bytearray(2**30)", memory_mb=512)
    assert child.wait(WAIT_S) == 1
    assert child.said(1000).splitlines()[-1] == "MemoryError"


@only_linux
@pytest.mark.parametrize("end", ["kill", "stop", "by itself"])
def test_nothing_that_it_has_started_is_left(start: Callable[..., Child], end: str) -> None:
    child = start(STARTS_ANOTHER + ("" if end == "by itself" else "time.sleep(600)"))
    assert soon(lambda: child.said(100).strip())
    other = int(child.said(100))
    if end == "by itself":
        assert soon(lambda: not is_alive(other)), "without anybody having looked at the child"
        assert child.status == 0
    else:
        getattr(child, end)()
        assert child.status == -signal.SIGKILL
    assert soon(lambda: not is_alive(other))
    assert soon(lambda: not group_of(child.pid)), "nobody guards what is gone"


def test_one_that_is_asked_to_end_may_do_so(start: Callable[..., Child]) -> None:
    child = start(ASKED, grace_s=WAIT_S)
    assert soon(lambda: child.said(100))
    child.stop()
    assert (child.status, child.said(100)) == (3, "here\nasked to end\n")


@pytest.mark.parametrize("is_guarded", [True, False])
def test_one_that_does_not_end_when_asked_is_killed(
    start: Callable[..., Child], is_guarded: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr("polymeter.core.children.child._SPARE_S", 0.2 if not is_guarded else WAIT_S)
    child = start(DEAF, grace_s=0.2, is_guarded=is_guarded)
    assert soon(lambda: child.said(100))
    child.stop()
    assert child.status == -signal.SIGKILL


@only_linux
@pytest.mark.parametrize("grace_s", [0.0, 0.2])
def test_it_ends_with_its_owner_that_is_killed_and_so_does_what_it_has_started(
    owner: Callable[..., Any], grace_s: float
) -> None:
    process, (child, other) = owner(f"{IS_DEAF}{STARTS_ANOTHER}time.sleep(600)", grace_s)
    process.kill()
    assert soon(lambda: not is_alive(int(child)))
    assert soon(lambda: not is_alive(int(other)))


@only_linux
@pytest.mark.parametrize(("grace_s", "code"), [(0.0, DEAF), (5.0, ASKED)])
def test_the_kernel_ends_it_with_its_owner_if_nobody_guards_it(
    owner: Callable[..., Any], grace_s: float, code: str
) -> None:
    process, (child, _) = owner(code, grace_s)
    (guard,) = group_of(int(child))
    os.kill(guard, signal.SIGKILL)
    assert is_alive(int(child))
    process.kill()
    assert soon(lambda: not is_alive(int(child)))


def test_a_forked_process_starts_children_too(start: Callable[..., Child]) -> None:
    start("").wait(WAIT_S)
    pid = os.fork()
    if not pid:
        child = Child([sys.executable, "-c", "print('of a fork')"])
        is_right = (child.wait(WAIT_S), child.said(100)) == (0, "of a fork\n")
        child.kill()
        os._exit(0 if is_right else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_children_hold_no_files_of_each_other(start: Callable[..., Child]) -> None:
    """A pipe that another child holds as well would not end with the child that it belongs to."""
    children: Sequence[Child] = [
        start("import sys; sys.stdin.read()", stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)
    ]
    for child in children:
        child.stdin.close()
        assert child.stdout.read() == b""
        assert child.wait(WAIT_S) == 0
