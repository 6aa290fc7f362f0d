"""Modules that a script has in its hands: kept between runs, and what it changed in them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from polymeter.guests.door import in_mode
from polymeter.guests.held import changed_by, forget_modules, hand_over, is_held
from polymeter.guests.loading.imports import load_file
from polymeter.guests.opened_sources import opened_behind

SOURCE = """
LIMIT = 1

def mark(answer):
    return 0

class Scorer:
    limit = 1

    def __init__(self):
        self.seen = 0

    def match(self, gold, answer):
        return 0
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that runs now, and imports what lies beside it."""
    folder = tmp_path / "script"
    folder.mkdir()
    (folder / "beside.py").write_text("")
    (folder / "s.py").write_text("import beside\n")
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(__file__=str(folder / "s.py")))
    return folder / "s.py"


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    (tmp_path / "held.py").write_text(SOURCE)
    return load_file(tmp_path / "held.py")


def _file(module: ModuleType) -> str:
    assert module.__file__ is not None
    return module.__file__


def _add(module: Any) -> None:
    module.more = 1


def _remove(module: Any) -> None:
    del module.mark


@pytest.mark.parametrize(
    "change",
    [
        lambda module: setattr(module, "mark", lambda answer: 1),
        lambda module: setattr(module, "LIMIT", 2),
        lambda module: setattr(module.Scorer, "match", lambda self, gold, answer: 1),
        lambda module: setattr(module.Scorer, "__init__", lambda self: None),
        lambda module: setattr(module.Scorer, "limit", 2),
        lambda module: setattr(module.Scorer, "more", 2),
        lambda module: setattr(module, "Scorer", type("Scorer", (), {})),
        _add,
        _remove,
    ],
    ids=["function", "constant", "method", "constructor", "attribute", "new attribute", "class", "new name", "removed"],
)
def test_what_a_script_changes_makes_it_a_source(
    change: Callable[[Any], None], module: ModuleType, script: Path
) -> None:
    hand_over(module)
    assert opened_behind([Path(_file(module))]) == ()
    change(module)
    assert {*opened_behind([Path(_file(module))])} - {Path(__file__)} == {script.parent / "beside.py", script}


def test_a_change_that_is_undone_is_none(module: Any, script: Path) -> None:
    hand_over(module)
    before = module.mark
    module.mark = json.dumps  # what is installed is no source
    assert [*changed_by(_file(module))] == [str(script.parent / "beside.py"), str(script)]
    module.mark = before
    assert [*changed_by(_file(module))] == []


def test_the_file_of_the_new_function_is_a_source_wherever_it_lies(module: Any, script: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "patch.py").write_text("def mark(answer):\n    return 1\n")
    hand_over(module)
    module.mark = load_file(tmp_path / "elsewhere" / "patch.py").mark
    assert str(tmp_path / "elsewhere" / "patch.py") in [*changed_by(_file(module))]


def test_what_a_script_has_is_not_forgotten(module: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("")
    other = load_file(tmp_path / "other.py")
    hand_over(module)
    forget_modules()
    assert load_file(tmp_path / "held.py") is module
    assert load_file(tmp_path / "other.py") is not other


def test_what_a_guest_asks_for_is_anew_for_each_run(module: ModuleType) -> None:
    with in_mode("load"):
        hand_over(module)
    assert not is_held(module)
