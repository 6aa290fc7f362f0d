"""Where a run comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polymeter.run.finish.provenance import git_state


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_a_folder_outside_git_has_no_commit(tmp_path: Path) -> None:
    assert git_state(tmp_path) == {}
    assert git_state(tmp_path / "missing" / "file.py") == {}


def test_commit_and_changes_of_the_folder_that_is_asked_about(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path) == {}, "no commit yet"
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.yaml").write_text("task: a\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert git_state(tmp_path / "mine") == {"commit": commit, "is_dirty": False}
    (tmp_path / "other" / "task.yaml").write_text("task: b\n")
    assert git_state(tmp_path / "mine") == {"commit": commit, "is_dirty": False}
    assert git_state(tmp_path / "other" / "task.yaml") == {"commit": commit, "is_dirty": True}
    (tmp_path / "mine" / "new.py").write_text("")
    assert git_state(tmp_path / "mine") == {"commit": commit, "is_dirty": True}


def test_git_is_not_started_where_there_is_no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("git was started")

    monkeypatch.delenv("GIT_DIR", raising=False)
    monkeypatch.setattr("subprocess.run", refuse)
    assert git_state(tmp_path) == {}
