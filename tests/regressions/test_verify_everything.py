"""``verify`` reports a change by hand of any field and any file of a run folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.regressions.copies import command, here, run

__all__ = ["here"]
NOT_COVERED = frozenset({".lock", "journal.db"})
"""A file without content, and one whose rows have tests of their own."""
NOT_A_NUMBER = """\
import math

def process_docs(dataset):
    return dataset.map(lambda row: {**row, "weight": math.nan})

def process_results(doc, results):
    return {"distance": math.nan if doc["word"] == "word0" else 1.0}
"""


@pytest.fixture
def done(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a finished run."""
    assert run(here, "--model", "mock", "--model-args", "mode=gold", "--limit", "3").returncode == 0
    monkeypatch.chdir(here)
    assert polymeter.verify("run").problems == ()
    return here / "run"


def problems() -> tuple[str, ...]:
    """What is wrong, also where the run cannot be opened."""
    try:
        return polymeter.verify("run").problems
    except polymeter.PolymeterError as error:
        return (str(error),)


def fields(content: Any, depth: int, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all fields of plain data, so many levels deep."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*path, key)
        if depth > 1:
            yield from fields(value, depth - 1, (*path, key))


def changed(content: Any, path: tuple[Any, ...]) -> Any:
    """Plain data with another value at a place."""
    copy = json.loads(json.dumps(content))
    place = copy
    for key in path[:-1]:
        place = place[key]
    before = place[path[-1]]
    place[path[-1]] = [*before, "more"] if isinstance(before, list) else f"{before}!"
    return copy


def unnoticed(file: Path, write: Callable[[Any], str], content: Any, depth: int) -> list[tuple[Any, ...]]:
    """The fields of a file whose change ``verify`` does not report."""
    before, found = file.read_bytes(), []
    for path in fields(content, depth):
        file.write_text(write(changed(content, path)))
        if not problems():
            found.append(path)
    file.write_bytes(before)
    return found


def test_every_field_of_the_manifest(done: Path) -> None:
    file = done / "run.json"
    content = json.loads(file.read_text())
    assert unnoticed(file, json.dumps, content, 2) == []
    assert {"selection", "notes", "command"} <= content.keys()


def test_every_field_of_the_results(done: Path) -> None:
    file = done / "results.json"
    assert unnoticed(file, json.dumps, json.loads(file.read_text()), 2) == []


@pytest.mark.control
def test_every_field_of_a_sample(done: Path) -> None:
    file = done / "samples" / "copies.jsonl"
    first, *rest = file.read_text().splitlines()
    assert unnoticed(file, lambda row: "\n".join([json.dumps(row), *rest]) + "\n", json.loads(first), 2) == []


def test_a_byte_more_or_less_in_every_file(done: Path) -> None:
    for file in [path for path in done.rglob("*") if path.is_file() and path.name not in NOT_COVERED]:
        before = file.read_bytes()
        middle = len(before) // 2
        for what, after in (
            ("cut", before[:-5]),
            ("changed", before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1 :]),
        ):
            file.write_bytes(after)
            assert problems(), f"{file.name} is {what}"
        file.write_bytes(before)


def test_a_report_that_was_edited(done: Path) -> None:
    report = done / "report.html"
    report.write_text(report.read_text().replace("1.0000", "0.9999"))
    said = command("verify", "run", "--quiet", cwd=done.parent)
    assert (said.returncode, said.stdout) == (
        1,
        "wrong        report.html was changed after it was written: its checksum differs.\n",
    )
    assert command("report", "run", cwd=done.parent).returncode == 0
    assert command("verify", "run", cwd=done.parent).returncode == 0


def test_a_temporary_report_that_a_killed_process_left_is_deleted(done: Path) -> None:
    left = done / ".report.html.0123456789ab"
    left.write_text("<!doctype html>")
    os.utime(left, (0, 0))
    assert command("report", "run", cwd=done.parent).returncode == 0
    assert not left.exists()


def test_a_run_with_values_that_are_no_numbers(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "utils.py").write_text(NOT_A_NUMBER)
    task = (here / "copies.yaml").read_text()
    task = task.replace("exact_match", "distance, aggregation: mean, higher_is_better: false")
    task += "process_docs: !function utils.process_docs\nprocess_results: !function utils.process_results\n"
    (here / "copies.yaml").write_text(task)
    assert run(here, "--model", "mock", "--limit", "3").returncode == 0
    row = json.loads((here / "run" / "samples" / "copies.jsonl").read_text().splitlines()[0])
    assert (row["doc"]["weight"], row["scores"][0]["value"]) == (None, "NaN")
    monkeypatch.chdir(here)
    assert polymeter.verify("run").problems == ()


@pytest.mark.control
@pytest.mark.parametrize("name", ["{outside}", "../outside.txt"])
def test_what_lies_outside_of_a_foreign_folder_is_left_alone(done: Path, name: str) -> None:
    outside = done.parent / "outside.txt"
    outside.write_text("not of the run")
    file = done / "run.json"
    name = name.format(outside=outside)
    file.write_text(json.dumps({**json.loads(file.read_text()), "artifacts": [name], "status": "stopped"}))
    ended = command("resume", "run", cwd=done.parent)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert problems() == ()


def test_an_artifact_outside_is_in_no_checksum(done: Path) -> None:
    file = done / "run.json"
    content = json.loads(file.read_text())
    content["checksums"]["../copies.csv"] = "0"
    file.write_text(json.dumps(content))
    assert problems() == ("../copies.csv is missing.",)


def test_a_version_without_checksums_that_went_on_with_a_run(done: Path) -> None:
    """It keeps the checksums as they were, and adds a session."""
    results, file = done / "results.json", done / "run.json"
    results.write_text(json.dumps(json.loads(results.read_text())))
    content = json.loads(file.read_text())
    content["sessions"].append({**content["sessions"][-1], "kind": "resume"})
    file.write_text(json.dumps({**content, "seconds": 9.0}))
    said = command("verify", "run", cwd=done.parent)
    assert "run.json was last written by an older version, without a checksum" in said.stdout
    assert problems() == ()
    resumed = command("resume", "run", "--retry-errors", cwd=done.parent)
    assert resumed.returncode == 0, resumed.stderr
