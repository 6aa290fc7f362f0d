"""Generated code: what is left of this machine to a hostile program, behind each kind of walls, and together."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import ScoreError
from polymeter.metrics import code_process, code_use
from polymeter.metrics.code_filter import ALONE, NO_ATTRIBUTES, OWN_PROCESS, Rule, filter_of
from polymeter.metrics.code_process import PASSED, CodeLimits, run_program
from polymeter.metrics.code_walls import ALL_WALLS, Walls, is_installed

LIMITS = CodeLimits(memory_mb=512, disk_mb=4)
ATTACKS = """\
import ctypes, fcntl, os, resource
from multiprocessing.shared_memory import SharedMemory
libc = ctypes.CDLL(None, use_errno=True)
succeeded = []
for attack in %r:
    try:
        exec(attack)
        succeeded.append(attack)
    except Exception:
        pass
assert not succeeded, succeeded
"""
"""Passes if each attack fails, and names those that succeed; one process for all of them saves much time."""


def _found(walls: Walls) -> Walls | None:
    """These walls as they are on this machine; ``None`` if they cannot be."""
    if not is_installed(walls):
        return None
    try:
        outcome, found, _ = code_process._run("", LIMITS, walls)
    except ScoreError:
        return None
    return found if outcome == PASSED else None


HERE = [found for walls in ALL_WALLS if (found := _found(walls))]
pytestmark = pytest.mark.skipif(
    not all(walls.is_alone and walls.has_own_files for walls in HERE), reason="this kernel lacks seccomp or Landlock"
)


@pytest.fixture(params=HERE, ids=lambda walls: walls.name)
def walls(request: pytest.FixtureRequest) -> Walls:
    """Each kind of walls that works on this machine."""
    found: Walls = request.param
    return found


CHANGES = [
    "os.utime({path})",
    "os.setxattr({path}, 'user.mark', b'1')",
    "os.removexattr({path}, 'user.kept')",
    "os.truncate({path}, 0)",
    "os.open({path}, os.O_RDONLY | os.O_TRUNC)",
    "os.open({path}, 3)  # neither to read nor to write",
    "assert not libc.syscall(452, -100, {path}.encode(), 0o777, 0)  # fchmodat2",
    "value = ctypes.create_string_buffer(b'1')\n"
    "given = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 1)\n"
    "assert not libc.syscall(463, -100, {path}.encode(), 0, b'user.mark', given, ctypes.c_size_t(16))  # setxattrat",
    "os.rename({path}, 'mine')",
    "os.link({path}, 'mine')",
]
IN_VAIN = [
    "os.chmod({path}, 0o777)",
    "os.chmod('/proc/self/fd/%d' % os.open({path}, os.O_PATH), 0o777)",
    "os.chown({path}, os.getuid(), os.getgid())",
    "os.lchown({path}, os.getuid(), os.getgid())",
    "os.utime({path}, (1, 1))",
    "os.utime({path}, (1, 1), follow_symlinks=False)",
]
"""Changes that may seem to succeed."""


def _changed(status: os.stat_result) -> tuple[int, ...]:
    """What a change of a file or its attributes cannot leave as it was."""
    return status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def test_nothing_about_another_file_can_be_changed(walls: Walls, tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("kept")
    target.chmod(0o640)
    if hasattr(os, "setxattr"):
        with suppress(OSError):  # not all file systems have such
            os.setxattr(target, "user.kept", b"1")
    before = target.stat()
    attacks = [change.format(path=repr(str(target))) for change in CHANGES]
    attacks += [f"{change.format(path=repr(str(target)))}\nraise OSError('in vain')" for change in IN_VAIN]
    assert run_program(ATTACKS % attacks, LIMITS, walls) == PASSED
    assert _changed(target.stat()) == _changed(before)
    assert target.read_text() == "kept"


def test_a_file_that_may_be_read_cannot_be_changed_through_its_descriptor(walls: Walls) -> None:
    """Python's own files are readable, and may belong to the user."""
    before = os.stat(os.__file__)
    changes = [
        "chmod(file, 0o777)\nraise OSError('in vain')",
        "chown(file, -1, os.getgid())\nraise OSError('in vain')",
        "utime(file, (1, 1))\nraise OSError('in vain')",
        "utime(file)",
        "setxattr(file, 'user.mark', b'1')",
    ]
    attacks = [f"file = os.open(os.__file__, os.O_RDONLY)\nos.{change}" for change in changes]
    assert run_program(ATTACKS % attacks, LIMITS, walls) == PASSED
    assert _changed(os.stat(os.__file__)) == _changed(before)


OWN_FILES = """\
import os, pathlib, shutil, tempfile
with tempfile.TemporaryDirectory() as folder:
    source = pathlib.Path(folder, "a.txt")
    source.write_text("text")
    source.touch()
    source.chmod(0o600)
    for copy in shutil.copyfile, shutil.copy, shutil.copy2:
        assert pathlib.Path(copy(source, source.with_name(copy.__name__))).read_text() == "text"
    source.with_name("new").touch()
    assert sorted(os.listdir(folder)) == ["a.txt", "copy", "copy2", "copyfile", "new"]
    os.rename(source, os.path.join(folder, "b.txt"))
    shutil.move(os.path.join(folder, "b.txt"), "c.txt")
    with open("c.txt", "r+") as file:
        file.truncate(2)
    shutil.rmtree(folder)
    os.mkdir(folder)
assert open("c.txt").read() == "te"
"""
OWN_ATTRIBUTES = """\
import os, shutil
open("a", "w").close()
os.utime("a", (1, 1))
os.chmod("a", 0o600)
shutil.copy2("a", "b")
assert os.stat("b").st_mtime == 1 and os.stat("b").st_mode & 0o777 == 0o600
"""


def test_its_own_files_are_its_own(walls: Walls) -> None:
    assert run_program(OWN_FILES, LIMITS, walls) == PASSED


def test_attributes_of_its_own_files_are_changed_where_it_sees_no_others(walls: Walls) -> None:
    expected = "failed: AssertionError" if walls.name == "limits" else PASSED
    assert run_program(OWN_ATTRIBUTES, LIMITS, walls) == expected


MEMORY = [
    "os.memfd_create('x')",
    "assert libc.syscall(447, 0) >= 0  # memfd_secret",
    "assert libc.shmget(0, 2**20, 0o1600) >= 0",
    "assert libc.msgget(0, 0o1600) >= 0",
    "assert libc.semget(0, 1, 0o1600) >= 0",
    "SharedMemory(create=True, size=2**20)",
    "open('/dev/shm/x', 'w')",
    "open('/tmp/x', 'w')",
    "assert libc.syscall(425, 1, ctypes.create_string_buffer(120)) >= 0  # io_uring_setup",
    "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
]


def test_no_memory_is_outside_of_its_limit(walls: Walls) -> None:
    assert run_program(ATTACKS % MEMORY, LIMITS, walls) == PASSED


@pytest.mark.parametrize(
    "fill",
    [
        "for i in range(8): open(str(i), 'wb').write(bytes(2**20))",
        "kept = [open(str(i), 'wb', 0) for i in range(8)]\n"
        "for i, file in enumerate(kept): os.unlink(str(i)); file.write(bytes(2**20))",
        "kept = []\nfor i in range(8):\n    with open(str(i), 'w+b') as file:\n        os.unlink(str(i))\n"
        "        os.posix_fallocate(file.fileno(), 0, 2**20)\n        kept.append(mmap.mmap(file.fileno(), 2**20))\n"
        "    kept[-1][:] = bytes(2**20)",
        "os.makedirs('a/b/c')\nfor i in range(8): open(f'a/b/c/{i}', 'wb').write(bytes(2**20))",
    ],
    ids=["files", "without a name", "mapped", "in folders"],
)
def test_all_files_together_are_limited(fill: str, walls: Walls) -> None:
    outcome = run_program(f"import mmap, os\n{fill}", LIMITS, walls)
    assert outcome.startswith(("failed: OSError: [Errno 28]", "failed: it wrote more than 4 MB")) or (
        "mmap" in fill and outcome.startswith("failed: ")  # it is killed
    ), outcome


def test_a_program_that_closes_its_report_is_watched_all_the_same(walls: Walls) -> None:
    program = (
        "import os, time\nos.closerange(3, 100)\nfor i in range(8): open(str(i), 'wb').write(bytes(2**20))\n"
        "time.sleep(60)"
    )
    outcome = run_program(program, LIMITS, walls)
    expected = "failed: it wrote more than 4 MB" if walls.name == "limits" else "failed: it ended"  # its disk is full
    assert outcome.startswith(expected), outcome


WITHOUT_A_FIRST_THREAD = """\
import ctypes, os, sys, threading, time
def go_on():
    while not open(f"/proc/{os.getpid()}/statm").read().startswith("0 "):
        time.sleep(0.01)
    file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
    os.unlink(sys.argv[1])
    kept = bytes(8 * 2**20)
    os.write(file, kept)
    print(flush=True)
    time.sleep(60)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
"""


@pytest.mark.parametrize(
    ("memory_mb", "disk_mb", "expected"),
    [
        (4, 512, "it used more than 4 MB of memory"),
        (512, 4, "it wrote more than 4 MB or 10,000 files"),
        (512, 512, ""),
    ],
)
def test_threads_that_outlive_the_first_are_watched(memory_mb: int, disk_mb: int, expected: str) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as folder,  # no disk, which would count what is written
        subprocess.Popen(
            [sys.executable, "-c", WITHOUT_A_FIRST_THREAD, f"{folder}/file"], stdout=subprocess.PIPE
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        exceeded = code_use.excess(process.pid, Path(folder), memory_mb, disk_mb)
        process.kill()
    assert exceeded == expected


def test_so_is_their_number(walls: Walls, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (code_process, code_use):
        monkeypatch.setattr(module, "N_ENTRIES", 100)
    outcome = run_program("for i in range(110): open(str(i), 'w').close()\nimport time; time.sleep(9)", LIMITS, walls)
    assert outcome.startswith(("failed: OSError: [Errno 28]", "failed: it wrote more than 4 MB or 100 files")), outcome


def test_folders_in_folders_do_not_break_us(walls: Walls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    deep = "import os\nfor _ in range(1100):\n    os.mkdir('a' * 9)\n    os.chdir('a' * 9)"
    outcome = run_program(deep, LIMITS, walls)
    assert outcome == PASSED or outcome.startswith("failed: it wrote"), outcome
    assert os.listdir(tmp_path) == []


AT_OTHERS = [
    "os.kill({number}, 0)",
    "os.kill(-1, 0)",
    "resource.prlimit({number}, resource.RLIMIT_NOFILE, (9, 9))",
    "os.sched_setaffinity({number}, [0])",
    "os.setpriority(os.PRIO_PROCESS, {number}, 19)",
    "assert not libc.ptrace(16, {number}, 0, 0)",
    "open('/proc/{number}/mem', 'r+b')",
    "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, {number})",
    "assert libc.syscall(434, {number}, 0) >= 0  # pidfd_open",
    "assert not libc.prctl(1, 0)",
    "assert not libc.prctl(4, 0)",
    "assert not libc.unshare(0x10000000)",
    "os.setpriority(os.PRIO_USER, 0, 19)",
]


def test_other_processes_are_left_alone(walls: Walls) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        attacks = [attack.format(number=other.pid) for attack in AT_OTHERS]
        assert run_program(ATTACKS % attacks, LIMITS, walls) == PASSED
        assert other.poll() is None


def test_it_may_ask_for_its_own_priority(walls: Walls) -> None:
    assert run_program("import os\nassert os.nice(0) <= os.nice(1)", LIMITS, walls) == PASSED


def test_it_may_signal_itself(walls: Walls) -> None:
    program = "import os, signal\ngot = []\nsignal.signal(10, lambda *a: got.append(1))\nos.kill(os.getpid(), 10)\n"
    assert run_program(program + "signal.raise_signal(10)\nassert got == [1, 1]", LIMITS, walls) == PASSED


def test_no_server_of_this_machine_can_be_reached_through_its_file(walls: Walls) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{folder}/s")
        server.listen()
        attacks = [
            f"import socket\nsocket.socket(socket.AF_UNIX).connect('{folder}/s')",
            "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
            "import socket\nsocket.socketpair(type=socket.SOCK_DGRAM)",
        ]
        assert run_program(ATTACKS % attacks, LIMITS, walls) == PASSED


def test_a_loop_of_events_needs_no_server(walls: Walls) -> None:
    program = "import asyncio\nasync def f(): return 3\nassert asyncio.run(f()) == 3"
    assert run_program(program, LIMITS, walls) == PASSED


def test_root_gives_up_its_rights(walls: Walls) -> None:
    program = (
        "import ctypes\nheld = (ctypes.c_uint32 * 6)()\n"
        "ctypes.CDLL(None).capget((ctypes.c_uint32 * 2)(0x20080522), held)\n"
        "assert list(held) in ([0] * 6, [4, 4, 0, 0, 0, 0]), list(held)"
    )
    assert run_program(program, LIMITS, walls) == PASSED


def test_threads_are_limited_for_root_too(walls: Walls) -> None:
    bomb = (
        "import threading, time\nthreading.stack_size(65536)\n"
        "for _ in range(2000): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\ntime.sleep(9)"
    )
    outcome = run_program(bomb, CodeLimits(2.0, memory_mb=4096), walls)
    assert outcome.startswith(("failed: RuntimeError: can't start new thread", "failed: it started too many")), outcome


FAMILY = """\
import os, time
for _ in range(3):
    if not os.fork():
        kept = b"x" * (100 * 2**20)
        break
time.sleep(60)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other system says what processes use")
def test_the_memory_of_a_whole_family_counts(walls: Walls, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no filter keeps a program from starting processes."""
    monkeypatch.setattr(code_process, "filter_of", lambda rules: [])
    outcome = run_program(FAMILY, CodeLimits(timeout_s=15.0, memory_mb=250), walls)
    assert outcome == "failed: it used more than 250 MB of memory"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc")
def test_no_child_outlives_its_program(walls: Walls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no filter keeps a program from starting processes."""
    monkeypatch.setattr(code_process, "filter_of", lambda rules: [])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # so that its processes are told from others
    program = "import os, time\nif not os.fork():\n    time.sleep(60)\nos._exit(0)"
    assert run_program(program, CodeLimits(0.3, memory_mb=512), walls) != PASSED
    for path in Path("/proc").glob("[0-9]*/cwd"):
        if _link(path).startswith(str(tmp_path)):  # it is killed, and may not be gone yet
            with suppress(ProcessLookupError):
                assert select.select([os.pidfd_open(int(path.parent.name))], [], [], 30)[0], "it lives on"


SLEEPS = """\
import sys, tempfile
from polymeter.metrics.code_process import CodeLimits, run_program
from polymeter.metrics.code_walls import ALL_WALLS
tempfile.tempdir = sys.argv[2]
(walls,) = (walls for walls in ALL_WALLS if walls.name == sys.argv[1])
program = "import time\\nopen('begun', 'w').close()\\nwhile True: time.sleep(60)"
run_program(program, CodeLimits(timeout_s=600.0, memory_mb=512), walls)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc")
def test_a_program_that_sleeps_ends_with_whoever_runs_it(walls: Walls, tmp_path: Path) -> None:
    words = [sys.executable, "-c", SLEEPS, walls.name, str(tmp_path)]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(Path(polymeter.__file__).parents[1])}) as run:
        while not (inside := _begun_in(tmp_path)):
            assert run.poll() is None
        run.kill()
    for number in inside:
        with suppress(ProcessLookupError):
            assert select.select([os.pidfd_open(number)], [], [], 30)[0], "it lives on"


def _begun_in(folder: Path) -> list[int]:
    """The processes in a folder, once a program there has begun."""
    found = [path for path in Path("/proc").glob("[0-9]*/cwd") if _link(path).startswith(str(folder))]
    return [int(path.parent.name) for path in found] if any((path / "begun").exists() for path in found) else []


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000


def verdict(rules: Sequence[Rule], machine: str, architecture: str, number: int, *arguments: int) -> str | int:
    """What a filter says of a system call: ``allowed``, ``killed`` or the error."""
    program, at, value = filter_of(rules, machine), 0, 0
    seen = {0: number, 4: ARCHITECTURES[architecture]} | {16 + 8 * i: given for i, given in enumerate(arguments)}
    while True:
        code, yes, no, k = program[at]
        operand = os.getpid() if k == OWN_PROCESS else int(k)
        at += 1
        if code == 0x20:
            value = seen.get(operand, 0)
        elif code == 0x54:
            value &= operand
        elif code in (0x15, 0x35):
            at += yes if (value == operand if code == 0x15 else value >= operand) else no
        else:
            assert code == 0x06
            return {ALLOWED: "allowed", KILLED: "killed"}.get(operand, operand & 0xFFFF)


@pytest.mark.parametrize(
    ("rules", "machine", "number", "arguments", "expected", "why"),
    [
        (NO_ATTRIBUTES, "x86_64", 90, (), 0, "chmod seems to succeed"),
        (NO_ATTRIBUTES, "aarch64", 90, (), "allowed", "capget there"),
        (NO_ATTRIBUTES, "aarch64", 53, (), 0, "fchmodat"),
        (NO_ATTRIBUTES, "riscv64", 88, (0, 0, 4096), 0, "utimensat"),
        (NO_ATTRIBUTES, "riscv64", 88, (0, 4096, 0), 1, "utimensat, now"),
        (NO_ATTRIBUTES, "x86_64", 235, (0, 4096), 1, "utimes"),
        (ALONE, "aarch64", 56, (0, 0, 0o1000), 1, "openat, for reading, emptied"),
        (ALONE, "aarch64", 56, (0, 0, 0o1001), "allowed", "openat, for writing, emptied: Landlock rules"),
        (ALONE, "aarch64", 56, (0, 0, 0o1003), 1, "openat, neither to read nor to write, emptied: it does not"),
        (ALONE, "x86_64", 2, (0, 0o3), 1, "open, the same"),
        (ALONE, "x86_64", 2, (0, 0o2000000), "allowed", "open, for reading"),
        (ALONE, "x86_64", 76, (), 1, "truncate"),
        (ALONE, "x86_64", 188, (), 1, "setxattr"),
        (ALONE, "x86_64", 16, (0, 0x40086602), 1, "ioctl, flags of a file"),
        (ALONE, "x86_64", 16, (0, 0x8901), 1, "ioctl, owner of a file"),
        (ALONE, "x86_64", 16, (0, 0x5401), "allowed", "ioctl of a terminal"),
        (ALONE, "aarch64", 140, (0, 0, 5), "allowed", "setpriority, its own"),
        (ALONE, "aarch64", 140, (0, 1, 5), 1, "setpriority, of another process"),
        (ALONE, "aarch64", 140, (2, 0, 5), 1, "setpriority, of the user"),
        (ALONE, "aarch64", 220, (0x3D0B00,), 1, "clone of a thread with open files of its own"),
        (NO_ATTRIBUTES, "x86_64", 452, (), 38, "fchmodat2"),
        (ALONE, "x86_64", 90, (), "allowed", "chmod"),
        (ALONE, "x86_64", 57, (), 1, "fork"),
        (ALONE, "aarch64", 57, (), "allowed", "close there"),
        (ALONE, "aarch64", 220, (0x3D0F00,), "allowed", "clone of a thread"),
        (ALONE, "aarch64", 220, (17,), 1, "clone of a process"),
        (ALONE, "x86_64", 435, (), 38, "clone3"),
        (ALONE, "x86_64", 0x40000000 + 56, (0x10000,), 38, "clone of x32"),
        (ALONE, "aarch64", 279, (), 1, "memfd_create"),
        (ALONE, "aarch64", 129, (os.getpid(), 9), "allowed", "kill, itself"),
        (ALONE, "aarch64", 129, (1, 9), 3, "kill"),
        (ALONE, "aarch64", 261, (0, 9), "allowed", "prlimit64, its own"),
        (ALONE, "aarch64", 261, (1, 9), 1, "prlimit64"),
        (ALONE, "aarch64", 199, (1, 0x80001), "allowed", "socketpair of streams, closed on exec"),
        (ALONE, "aarch64", 199, (1, 2), 1, "socketpair of datagrams"),
        (ALONE, "x86_64", 285, (), 95, "fallocate"),
        (ALONE, "x86_64", 0, (), "allowed", "read"),
    ],
)
def test_the_filter_knows_each_machine(
    rules: Sequence[Rule], machine: str, number: int, arguments: tuple[int, ...], expected: str | int, why: str
) -> None:
    assert verdict(rules, machine, machine, number, *arguments) == expected, why


def test_calls_of_another_machine_kill_and_an_unknown_machine_has_no_filter() -> None:
    assert verdict(ALONE, "x86_64", "aarch64", 0) == "killed"
    assert filter_of(ALONE, "s390x") == []


def test_without_a_filter_the_words_say_what_it_kept() -> None:
    bare = Walls("limits").with_what_was_found({"landlock": True, "filter": False, "mounts": False})
    assert bare.words == (
        "with limits of time, memory, files and processes, some of them for each process alone, "
        "but it can reach your files, the network and your processes"
    ), "Landlock does not keep modes, times and attributes"
    full = Walls("limits").with_what_was_found({"landlock": True, "filter": True, "mounts": False})
    assert full.words == (
        "in a process of its own, without network or your files, with limits of time, memory, files and processes"
    )
    read = Walls("namespaces", has_no_network=True, has_own_processes=True)
    assert not read.with_what_was_found({"landlock": False, "filter": True, "mounts": True}).has_own_files
