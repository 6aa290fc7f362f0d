"""One server as a child process: its log, its exit code, and its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from polymeter.models.served import process as module
from polymeter.models.served.process import ServerProcess, free_ports

WAIT_S = 20


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ServerProcess]]:
    """Starts programs, and stops them."""
    monkeypatch.setattr(module, "GRACE_S", 0.5)
    started: list[ServerProcess] = []

    def start(code: str, *command: str, **environment: str) -> ServerProcess:
        words = command or (sys.executable, "-c", code)
        server = ServerProcess(words, free_ports(1)[0], tmp_path / "logs" / "server.log", environment)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.stop()


def soon(is_so: Callable[[], bool]) -> bool:
    pause, deadline = threading.Event(), time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.02)
    return True


def test_it_is_not_running_before_it_is_started(tmp_path: Path) -> None:
    server = ServerProcess(["x"], 1, tmp_path / "x.log", {})
    assert (server.exit_code, server.lines(), server.is_port_taken) == (None, [], False)
    server.stop()


def test_what_it_prints_is_kept_and_its_end_is_shown_plainly(make: Callable[..., ServerProcess]) -> None:
    code = (
        "import sys\n"
        "print('\\x1b[31mred\\x1b[0m')\n"
        "print('loading: 1 %\\rloading: 100 %')\n"
        "print()\n"
        "print('a bell \\x07 and a key sk-abcdefghijklmnopqrstuvwx', file=sys.stderr)\n"
        "sys.exit(4)\n"
    )
    server = make(code)
    assert soon(lambda: server.exit_code == 4), server.exit_code
    lines = server.lines()
    assert lines[:2] == ["red", "loading: 100 %"]
    assert lines[2].startswith("a bell  and a key ")
    assert server.lines(1) == lines[2:]


def test_only_what_was_printed_since_the_start_is_shown(make: Callable[..., ServerProcess], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log").write_text("of an earlier part\n", encoding="utf-8")
    server = make("print('now')")
    assert soon(lambda: server.exit_code == 0)
    assert server.lines() == ["now"]
    assert "of an earlier part" in server.log.read_text(encoding="utf-8"), "nothing is thrown away"


def test_a_program_that_is_not_there_says_so_in_the_log(make: Callable[..., ServerProcess]) -> None:
    server = make("", "/no/such/program", "--serve")
    assert soon(lambda: server.exit_code == 127)
    assert "/no/such/program cannot be started" in server.lines()[-1]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no signals here")
def test_a_program_that_a_signal_ended_has_the_shell_s_exit_code(make: Callable[..., ServerProcess]) -> None:
    server = make("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert soon(lambda: server.exit_code == 128 + signal.SIGSEGV), server.exit_code


def test_it_sees_its_own_environment_and_no_key_of_a_server(
    make: Callable[..., ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "secret")
    names = "CUDA_VISIBLE_DEVICES", "VLLM_API_KEY"
    server = make(f"import os; print([os.environ.get(name) for name in {names}])", CUDA_VISIBLE_DEVICES="3")
    assert soon(lambda: server.exit_code == 0)
    assert server.lines() == ["['3', None]"]


@pytest.mark.parametrize(
    "line",
    [
        "OSError: [Errno 98] Address already in use",
        "[Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use",
        "main: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080",
    ],
)
def test_a_port_that_is_taken_is_known_by_what_servers_say(make: Callable[..., ServerProcess], line: str) -> None:
    server = make(f"print({line!r})")
    assert soon(lambda: server.exit_code == 0)
    assert server.is_port_taken


def test_free_ports_are_different() -> None:
    assert len(set(free_ports(8))) == 8
