"""Protocols of benchmarks: their names, what they may say, and where they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import polymeter
from polymeter.cli.main import build_app
from polymeter.core.errors import DataError, PlanError
from polymeter.core.names.catalog import Catalog
from polymeter.run.plan.selection import build_catalog, select
from polymeter.tasks.yaml import FORMAT
from tests.tasks.yaml.kit import catalog, spec, task_text, write_rows

OFFICIAL = """
protocol:
  name: official
  version: 2
  source: them/bench@0123abc:eval.py
  parser: first letter
  judge: none
  shown: the image, then the question
  token_limit: unknown
  expected_rows: 4
  mirrors: [them/bench, others/bench]
  licence: unknown
  reference: {value: 58.3, metric: accuracy, model: A-7B, source: README of them/bench}
"""


def write(folder: Path, **protocols: str) -> Path:
    """Write a task under each of some protocols: what each block says beyond its name."""
    write_rows(folder)
    for name, more in protocols.items():
        (folder / f"{name}.yaml").write_text(task_text(f"protocol:\n  name: {name}\n{more}"))
    return folder


def test_a_protocol_is_part_of_the_name_and_changes_nothing_else(tmp_path: Path) -> None:
    plain, stated = tmp_path / "plain", tmp_path / "stated"
    for folder, more in ((plain, ""), (stated, OFFICIAL)):
        write_rows(folder)
        (folder / "t.yaml").write_text(task_text(more))
    assert spec(plain).name == "t"
    assert spec(plain).protocol is None
    assert "protocol" not in spec(plain).config
    made = spec(stated)
    assert made.name == "t@official"
    assert made.protocol is not None
    facts = made.protocol.facts()
    assert facts["protocol"] == "official 2"
    assert facts["token limit"] == "unknown"
    assert facts["reference"] == "58.3 (accuracy of A-7B; README of them/bench; not reproduced)"


def test_a_date_is_a_version(tmp_path: Path) -> None:
    folder = write(tmp_path, official="  version: 2026-04-14\n")
    assert spec(folder).protocol.title == "official 2026-04-14"  # type: ignore[union-attr]


def test_a_name_alone_means_the_only_or_the_default_protocol(tmp_path: Path) -> None:
    assert select(["t"], catalog(write(tmp_path / "one", official=""))).tasks[0].name == "t@official"
    two = catalog(write(tmp_path / "two", official="", short=""))
    with pytest.raises(PlanError, match="'t' has several protocols: t@official and t@short"):
        select(["t"], two)
    assert [task.name for task in select(["t@short", "t@official"], two).tasks] == ["t@short", "t@official"]
    with pytest.raises(PlanError, match="There is no task") as unknown:
        select(["t@shrt"], two)
    assert "t@short" in unknown.value.hint
    (tmp_path / "two/broken.yaml").write_text(task_text("protocol: {name: ../x}\n"))
    with pytest.raises(PlanError) as several:
        select(["t"], catalog(tmp_path / "two"))
    assert several.value.what == "'t' has several protocols: t@official and t@short; other names are not valid."
    marked = catalog(write(tmp_path / "marked", official="", short="  default: true\n"))
    assert select(["t"], marked).tasks[0].name == "t@short"


def test_a_group_holds_protocols(tmp_path: Path) -> None:
    folder = write(tmp_path, official="", short="")
    (folder / "g.yaml").write_text("group: g\ntask: [t@official, t@short]\n")
    selected = select(["g"], catalog(folder))
    assert selected.groups[0].members == ("t@official", "t@short")


def test_the_users_protocol_wins_over_one_that_comes_along(tmp_path: Path) -> None:
    own = build_catalog([write(tmp_path, official="")], None)
    library = Catalog()
    for entry in catalog(write(tmp_path / "more", other="")):
        library.add(entry)
    assert own.get("t").protocol == "official"
    assert library.get("t").protocol == "other"


@pytest.mark.parametrize(
    ("block", "what"),
    [
        ("{name: a, licens: MIT}", "there is no key 'licens'. Did you mean 'licence'?"),
        ("{version: 1}", "protocol.name"),
        ("{name: 'a b'}", "cannot be the name of a protocol"),
        ("{name: a, expected_rows: many}", "protocol.expected_rows"),
        ("{name: a, expected_rows: 0}", "must be at least 1"),
        ("{name: a, on_other_rows: ignore}", "protocol.on_other_rows"),
        ("{name: a, reference: 58.3}", "a mapping with 'value' and 'source'"),
        ("{name: a, reference: {value: 58.3}}", "source"),
        ("{name: a, reference: {value: 58.3, source: x, sorce: y}}", "there is no key 'sorce'"),
        ("official", "it must be a mapping"),
    ],
)
def test_a_block_that_is_not_understood_is_refused(tmp_path: Path, block: str, what: str) -> None:
    write_rows(tmp_path)
    (tmp_path / "t.yaml").write_text(task_text(f"protocol: {block}\n"))
    found = catalog(tmp_path)
    with pytest.raises(PlanError) as refused:
        FORMAT.load(next(iter(found)), found)
    assert what in refused.value.what
    assert "t.yaml:8" in refused.value.where


def test_another_number_of_rows_is_a_warning_or_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path, right="  expected_rows: 4\n", warns="  expected_rows: 1500\n")
    (folder / "strict.yaml").write_text(
        task_text("protocol: {name: strict, expected_rows: 1500, on_other_rows: error}\n")
    )
    for name, n in (("right", 0), ("warns", 1)):
        run = polymeter.evaluate("mock", [f"t@{name}"], include_paths=[folder], output=tmp_path / name)
        told = [note for note in run.results["notes"] if "1,500" in note]
        assert len(told) == n
    with pytest.raises(DataError, match=r"The data has 4 samples; protocol 'strict' states 1,500\."):
        polymeter.evaluate("mock", ["t@strict"], include_paths=[folder], output=tmp_path / "strict")


def test_a_protocol_is_listed_recorded_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    write_rows(folder)
    (folder / "t.yaml").write_text(task_text(OFFICIAL))
    include = ["--include-path", str(folder)]
    listed = CliRunner().invoke(build_app(), ["tasks", "t*", *include]).stdout
    assert "protocol official 2" in listed
    shown = CliRunner().invoke(build_app(), ["tasks", "t", *include]).stdout
    assert "judge: none" in shown
    assert "58.3 (accuracy of A-7B" in shown
    data = json.loads(CliRunner().invoke(build_app(), ["tasks", "t", *include, "--json"]).stdout)
    assert data["task"]["protocol"]["expected_rows"] == 4
    run = polymeter.evaluate("mock", ["t"], include_paths=[folder], output=tmp_path / "run")
    assert run.results["tasks"]["t@official"]["protocol"]["source"] == ["them/bench@0123abc:eval.py"]
    report = (tmp_path / "run" / "report.html").read_text()
    assert "the image, then the question" in report


def test_a_comparison_says_that_protocols_differ(tmp_path: Path) -> None:
    folder = write(tmp_path / "tasks", official="", short="")
    for name in ("official", "short"):
        polymeter.evaluate("mock", [f"t@{name}"], include_paths=[folder], output=tmp_path / name)
    with pytest.raises(PlanError, match=r"t: the protocols differ \(official in official, short in short\)"):
        polymeter.compare(tmp_path / "official", tmp_path / "short")
    (folder / "official.yaml").write_text(task_text("protocol: {name: official, parser: last letter}\n"))
    polymeter.evaluate("mock", ["t@official"], include_paths=[folder], output=tmp_path / "parsed")
    with pytest.raises(PlanError, match=r"t@official: the protocols differ: parser none and last letter"):
        polymeter.compare(tmp_path / "official", tmp_path / "parsed")


def test_a_number_as_a_name_keeps_its_hash(tmp_path: Path) -> None:
    write_rows(tmp_path)
    (tmp_path / "t.yaml").write_text(task_text(name="7"))
    made = spec(tmp_path, "7")
    assert made.config["task"] == 7, "the hash of a task without a protocol is that of older runs"
