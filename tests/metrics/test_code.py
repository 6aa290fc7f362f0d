"""Generated code: what passes, what does not, and what a hostile program cannot do."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.children import child
from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.names.registries import METRICS
from polymeter.metrics import code, code_process
from polymeter.metrics.code_process import (
    EXITED,
    PASSED,
    TIMED_OUT,
    CodeLimits,
    run_program,
    run_script,
    usable_walls,
)
from polymeter.metrics.code_walls import ALL_WALLS, Walls, is_installed

FORGED = """\
import os
for fd in range(3, 30):
    try: os.write(fd, b'{"outcome": "passed"}\\n')
    except OSError: pass
assert False
"""
LIMITS = CodeLimits(timeout_s=1.0, memory_mb=512)
SLOW = pytest.mark.slow


def _usable(walls: Walls) -> bool:
    if not is_installed(walls):
        return False
    try:
        return run_program("", LIMITS, walls) == PASSED
    except ScoreError:
        return False


HERE = [walls for walls in ALL_WALLS if _usable(walls)]


@pytest.fixture(params=HERE, ids=lambda walls: walls.name)
def walls(request: pytest.FixtureRequest) -> Walls:
    """Each kind of walls that works on this machine."""
    found: Walls = request.param
    return found


@pytest.fixture
def allowed() -> Iterator[None]:
    with guest_context_with(allows_generated_code=True):
        yield


@pytest.mark.parametrize(
    ("n", "passed", "k"), [(1, 0, 1), (1, 1, 1), (10, 3, 1), (10, 3, 5), (10, 3, 8), (200, 7, 100)]
)
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(n: int, passed: int, k: int) -> None:
    exact = 1 - comb(n - passed, k) / comb(n, k)
    assert code.pass_at_k(n, passed, k) == pytest.approx(exact, abs=1e-12), "1 - C(n-c, k) / C(n, k)"


def test_pass_at_k_needs_k_attempts() -> None:
    with pytest.raises(ValueError, match="at least 5 attempts, and there are 4"):
        code.pass_at_k(4, 1, 5)


@pytest.mark.parametrize(
    ("program", "outcome"),
    [
        ("def add(a, b):\n    return a + b\nassert add(2, 3) == 5", PASSED),
        ("assert 1 + 1 == 3, 'sums'", "failed: AssertionError: sums"),
        ("def add(a, b) return a", "failed: SyntaxError"),
        ("input()", "failed: EOFError"),
        ("import sys; sys.exit(0)", "failed: SystemExit: 0"),
        ("open('mine.txt', 'w').write('x'); assert open('mine.txt').read() == 'x'", PASSED),
        ("import os; assert os.listdir('.') == []", PASSED),
        ("assert __name__ != '__main__'", PASSED),
        ("x = '\ud800'", "failed: SyntaxError"),
    ],
)
def test_a_program_passes_if_it_runs_to_its_end(program: str, outcome: str, walls: Walls) -> None:
    assert run_program(program, LIMITS, walls).startswith(outcome)


@pytest.mark.parametrize(
    "trick",
    [
        "import os; os._exit(0)",
        "print('passed'); import os; os._exit(0)",
        FORGED,
        'import json, os, sys\njson.dumps = lambda *a, **k: \'{"outcome": "passed"}\'\nos.write = os._exit = None\n'
        "sys.modules.clear()\nassert False",
        "import builtins\nbuiltins.exec = builtins.compile = lambda *a: None\nraise AssertionError",
        "class Sly(Exception):\n    def __str__(self): raise SystemExit\nraise Sly",
        "import sys\nsys.settrace(lambda *a: None)\nsys.excepthook = lambda *a: None\nassert False",
        "import atexit, os\natexit.register(lambda: os._exit(0))\nassert False",
    ],
)
def test_no_trick_makes_a_failure_a_success(trick: str, walls: Walls) -> None:
    outcome = run_program(trick, LIMITS, walls)
    assert outcome.startswith("failed"), outcome


@SLOW
def test_an_endless_program_is_ended_by_its_processor_time(walls: Walls) -> None:
    assert run_program("while True: pass", LIMITS, walls) == TIMED_OUT


def test_a_sleeping_program_is_ended_by_the_clock() -> None:
    assert run_program("import time; time.sleep(60)", CodeLimits(0.3)) == TIMED_OUT


@pytest.mark.parametrize(
    "program",
    [
        "import os, time\nos.closerange(3, 100)\ntime.sleep(60)",
        "import os, time\nfor fd in range(3, 30):\n    try: os.write(fd, b'x' * 100_000)\n    except OSError: pass\n"
        "time.sleep(60)",
    ],
)
def test_a_program_that_spoils_its_report_does_not_hold_us_up(program: str) -> None:
    outcome = run_program(program, CodeLimits(0.3))
    assert outcome == TIMED_OUT or outcome.startswith("failed"), outcome


def test_memory_and_files_are_limited(walls: Walls) -> None:
    assert run_program("x = bytearray(10 * 2**30)", LIMITS, walls) == "failed: MemoryError"
    large = run_program("open('a', 'wb').write(bytes(100 * 2**20))", LIMITS, walls)
    assert large.startswith("failed: OSError"), large


def test_a_flood_of_output_reaches_nobody(walls: Walls, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_program("for _ in range(1000): print('x' * 10_000)", LIMITS, walls) == PASSED
    assert capfd.readouterr() == ("", "")


@SLOW
def test_a_fork_bomb_ends_and_leaves_nothing(walls: Walls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # so that its processes are told from other tests'
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    outcome = run_program(bomb, LIMITS, walls)
    assert outcome == TIMED_OUT or outcome.startswith("failed"), outcome
    if walls.has_own_processes:
        left = [path for path in Path("/proc").glob("[0-9]*/cwd") if _link(path).startswith(str(tmp_path))]
        assert left == [], "its children are gone with it"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no other system can forbid it")
@pytest.mark.parametrize(
    "start", ["os.fork()", "subprocess.run(['true'])", "os.posix_spawn('/bin/true', ['true'], {})"]
)
def test_a_program_starts_no_process(start: str, walls: Walls) -> None:
    outcome = run_program(f"import os, subprocess\n{start}", LIMITS, walls)
    assert outcome.startswith("failed: PermissionError"), outcome


def test_a_program_starts_threads(walls: Walls) -> None:
    program = (
        "from concurrent.futures import ThreadPoolExecutor\nassert sum(ThreadPoolExecutor(3).map(int, '123')) == 6"
    )
    assert run_program(program, LIMITS, walls) == PASSED


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


@pytest.mark.skipif(not usable_walls().has_own_files, reason="this system hides no files")
def test_the_users_files_cannot_be_read_or_written(tmp_path: Path, walls: Walls) -> None:
    secret, target = tmp_path / "secret.txt", tmp_path / "written.txt"
    secret.write_text("secret")
    read = run_program(f"assert open({str(secret)!r}).read() != 'secret'", LIMITS, walls)
    assert read.startswith(("failed: FileNotFoundError", "failed: PermissionError")), read
    assert run_program(f"open({str(target)!r}, 'w').write('x')", LIMITS, walls).startswith("failed")
    assert not target.exists()


def test_secrets_of_the_environment_are_not_passed_on(monkeypatch: pytest.MonkeyPatch, walls: Walls) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    program = "import os\nassert not [name for name, value in os.environ.items() if 'secret' in value]"
    assert run_program(program, LIMITS, walls) == PASSED
    parent = run_program(f"open('/proc/{os.getpid()}/environ').read()", LIMITS, walls)
    assert not usable_walls().has_own_files or parent.startswith("failed"), "nor can they be read from our process"


@pytest.mark.skipif(not usable_walls().has_no_network, reason="this system cannot take the network away")
def test_there_is_no_network() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        program = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), timeout=1)"
        outcome = run_program(program, LIMITS)
    assert outcome.startswith("failed: "), outcome


@pytest.mark.skipif(not usable_walls().has_own_processes, reason="this system hides no processes")
def test_our_process_cannot_be_killed() -> None:
    assert run_program(f"import os; os.kill({os.getpid()}, 9)", LIMITS).startswith("failed: ProcessLookupError")
    run_program("import os; os.kill(os.getppid(), 9)", LIMITS)
    assert run_program("", LIMITS) == PASSED, "we are still here, and so are the walls"


def test_a_process_that_cannot_start_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_process.sys, "executable", "/nowhere/python")
    with pytest.raises(ScoreError, match="could not be started"):
        run_program("", LIMITS, Walls("limits"))
    with pytest.raises(ScoreError, match="could not be started"):
        run_program("", LIMITS, HERE[0])


def test_a_process_that_is_gone_before_it_is_told_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*words: Any, **settings: Any) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(*words, **settings)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return process

    monkeypatch.setattr(code_process.sys, "executable", shutil.which("true"))
    monkeypatch.setattr(child, "subprocess", SimpleNamespace(**vars(subprocess) | {"Popen": gone}))
    with pytest.raises(ScoreError, match="could not be started"):
        run_program("", LIMITS, Walls("limits"))


def test_words_say_what_can_be_reached() -> None:
    assert "it can reach your files, the network and your processes" in Walls("limits").words
    assert "without network or your files" in ALL_WALLS[0].words


@pytest.mark.usefixtures("allowed")
def test_code_eval_gives_what_the_package_evaluate_gives() -> None:
    tests = ["assert add(2, 3) == 5", "assert f() == 1"]
    attempts = [["def add(a, b): return a * b", "def add(a, b): return a + b"], ["def f(): return 1"] * 2]
    values, told = code.code_eval(tests, attempts, k=[1, 2, 10])
    assert values == {"pass@1": 0.75, "pass@2": 1.0}, "k beyond the attempts has no value"
    assert told[0][0] == (
        0,
        {"task_id": 0, "passed": False, "result": "failed: AssertionError", "completion_id": 0},
    )
    assert [one["passed"] for _, one in told[1]] == [True, True]


@pytest.mark.usefixtures("allowed")
def test_the_metric_takes_all_answers_of_a_sample() -> None:
    score = METRICS.get("pass@5").score
    assert score is not None
    answers = ["def f(): return 1", *["def f(): return 2"] * 9]
    assert score(references=["assert f() == 1"], predictions=answers) == pytest.approx(0.5), "5 of 10 draws"
    with pytest.raises(ScoreError, match="at least 5 answers"):
        score(references=["assert f() == 1"], predictions=answers[:4])


def test_nothing_runs_unless_it_is_allowed() -> None:
    with pytest.raises(PlanError, match="does not allow it"):
        code.code_eval(["assert True"], [["x = 1"]], k=1)


@pytest.mark.parametrize(
    ("program", "outcome", "output"),
    [
        ("print('a')\nprint('é', end='')", PASSED, "a\né"),
        ("if __name__ == '__main__': print('main')", PASSED, "main\n"),
        ("import sys\nprint('before')\nsys.exit()\nassert False", EXITED, "before\n"),
        ("import sys\ndef run(): print('in'); sys.exit(0)\nrun()", EXITED, "in\n"),
        # The harness of a benchmark ends so, after all its tests.
        ("import sys\nok = True\nsys.exit(\n    0 if ok else 1\n)", PASSED, ""),
        ("import sys\nsys.exit(1)", "failed: SystemExit: 1", ""),
        ("import sys\nprint('before')\nsys.exit(3)", "failed: SystemExit: 3", "before\n"),
        ("print('x' * 50)", PASSED, "x" * 20),
        ("import os, sys\nos.write(1, b'raw')\nsys.stderr.write('unseen')\nsys.stdout.close()", PASSED, "raw"),
    ],
)
def test_a_scripts_output_is_kept(program: str, outcome: str, output: str, walls: Walls) -> None:
    assert run_script(program, LIMITS, 20, walls) == (outcome, output)
