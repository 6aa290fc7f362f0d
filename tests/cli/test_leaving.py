"""A process ends at once where nothing is lost by it, and as Python ends everywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

AT_ONCE, AS_USUAL = 3, 4
PROGRAM = """
import atexit, sys, threading
sys.path.insert(0, sys.argv[1])
from polymeter.cli.leaving import leave

def main():
    atexit.register(print, "registered")
    print("buffered")
    {before}
    leave(3)
    return 4

sys.exit({call})
"""


def run(folder: Path, before: str = "pass", call: str = "main()", options: tuple[str, ...] = ()) -> tuple[int, str]:
    """The exit code and the output of a program that asks to leave."""
    program = folder / "program.py"
    program.write_text(PROGRAM.format(before=before, call=call), encoding="utf-8")
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, *options, str(program), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=buffered)
    return done.returncode, done.stdout


def test_what_is_registered_is_called_and_what_is_buffered_written(tmp_path):
    assert run(tmp_path) == (AT_ONCE, "buffered\nregistered\n")


@pytest.mark.parametrize("name", ["helper", "_polymeter_guest_1"])
def test_what_others_code_left_open_is_written(tmp_path, name):
    (tmp_path / f"{name}.py").write_text(
        "from pathlib import Path\nfile = (Path(__file__).parent / 'left').open('w')\nfile.write('text')\n",
        encoding="utf-8",
    )
    assert run(tmp_path, f"import {name}")[0] == AS_USUAL
    assert (tmp_path / "left").read_text(encoding="utf-8") == "text"


def test_a_thread_is_waited_for(tmp_path):
    before = "threading.Timer(0.05, print, ['from a thread']).start()"
    assert run(tmp_path, before) == (AS_USUAL, "buffered\nfrom a thread\nregistered\n")


def test_who_calls_from_elsewhere_gets_the_code(tmp_path):
    wrapper = tmp_path / "wrapper.py"
    wrapper.write_text("def call(function):\n    return function()\n", encoding="utf-8")
    assert run(tmp_path, call="__import__('wrapper').call(main)")[0] == AS_USUAL


def test_who_measures_sees_the_end(tmp_path):
    assert run(tmp_path, options=("-m", "cProfile", "-o", str(tmp_path / "profile")))[0] != AT_ONCE
    assert (tmp_path / "profile").stat().st_size > 0
    assert run(tmp_path, "sys.settrace(lambda *_: None)")[0] == AS_USUAL


def test_an_output_that_is_gone_is_told_by_python(tmp_path):
    code, _ = run(tmp_path, "import os; os.close(1)")
    assert code not in {AT_ONCE, 0}


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["show", "no/such/run"], 2)])
def test_commands_exit_with_their_codes(arguments, code):
    done = subprocess.run([sys.executable, "-m", "polymeter", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stdout or done.stderr
