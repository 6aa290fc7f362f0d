"""Rows of a table as authors, built-in classes and the journal see them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import polymeter
from polymeter.formats.table.classes.cells import options_of
from polymeter.formats.table.origin import note_origin, origin_of
from polymeter.formats.table.rows import Table, TableSamples
from polymeter.store.export import read_samples
from tests.helpers.toy_datasets import png_base64, run_toy, samples_of, write_class, write_table


@pytest.fixture(autouse=True)
def _data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))


def table(**columns: Any) -> Table:
    frame = pd.DataFrame({"index": [7, 9], **columns}, index=[3, 5])
    return Table("T", SimpleNamespace(data=frame))


def test_a_row_has_the_same_cells_as_a_series_and_as_a_mapping() -> None:
    found = table(
        text=["a", None],
        number=[1, 2],
        share=[0.5, np.nan],
        flag=[True, False],
        kept=pd.Series(["x", 1], dtype=object, index=[3, 5]),
        when=pd.to_datetime(["2024-01-01", "2024-01-02"]),
        some=pd.array([1, None], dtype="Int64"),
        images=[["a", "b"], ["c", "d"]],
    )
    for number in (0, 1):
        line, cells = found.line(number), found.cells(number)
        assert list(line.index) == list(cells)
        assert [type(value) for value in line] == [type(value) for value in cells.values()]
        pd.testing.assert_series_equal(line, pd.Series(cells, name=(3, 5)[number], dtype=object))


def test_documents_are_plain_and_leave_images_out_and_whole_rows_have_them() -> None:
    picture = png_base64("red", (40, 40))
    (sample,) = TableSamples("T", table(number=[1, 2], share=[np.nan, 1.0], image=[picture, "0"]))[:1]
    assert sample.doc == {"index": "7", "number": 1, "share": None}
    assert type(sample.doc["number"]) is int
    assert sample.full_doc() == {**sample.doc, "image": picture}


def test_authors_rows_are_their_own_to_change() -> None:
    found = table(text=["a", "b"])
    line = found.line(0)
    line["text"] = "changed"
    assert found.line(0)["text"] == found.cells(0)["text"] == "a"


def test_a_cut_character_has_an_identity_too() -> None:
    column = pd.Series(["a", "\ud83d"], dtype=object, index=[3, 5])
    assert table(text=column).digest() != table(text=["a", "?"]).digest()


def test_options_are_read_from_any_kind_of_row() -> None:
    row = {"index": "1", "B": 2.0, "A": "one", "C": np.nan, "D": " ", "question": "?"}
    assert options_of(row) == options_of(pd.Series(row)) == {"A": "one", "B": "2"}


def test_what_is_wrong_with_the_data_is_called_so_also_when_it_is_found_in_scoring(tmp_path: Path) -> None:
    columns = {"index": [0, 1], "question": ["q", "q"], "A": ["1", "1"], "B": ["2", "2"], "answer": ["Z", "A"]}
    file = write_table(tmp_path / "choices.tsv", columns)
    run = polymeter.evaluate("mock", ["choices"], include_paths=(file,), output=tmp_path / "run")
    broken, fine = read_samples(run.folder, "choices")
    assert broken["error"]["kind"] == "data"
    assert "row '0', column 'answer'" in broken["error"]["message"]
    assert fine["status"] == "ok"
    body = "def evaluate_sample(self, line, prediction, **kw):\n    return 1 / 0\n"
    other = run_toy(write_class(tmp_path / "lib", body), tmp_path / "other", limit=1)
    assert samples_of(other)[0]["error"]["kind"] == "score"


def test_a_table_that_was_fetched_for_a_class_says_so_when_it_is_measured_without(tmp_path: Path) -> None:
    published = write_table(tmp_path / "web/Toy.tsv", {"index": [0], "prompt": ["a red circle"]})
    body = "def evaluate(self, eval_file, **kw):\n    return {'mine': 1}\n"
    file = write_class(tmp_path / "lib", body)
    (tmp_path / "LMUData/Toy.tsv").unlink()
    file.write_text(file.read_text().replace("{'Toy': ''}", f"{{'Toy': {published.as_uri()!r}}}"))
    with_class = run_toy(file, tmp_path / "with")
    assert not any("columns alone" in note for note in with_class.results["notes"])
    without = polymeter.evaluate("mock", ["Toy"], output=tmp_path / "without")
    (note,) = [note for note in without.results["notes"] if "columns alone" in note]
    assert "dataset class ToyDataset, which is not included" in note


def test_a_table_in_the_place_of_a_fetched_one_is_its_own(tmp_path: Path) -> None:
    file = write_table(tmp_path / "X.tsv", {"index": [0], "prompt": ["a"]})
    assert origin_of(file) is None
    note_origin(file, "XDataset", "https://me:secret@example.org/X.tsv")
    assert origin_of(file) == "XDataset"
    assert "secret" not in (tmp_path / "X.tsv.origin.json").read_text()
    write_table(file, {"index": [0, 1], "prompt": ["a", "b"]})
    assert origin_of(file) is None
    (tmp_path / "X.tsv.origin.json").write_text("[]")
    assert origin_of(file) is None
