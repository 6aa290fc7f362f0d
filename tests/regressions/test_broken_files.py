"""One file that cannot be read costs a line, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_GOOD = """\
task: good
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""


def _times_nine(of: str) -> str:
    return ", ".join([of] * 9)


def _laughs() -> str:
    lines = [f"x{n}: &x{n} [{_times_nine(f'*x{n - 1}' if n else 'ha')}]" for n in range(10)]
    return "\n".join(["task: asked", *lines, ""])


def _merged_laughs() -> str:
    lines = [f"m{n}: &m{n}\n  <<: [{_times_nine(f'*m{n - 1}')}]" for n in range(1, 10)]
    return "\n".join(["task: asked", "m0: &m0 {a: 1}", *lines, ""])


_BROKEN: dict[str, tuple[bytes, int]] = {  # content → the line that must be named
    "laughs": (_laughs().encode(), 7),
    "merged laughs": (_merged_laughs().encode(), 12),
    "cyclic alias": (b"task: asked\nx: &x\n  y: *x\n", 2),
    "no mapping": (b"\n- task: asked\n- b\n", 2),
    "unclosed": (b"task: asked\nx: [1,\n", 2),
    "tab": (b"task: asked\nx:\n\ty: 1\n", 3),
    "no UTF-8": (b"task: asked\nx: caf\xe9\n", 2),
    "no date": (b"task: asked\nx: 1\ny: 2024-13-45\n", 3),
    "NUL": (b"task: asked\nx: a\x00b\n", 2),
    "too deep": (b"task: asked\nx: " + b"[" * 60_000 + b"]" * 60_000 + b"\n", 2),
    "a name that no file can have": (b"task: asked\ninclude: " + b"x" * 5000 + b"\n", 2),
    "includes itself": (b"task: asked\ninclude: broken.yaml\n", 2),
}


def _polymeter(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    cache = {"POLYMETER_CACHE_DIR": str(cwd / "cache"), "HF_HOME": str(cwd / "hf"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "polymeter", *words]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **cache}, capture_output=True, text=True, timeout=60, check=False
    )


def _folder(home: Path) -> Path:
    folder = home / "tasks"
    folder.mkdir()
    (folder / "good.yaml").write_text(_GOOD)
    (folder / "rows.jsonl").write_text('{"q": "x", "a": "mock"}\n')
    return folder


@pytest.mark.parametrize("kind", _BROKEN)
def test_a_broken_yaml_costs_one_line_with_its_place_and_stops_nothing_else(tmp_path: Path, kind: str) -> None:
    content, line = _BROKEN[kind]
    folder = _folder(tmp_path)
    (folder / "broken.yaml").write_bytes(content)
    listed = _polymeter("tasks", "--include-path", str(folder), "*", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert "good" in listed.stdout.split()
    said = [text for text in listed.stderr.splitlines() if "broken.yaml" in text]
    assert len(said) == 1
    assert said[0].startswith(f"{folder / 'broken.yaml'}:{line}: "), said
    assert "Traceback" not in listed.stderr


@pytest.mark.needs_system("evalscope")
def test_check_and_run_go_on_beside_broken_files(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    for number, (content, _) in enumerate(_BROKEN.values()):
        (folder / f"broken_{number}.yaml").write_bytes(content)
    (folder / "folder.yaml").mkdir()
    (folder / "dangling.yaml").symlink_to("nowhere")
    (folder / "table.tsv").write_bytes(b"\xff\xfeindex\tquestion\n")
    (folder / "some_adapter.py").write_text("from evalscope.api.registry import Benchmark\n@Benchmark.register(name=\n")
    checked = _polymeter("check", str(folder), cwd=tmp_path)
    assert checked.returncode == 2, checked.stderr
    assert "Traceback" not in checked.stderr
    for name in [*(f"broken_{number}.yaml" for number in range(len(_BROKEN))), "dangling.yaml", "table.tsv"]:
        assert sum(text.startswith(str(folder / name)) for text in checked.stdout.splitlines()) == 1, name
    assert "good.yaml" not in checked.stdout
    words = ("run", "--model", "mock", "--tasks", "good", "--include-path", str(folder), "--output", "out", "--quiet")
    run = _polymeter(*words, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_run_names_the_broken_file_that_may_hold_the_asked_task(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "broken.yaml").write_text("task: asked\nx: [1,\n")
    (folder / "other.yaml").write_text("task: something\nx: [1,\n")
    run = _polymeter("run", "--model", "mock", "--tasks", "asked", "--include-path", str(folder), cwd=tmp_path)
    assert run.returncode == 2
    assert f"{folder / 'broken.yaml'}:2" in run.stderr.replace("\n", "")
    assert "other.yaml" not in run.stderr


def test_a_broken_settings_file_is_one_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "polymeter.yaml").write_text(_laughs().replace("task: asked", "cache_dir: c"))
    listed = _polymeter("tasks", cwd=tmp_path)
    assert listed.returncode == 2
    assert "polymeter.yaml:7" in listed.stderr.replace("\n", "")
    assert "aliases" in listed.stderr


def test_a_dataset_card_that_expands_without_end_is_refused(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    data = tmp_path / "data"
    data.mkdir()
    (data / "test.jsonl").write_text('{"q": "x", "a": "mock"}\n')
    (data / "README.md").write_text(f"---\n{_laughs()}---\n# Data\n")
    (folder / "carded.yaml").write_text(
        _GOOD.replace("task: good", "task: carded")
        .replace("dataset_path: json", f"dataset_path: {data}")
        .replace("dataset_kwargs: {data_files: {test: rows.jsonl}}\n", "")
    )
    run = _polymeter("run", "--model", "mock", "--tasks", "carded", "--include-path", str(folder), cwd=tmp_path)
    assert run.returncode == 2
    assert "README.md:8" in run.stderr.replace("\n", "")


def test_a_header_without_end_costs_one_line(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    names = "question\tanswer\t" * 30_000
    (folder / "wide.tsv").write_text(f"index\t{names}\n1\tx\ty\n")
    ended = _polymeter("run", "-m", "mock", "--tasks", str(folder / "wide.tsv"), cwd=tmp_path)
    assert ended.returncode == 2
    assert "wide.tsv:1" in ended.stderr
    assert "60,00" in ended.stderr
    listed = _polymeter("tasks", "--include-path", str(folder), "*", cwd=tmp_path)
    assert "good" in listed.stdout.split()
    assert "wide.tsv" in listed.stderr
