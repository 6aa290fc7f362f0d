"""Shell completion: commands, options, models and tasks, without importing anything heavy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from polymeter.cli.completion import model_names, task_names


def completed(line: str) -> list[str]:
    """What bash is offered for the last word of a line."""
    done = subprocess.run(
        [sys.executable, "-m", "polymeter"],
        env={
            **os.environ,
            "_POLYMETER_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split(" ")) - 1),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("polymeter ver", ["verify"]),
        ("polymeter run --gen-kw", ["--gen-kwargs"]),
        ("polymeter run --model tiny", ["tiny_vlm"]),
        ("polymeter run --model ocr --tasks demo_sig", ["demo_signs"]),
    ],
)
def test_the_shell_is_offered_what_fits(line: str, offered: list[str]) -> None:
    assert completed(line) == offered


def test_models_and_tasks_come_with_a_line_about_each() -> None:
    assert dict(model_names("o")).keys() >= {"ocr", "openai"}
    assert all(summary for _, summary in model_names(""))
    assert dict(task_names("demo_si")) == {"demo_signs": "Signs"}


def test_the_last_name_of_a_list_is_completed() -> None:
    assert [name for name, _ in task_names("demo_page,demo_sc")] == ["demo_page,demo_scripts"]
    assert list(task_names("./mine/")) == [], "files are the shell's own business"
