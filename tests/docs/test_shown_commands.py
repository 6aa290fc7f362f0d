"""Commands that are only shown, since they need a key, a GPU or hours, are commands: their flags and targets exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache

import pytest

from tests.helpers.guides import DOCS, ROOT, blocks, shell_lines

PAGES = (
    *sorted(path.name for path in DOCS.glob("*.md")),
    "../README.md",
    "../CONTRIBUTING.md",
)
_SYSTEMS = {
    "lmms-eval": "lmms_eval",
    "lm-eval": "lm_eval",
    "evalscope": "evalscope",
    "ulmeval": "ulmeval",
    "vlmeval": "ulmeval",
}
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


@pytest.mark.parametrize("page", [page for page in PAGES if any(not block.is_run for block in blocks(page))])
def test_a_command_that_is_shown_has_its_flags(page: str) -> None:
    for block in blocks(page):
        if block.is_run or block.title:
            continue
        if block.body.startswith("run_task("):
            ast.parse(block.body)
        for line in shell_lines(block.body):
            if line.startswith("polymeter "):
                command = line.split()[1]
                assert set(_FLAG.findall(line)) <= flags_of(command), line


@pytest.mark.parametrize("page", PAGES)
def test_a_target_that_is_shown_is_one_of_make(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for block in blocks(page):
        for line in block.body.splitlines():
            if line.startswith("make "):
                assert set(re.findall(r"\bmake ([a-z][\w-]*)", line.partition("#")[0])) <= targets, line


@pytest.mark.parametrize(
    ("section", "command"),
    [
        pytest.param("lmms-eval", "lmms-eval", marks=pytest.mark.needs_system("lmms_eval")),
        pytest.param("lm-eval", "lm-eval", marks=pytest.mark.needs_system("lm_eval")),
        pytest.param("EvalScope", "evalscope", marks=pytest.mark.needs_system("evalscope")),
        pytest.param("ULMEvalKit", "ulmeval", marks=pytest.mark.needs_system("ulmeval")),
    ],
)
def test_the_flags_side_by_side_are_flags(section: str, command: str) -> None:
    text = (DOCS / "coming-from.md").read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert rows
    for their, our, _ in rows:
        assert set(_FLAG.findall(their)) <= flags_of(command)
        assert set(_FLAG.findall(our)) <= flags_of("run")


@cache
def flags_of(command: str) -> set[str]:
    """The flags of a command of Polymeter, or of what a system evaluates with."""
    evaluates = {"ulmeval": "run", "vlmeval": "run", "lm-eval": "run"}.get(command, "eval")
    words = [command, evaluates] if command in _SYSTEMS else [command]
    done = subprocess.run(
        [sys.executable, "-m", "polymeter", *words, "--help"], capture_output=True, text=True, check=False
    )
    if done.returncode and command in _SYSTEMS:
        pytest.skip(f"{command} is not there")
    assert done.returncode == 0, done.stderr
    return set(_FLAG.findall(done.stdout))
