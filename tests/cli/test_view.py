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


def test_a_bundle_says_where_it_is_and_how_to_serve_it(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["view", str(runs), "--bundle", "site"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"The bundle is in site \(1 run, \d+ files, [\d.]+ kB\)\.", told)
    assert "python -m http.server -d site" in told
    assert (tmp_path / "site/index.html").is_file()
    assert main(["view", str(runs), "--bundle", "site", "--limit-samples", "1", "--no-media", "--no-notes"]) == 0


def test_a_bundle_is_not_written_over_other_files(runs, tmp_path, capsys):
    assert main(["view", str(runs), "--bundle", str(runs)]) == 2
    assert "is not empty, and is not an earlier bundle" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--bundle", "site", "--port", "80"], "--port has no effect here: --bundle writes files"),
        (["--bundle", "site", "--token", "x"], "--token has no effect here: --bundle writes files"),
        (["--limit-samples", "3"], "--limit-samples has no effect here: it is an option of --bundle"),
        (["--no-media"], "--no-media has no effect here: it is an option of --bundle"),
        (["--no-notes"], "--no-notes has no effect here: it is an option of --bundle"),
    ],
)
def test_options_without_an_effect_are_refused(runs, tmp_path, capsys, monkeypatch, words, why):
    monkeypatch.chdir(tmp_path)
    assert main(["view", str(runs), "--no-open", *words]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
