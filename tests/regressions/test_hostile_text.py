"""Text that others wrote controls no terminal, computes nothing in a spreadsheet and runs nothing in a browser; and a
task file calls no code but that of files and packages, whatever it names.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ESCAPES = ["\x1b]0;owned\x07", "\x1b[2J\x1b[31m", "\x9b31m", "\u202e", "\x08\x08", "\r"]
HOSTILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
TASK = """\
task: TASK
task_alias: ALIAS
tag: TAG
dataset_path: csv
dataset_kwargs: {data_files: {test: rows.csv}}
test_split: test
doc_to_text: TEXT
doc_to_target: capital
metric_list: [{metric: exact_match}]
"""


def polymeter(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=folder,
        env={**os.environ, "POLYMETER_CACHE_DIR": str(folder / "cache"), "COLUMNS": "300", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def write_task(folder: Path, name: str, **values: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "rows.csv").write_text("country,capital\nFrance,Paris\n")
    text = TASK
    for key, value in {"TASK": name, "ALIAS": name, "TAG": "tag", "TEXT": "{{country}}", **values}.items():
        is_tag = value.startswith("!function")
        text = text.replace(f": {key}\n", f": {value if is_tag else json.dumps(value)}\n")
    file = folder / f"{re.sub(r'[^a-z]', '', name) or 'task'}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.needs_system("lmms_eval")
def test_names_of_tasks_cannot_control_the_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    hostile = "evil" + "".join(ESCAPES[:4]) + "end"
    write_task(folder, hostile, TAG=f"tag{ESCAPES[0]}", TEXT=f"{{{{country}}}}{ESCAPES[1]}{ESCAPES[3]}")
    (folder / "broken.yaml").write_text(f"task: {json.dumps('x' + ESCAPES[0])}\ninclude: {json.dumps(ESCAPES[0])}\n")
    for words in (
        ["tasks", "--include-path", "tasks"],
        ["tasks", hostile, "--include-path", "tasks"],
        ["check", "tasks"],
        ["check", "tasks/evil.yaml", "--prompts", "1"],
        ["run", "--model", "mock", "--include-path", "tasks", "--tasks", f"no{ESCAPES[1]}"],
        ["run", "--model", f"no{ESCAPES[1]}", "--include-path", "tasks", "--tasks", "x"],
        ["lmms-eval", "tasks", "list", "--include_path", "tasks"],
        ["lmms-eval", "--tasks", "list", "--include_path", "tasks"],
    ):
        ended = polymeter(tmp_path, *words)
        assert not HOSTILE.search(ended.stdout), (words, ended.stdout)
        assert not HOSTILE.search(ended.stderr), (words, ended.stderr)


@pytest.mark.control
def test_a_run_of_hostile_names_prints_and_reports_them_as_text(tmp_path: Path) -> None:
    hostile = "evil<script>alert(1)</script>" + ESCAPES[1]
    file = write_task(tmp_path, hostile, TEXT=f"<img src=x onerror=alert(2)>{ESCAPES[1]}")
    ended = polymeter(tmp_path, "run", "--model", "mock", "--tasks", file.name, "--output", "out")
    assert ended.returncode == 0, ended.stderr
    assert not HOSTILE.search(ended.stdout + ended.stderr)
    assert "evil" in ended.stdout
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert" not in report
    assert "<img src=x" not in report
    assert "&lt;script&gt;alert(1)" in report


@pytest.mark.parametrize("name", ["os.system", "os.path.join", "subprocess.run", "builtins.eval", "../../nowhere/x.f"])
def test_check_and_run_refuse_the_same_functions_with_the_same_words(name: str, tmp_path: Path) -> None:
    file = write_task(tmp_path, "evil", TEXT=f"!function {name}")
    module = name.rpartition(".")[0]
    message = f"There is no {module}.py for '!function {name}'."
    checked = polymeter(tmp_path, "check", file.name)
    ran = polymeter(tmp_path, "run", "--model", "mock", "--tasks", file.name, "--output", "out")
    assert checked.returncode == ran.returncode == 2
    assert f"{tmp_path / file.name}:7: {message}" in checked.stdout
    assert f"Error: {message}\n  at {tmp_path / file.name}:7\n" in ran.stderr


def test_an_included_file_is_held_to_the_same(tmp_path: Path) -> None:
    file = write_task(tmp_path, "evil")
    (tmp_path / "base.inc").write_text("doc_to_target: !function os.system\n")
    file.write_text(file.read_text().replace("doc_to_target: capital\n", "include: base.inc\n"))
    for words in (["check", file.name], ["run", "--model", "mock", "--tasks", file.name, "--output", "out"]):
        ended = polymeter(tmp_path, *words)
        assert ended.returncode == 2
        assert "There is no os.py for '!function os.system'." in ended.stdout + ended.stderr
        assert f"{tmp_path / 'base.inc'}:1" in ended.stdout + ended.stderr


@pytest.mark.control
def test_a_function_of_a_file_beside_or_above_runs_and_passes_check(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("def text(doc):\n    return doc['country']\n")
    file = write_task(tmp_path / "tasks", "good", TEXT="!function ../shared.text")
    assert polymeter(tmp_path, "check", str(file)).returncode == 0
    assert polymeter(tmp_path, "run", "--model", "mock", "--tasks", str(file), "--output", "out").returncode == 0
