"""Which tables are benchmarks, and what is wrong with their rows."""

from pathlib import Path

import pytest

from polymeter.core.names.catalog import Claims, Root
from polymeter.tasks.table import FORMAT
from polymeter.tasks.table.index import index_data


@pytest.fixture(autouse=True)
def _no_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "no data"))


def test_tables_are_benchmarks_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "draw.tsv").write_text("index\tprompt\n0\ta cat\n")
    (tmp_path / "ask.tsv").write_text("index\tquestion\tanswer\n0\tWhat?\tThis\n")
    (tmp_path / "odd.tsv").write_text("index\tcolour\n0\tred\n")
    (tmp_path / "bare.tsv").write_text("prompt\na cat\n")
    (tmp_path / "empty.tsv").write_text("")
    catalog = index_data([Root(tmp_path)], Claims())
    assert {name: entry.tags for name, entry in catalog.entries.items()} == {"ask": ("VQA",), "draw": ("T2I",)}
    said = {Path(problem.where.split(":")[0]).name: problem.message for problem in catalog.problems}
    assert "no column 'index'" in said["bare.tsv"]
    assert "colour" in said["odd.tsv"]
    assert "empty.tsv" not in catalog.entries


def test_checks_of_tables_name_row_and_column(tmp_path: Path) -> None:
    (tmp_path / "edit.tsv").write_text("index\timage\tprompt\n0\tnot base64!\tmake it red\n1\t99\tblue\n")
    (tmp_path / "twice.tsv").write_text("index\tprompt\n7\ta\n7\tb\n")
    catalog = index_data([Root(tmp_path)], Claims())
    first, second = (problem.message for problem in FORMAT.check(catalog.entries["edit"], catalog))
    assert "row '0', column 'image'" in first
    assert "refers to row '99'" in second
    (problem,) = FORMAT.check(catalog.entries["twice"], catalog)
    assert "'7' in rows 1, 2" in problem.message
