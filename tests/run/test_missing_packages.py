"""Packages that tasks need and that are missing are named together, before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter import evaluate
from polymeter.core.errors import PlanError
from polymeter.guests.reading.needed_packages import packages_behind
from polymeter.run.plan.missing_packages import missing_later
from polymeter.run.plan.selection import build_catalog, select

_YAML = """\
task: {name}
dataset_path: made/{name}
test_split: test
output_type: generate_until
doc_to_text: !function utils.doc_to_text
doc_to_target: answer
metric_list:
  - metric: exact_match
"""


def write_task(folder: Path, name: str, code: str, **neighbours: str) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / f"{name}.yaml").write_text(_YAML.format(name=name))
    (place / "utils.py").write_text(code + "\ndef doc_to_text(doc):\n    return doc['question']\n")
    for module, text in neighbours.items():
        (place / f"{module}.py").write_text(text)
    return place


def test_all_packages_of_all_tasks_are_named_with_one_command(tmp_path: Path) -> None:
    write_task(tmp_path, "one", "import zz_first\nfrom zz_second.part import x")
    write_task(tmp_path, "two", "import cv2_not_there, zz_first\nfrom .near import y", near="import zz_third")
    with pytest.raises(PlanError) as caught:
        evaluate("mock", ["one", "two"], include_paths=[tmp_path])
    assert caught.value.what == (
        "Packages that this run needs are not installed: 'zz_first' (tasks one, two), 'zz_second' (task one), "
        "'cv2_not_there' (task two), 'zz_third' (task two)."
    )
    assert caught.value.hint.endswith("install zz_first zz_second cv2_not_there zz_third")
    assert f"{tmp_path}/one/utils.py:1" in caught.value.where
    assert f"{tmp_path}/two/near.py:1" in caught.value.where


def test_a_package_that_may_be_needed_is_told_and_refuses_nothing(tmp_path: Path) -> None:
    write_task(tmp_path, "one", "def late():\n    import zz_late")
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"question": "a", "answer": "b"}\n')
    run = evaluate("mock", ["one"], include_paths=[tmp_path], data={"made/one": str(rows)}, output=tmp_path / "run")
    assert run.status == "complete"
    (note,) = [note for note in run.folder.read_manifest()["notes"] if "zz_late" in note]
    assert note.startswith(f"The code of task one may need the package 'zz_late', which is not installed ({tmp_path}")


def test_packages_that_the_same_tasks_may_need_are_one_sentence(tmp_path: Path) -> None:
    code = "def late():\n    import zz_late, zz_later"
    for name in ("one", "two"):
        write_task(tmp_path, name, code)
    selection = select(["one", "two"], build_catalog([tmp_path], None))
    (sentence,) = missing_later(selection.tasks)
    assert sentence.startswith("The code of tasks one, two may need 2 packages that are not installed.")
    assert sentence.endswith("install zz_late zz_later")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import numpy, zz_a", {"numpy": True, "zz_a": True}),
        ("from zz_a.b import c", {"zz_a": True}),
        ("try:\n    import zz_a\nexcept ImportError:\n    zz_a = None", {}),
        ("try:\n    import zz_a\nexcept ImportError:\n    import zz_b", {"zz_b": False}),
        ("try:\n    import zz_a\nexcept ValueError:\n    pass", {"zz_a": True}),
        ("try:\n    import zz_a\nfinally:\n    pass", {"zz_a": True}),
        ("if x:\n    import zz_a", {"zz_a": False}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import zz_a", {}),
        ("def f():\n    import zz_a", {"zz_a": False}),
        ("def f():\n    import zz_a\nimport zz_a", {"zz_a": True}),
        ("class A:\n    import zz_a", {"zz_a": True}),
        ("with x:\n    import zz_a", {"zz_a": True}),
        ("import os, sys, polymeter", {}),
        ("from google.genai import types\nfrom google import auth", {"google.auth": True, "google.genai": True}),
        ("import near", {"zz_near": True}),
        ("from . import near", {"zz_near": True}),
        ("from .near import x", {"zz_near": True}),
        ("def f():\n    from .near import x", {"zz_near": False}),
        ("this is no python", {}),
    ],
)
def test_what_imports_need(tmp_path: Path, code: str, expected: dict[str, bool]) -> None:
    (tmp_path / "near.py").write_text("import zz_near\nfrom . import code\n")
    (tmp_path / "code.py").write_text(code)
    found = {package.module: package.is_certain for package in packages_behind([tmp_path / "code.py"])}
    assert found == expected


def test_a_module_in_a_folder_above_is_the_tasks_own(tmp_path: Path) -> None:
    (tmp_path / "shared_words.py").write_text("import zz_a\n")
    (tmp_path / "task").mkdir()
    code = tmp_path / "task" / "utils.py"
    code.write_text("import sys\nsys.path.insert(0, '..')\nfrom shared_words import x\n")
    assert [package.module for package in packages_behind([code])] == ["zz_a"]
