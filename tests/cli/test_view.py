"""``polymeter view``: what it says before it starts, and that it can be ended."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from polymeter.cli.main import main
from tests.helpers.viewed_runs import sample, write_run


@pytest.fixture
def runs(tmp_path):
    write_run(tmp_path / "runs" / "first", [sample(0)])
    return tmp_path / "runs"


def test_a_folder_without_runs(tmp_path, capsys):
    assert main(["view", str(tmp_path / "nothing"), "--no-open"]) == 2
    told = capsys.readouterr().err
    assert "No run was found in" in told
    assert "polymeter run" in told


def test_a_port_that_is_taken(runs, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["view", str(runs), "--no-open", "--port", str(taken.getsockname()[1])]) == 2
    told = capsys.readouterr().err
    assert "cannot listen" in told
    assert "Leave --port out" in told


def test_an_address_of_another_machine(runs, capsys):
    assert main(["view", str(runs), "--no-open", "--host", "192.0.2.7"]) == 2
    assert "cannot listen at 192.0.2.7" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_a_missing_package_names_the_extra(runs, capsys, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.applications", None)
    assert main(["view", str(runs), "--no-open"]) == 2
    told = capsys.readouterr().err
    assert f"The package {package!r}" in told
    assert "[viewer]" in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_end(runs, number):
    command = [sys.executable, "-m", "polymeter", "view", str(runs), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        address = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())[0]
        with urllib.request.urlopen(address) as answer:
            assert "first" in answer.read().decode()
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors == ""


def test_an_address_for_others_has_a_token(runs):
    command = [sys.executable, "-m", "polymeter", "view", str(runs), "--no-open", "--host", "0.0.0.0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert re.search(r"/\?token=[\w-]{20,}$", line.strip())
