"""Protocols of tasks in Python: known from the file without running it, and part of the name."""

from __future__ import annotations

from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.run.plan.selection import build_catalog, format_of, select

_FILE = """\
import polymeter

STATED = {"name": "computed"}


@polymeter.task(rows=[{"n": 1}, {"n": 2}], reference="n", protocol={"name": "official", "expected_rows": 2})
def count(row):
    return f"Say {row['n']}."


@polymeter.task(rows=[{"n": 1}], reference="n", repeats=2, protocol={"name": "short", "default": True})
def count_short(row):
    return f"{row['n']}?"
"""


def test_a_task_in_python_is_found_and_run_under_its_protocol(tmp_path: Path) -> None:
    file = tmp_path / "count.py"
    file.write_text(_FILE)
    catalog = build_catalog([tmp_path], None)
    spec = select(["count"], catalog).tasks[0]
    assert spec.name == "count@official"
    assert spec.protocol is not None
    assert spec.protocol.expected_rows == 2
    run = polymeter.evaluate(
        "mock", [f"{file}::count@official", "count_short"], include_paths=[tmp_path], output=tmp_path / "run"
    )
    assert [*run.results["tasks"]] == ["count@official", "count_short@short"]
    assert run.results["tasks"]["count@official"]["protocol"]["name"] == "official"


def test_a_protocol_that_is_computed_is_known_when_the_file_has_run(tmp_path: Path) -> None:
    file = tmp_path / "count.py"
    file.write_text(_FILE.replace('protocol={"name": "official", "expected_rows": 2}', "protocol=STATED"))
    run = polymeter.evaluate("mock", [file], output=tmp_path / "run")
    assert "count@computed" in run.results["tasks"]


def test_an_object_has_a_protocol(tmp_path: Path) -> None:
    task = polymeter.PythonTask("{n}?", rows=[{"n": 1}], reference="n", name="one", protocol={"name": "official"})
    assert task.name == "one@official"
    run = polymeter.evaluate("mock", [task], output=tmp_path / "run")
    assert run.results["tasks"]["one@official"]["protocol"] == {"name": "official"}


def test_a_wrong_protocol_is_refused_where_it_is_written() -> None:
    with pytest.raises(PlanError, match="there is no key 'licens'") as refused:
        polymeter.PythonTask("{n}?", rows=[{"n": 1}], name="one", protocol={"name": "official", "licens": "MIT"})
    assert "test_protocols.py" in refused.value.where


def test_the_mirrors_of_rows_on_a_hub_are_fetched(tmp_path: Path) -> None:
    file = tmp_path / "far.py"
    stated = '{"name": "official", "mirrors": "there/near"}'
    file.write_text(
        f'import polymeter\n\n\n@polymeter.task(rows="example/far", reference="a", protocol={stated})\n'
        "def far(row):\n    return row['q']\n"
    )
    spec = select(["far"], build_catalog([tmp_path], None)).tasks[0]
    sources = format_of(spec).sources
    assert sources is not None
    assert [source.mirrors for source in sources(spec, OpenContext()) or ()] == [("there/near",)]
