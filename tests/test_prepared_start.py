"""A command that the tests start by a fork is what a fresh one is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.kit import COMMAND, capitals
from tests.helpers import prepared_start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="starts are forks on Linux alone")
RUN = ("run", "--model", "mock", "--tasks", "capitals.yaml", "--quiet", "--output")


@pytest.fixture
def popen(pytestconfig: pytest.Config) -> type[prepared_start.Popen]:
    if pytestconfig.getoption("--fresh-processes"):
        pytest.skip("no start is a fork")
    return prepared_start.Popen


def test_it_is_a_fork_and_says_and_writes_what_a_fresh_process_does(
    popen: type[prepared_start.Popen], tmp_path: Path
) -> None:
    home = capitals(tmp_path / "home")
    told = []
    for start in (popen, prepared_start.REAL_POPEN):
        name = "fork" if start is popen else "real"
        process = start([*COMMAND, *RUN, name], cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        is_fork = b"prepared_process" in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert is_fork == (start is popen)
        said, complained = process.communicate(timeout=60)
        told.append(
            (process.returncode, said.replace(name, ""), complained, (home / name / "results.json").read_bytes())
        )
    assert told[0] == told[1]


def test_an_error_has_its_exit_code_and_its_stream(popen: type[prepared_start.Popen], tmp_path: Path) -> None:
    process = popen([*COMMAND, "run", "--nonsense"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said, complained = process.communicate(timeout=60)
    assert (process.returncode, said) == (2, b"")
    assert b"No such option" in complained


def test_it_is_stopped_and_killed_as_a_child_is(popen: type[prepared_start.Popen], tmp_path: Path) -> None:
    home = capitals(tmp_path / "home")
    assert popen([*COMMAND, *RUN, "run"], cwd=home, stdout=subprocess.DEVNULL).wait(60) == 0
    words = [*COMMAND, "view", str(home), "--no-open"]
    # Ctrl-C before it serves is an interrupt, and the way to end it afterwards.
    for number, codes in ((signal.SIGINT, {0, 130}), (signal.SIGKILL, {-9})):
        with popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as process:
            assert process.stdout is not None
            assert b"http://" in process.stdout.readline()
            assert os.getsid(process.pid) == process.pid
            process.send_signal(number)
            assert process.wait(60) in codes


def test_another_environment_of_imports_starts_afresh(popen: type[prepared_start.Popen], tmp_path: Path) -> None:
    for environment, is_fork in (({"PYTHONHASHSEED": "7"}, False), ({"SOME_KEY": "7"}, True)):
        with popen([*COMMAND, "--version"], env={**os.environ, **environment}, stdout=subprocess.PIPE) as process:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert (b"prepared_process" in line) == is_fork
            assert process.communicate(timeout=60)[0].startswith(b"polymeter ")


def test_a_folder_that_is_not_there_is_an_error_of_the_start(popen: type[prepared_start.Popen], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        popen([*COMMAND, "--version"], cwd=tmp_path / "nowhere")


def test_a_python_with_another_way_to_start_children_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: object, words: object) -> None:
        """Another private method of the same name."""

    another = type("Popen", (), {"_execute_child": start})
    for real in (another, type("Popen", (), {})):
        monkeypatch.setattr(subprocess, "Popen", real)
        monkeypatch.setattr(prepared_start, "REAL_POPEN", real)
        prepared_start.install()
        assert subprocess.Popen is real


def test_what_tests_leave_in_the_environment_is_undone(
    popen: type[prepared_start.Popen], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_LEFT_BY_A_GUEST", "1")
    monkeypatch.setenv("LEFT_FOR_OTHERS", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    prepared_start.restore_environment()
    assert "HF_LEFT_BY_A_GUEST" not in os.environ
    assert (os.environ["LEFT_FOR_OTHERS"], os.environ["HF_HUB_OFFLINE"]) == ("1", "1")
