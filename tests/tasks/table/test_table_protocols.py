"""The protocol of a table without a class: a YAML file beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.run.plan.selection import build_catalog, select
from polymeter.tasks.guessed.written import task_text

TABLES = {
    "tsv": "index\tquestion\tanswer\n1\tSay a.\ta\n2\tSay b.\tb\n",
    "csv": "question,answer\nSay a.,a\nSay b.,b\n",
}


def write(folder: Path, ending: str, stated: str) -> Path:
    table = folder / f"garden.{ending}"
    table.write_text(TABLES[ending])
    (folder / "garden.protocol.yaml").write_text(stated)
    return table


@pytest.mark.parametrize("ending", TABLES)
def test_the_file_beside_a_table_is_its_protocol(
    tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    table = write(folder, ending, "name: official\nversion: 2026-04-14\njudge: none\nexpected_rows: 3\n")
    for place in (folder, table):
        assert [entry.name for entry in build_catalog([place], None) if entry.is_user] == ["garden@official"]
        assert main(["check", str(place), "--rows", "0"]) == 0
    capsys.readouterr()
    assert main(["tasks", "--include-path", str(folder), "garden"]) == 0
    assert "protocol official 2026-04-14" in capsys.readouterr().out
    plain = select(["garden"], build_catalog([folder], None)).tasks[0]
    run = polymeter.evaluate("mock", ["garden@official"], include_paths=[folder], output=tmp_path / "run")
    assert run.results["tasks"]["garden@official"]["protocol"]["judge"] == "none"
    assert [note for note in run.results["notes"] if "The data has 2 samples; protocol 'official' states 3." in note]
    (folder / "garden.protocol.yaml").unlink()
    other = select(["garden"], build_catalog([folder], None)).tasks[0]
    assert other.name == "garden"
    assert other.protocol is None
    if ending == "tsv":
        assert other.source_hash == plain.source_hash, "a protocol describes, and is no identity but for its name"


@pytest.mark.parametrize("ending", TABLES)
@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ("name: a\nlicens: MIT\n", "there is no key 'licens'. Did you mean 'licence'?"),
        ("name: a\nreference: {value: .nan, source: paper}\n", "should be a finite number"),
        ("name: a\nexpected_rows: many\n", "protocol.expected_rows"),
        ("- name\n", "it must be a mapping"),
        ("", "protocol.name"),
        ("name: [\n", "not valid YAML"),
    ],
)
def test_a_wrong_one_is_refused_where_it_is_written(
    tmp_path: Path, ending: str, stated: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write(tmp_path, ending, stated)
    with pytest.raises(PlanError) as refused:
        polymeter.evaluate("mock", [table], output=tmp_path / "run")
    assert what in refused.value.what
    assert "garden.protocol.yaml" in refused.value.where
    assert main(["check", str(table), "--rows", "0"]) == 2
    assert "garden.protocol.yaml:" in capsys.readouterr().out


def test_the_yaml_that_is_written_for_a_table_states_it_too(tmp_path: Path) -> None:
    table = write(tmp_path, "csv", "name: official\nexpected_rows: 2\n")
    text = task_text(table, tmp_path).text
    assert 'protocol:\n  name: "official"' in text or "protocol:\n  name: official" in text
