"""Rows know how their cells are written: which ones, from which files, and at what cost."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import DataError
from polymeter.core.text.codec import jsonable
from polymeter.core.text.written_numbers import WrittenFloat, WrittenInt, WrittenTruth, number_of, plain_number
from polymeter.data import Opening, Source, know_written, make_rows, open_plain, open_splits
from polymeter.data.opening.plain import PlainRows
from polymeter.data.tables.json_rows import JsonRows, Keyed, as_written, is_exact


def lines(file: Path, *rows: Any) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def opened(folder: Path, files: Any, split: str = "train", **more: Any) -> Any:
    """The rows of a split as a task without code gets them, read through ``datasets``."""
    source = Source("json", None, {"data_files": files}, folder)
    dataset = open_splits(source, [split], cache_dir=folder / "cache")[split]
    rows = make_rows(dataset, what="made rows", cache_dir=folder / "cache")
    know_written(rows, dataset, Opening(source, split, {}, folder / "cache"), **more)
    return rows


DAYS = [{"t": f"1969-07-{day:02}", "n": day} for day in range(1, 11)]


def test_slices_and_several_files_keep_rows_and_cells_together(tmp_path: Path) -> None:
    lines(tmp_path / "a.jsonl", *DAYS[:4])
    (tmp_path / "b.jsonl").write_text("\n" + "\n\n".join(json.dumps(row) for row in DAYS[4:]) + "\n")
    files = {"train": ["a.jsonl", "b.jsonl"]}
    assert opened(tmp_path, files).docs(0, 10) == DAYS
    assert opened(tmp_path, files, "train[3:6]").docs(0, 9) == DAYS[3:6]
    assert opened(tmp_path, files, "train[50%:]").doc(1) == DAYS[6]
    assert opened(tmp_path, files).docs(3, 6) == DAYS[3:6], "over the border of two files"


def test_a_slice_of_a_local_folder(tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    lines(tmp_path / "rows" / "test.jsonl", *DAYS)
    source = Source("./rows", None, {}, tmp_path)
    dataset = open_splits(source, ["test[2:5]"], cache_dir=tmp_path / "cache")["test[2:5]"]
    rows = make_rows(dataset, what="made rows")
    know_written(rows, dataset, Opening(source, "test[2:5]", {}, tmp_path / "cache"))
    assert rows.docs(0, 3) == DAYS[2:5]


def test_ordinary_rows_know_nothing_and_stay_what_they_were(tmp_path: Path) -> None:
    ordinary = [{"q": "x", "n": 1, "f": 0.5, "l": ["a", "b"], "m": {"k": 1}, "t": True, "z": None} for _ in range(3)]
    lines(tmp_path / "rows.jsonl", *ordinary)
    source = Source("json", None, {"data_files": "rows.jsonl"}, tmp_path)
    dataset = open_splits(source, ["train"], cache_dir=tmp_path / "cache")["train"]
    rows, before = make_rows(dataset, what="made rows"), make_rows(dataset, what="made rows")
    know_written(rows, dataset, Opening(source, "train", {}, tmp_path / "cache"))
    assert (rows.written, rows.written_fingerprint, rows.fingerprint) == (frozenset(), "", before.fingerprint)
    assert [*map(repr, rows.docs(0, 3))] == [*map(repr, before.docs(0, 3))]


def test_rows_that_are_read_plainly_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polymeter.data.tables import known_rows

    lines(tmp_path / "rows.jsonl", {"q": "x", "n": 1, "l": ["a"]})
    source = Source("json", None, {"data_files": {"test": "rows.jsonl"}}, tmp_path)
    plain = open_plain(source, ["test"], overrides={})
    assert plain is not None
    assert isinstance(plain["test"], PlainRows)
    monkeypatch.setattr(known_rows, "JoinedRows", lambda *_: pytest.fail("the file is read once more"))
    know_written(plain["test"], None, Opening(source, "test", {}, None))


def test_the_fingerprint_of_rows_with_other_values_stays_too(tmp_path: Path) -> None:
    lines(tmp_path / "rows.jsonl", *DAYS)
    source = Source("json", None, {"data_files": "rows.jsonl"}, tmp_path)
    dataset = open_splits(source, ["train"], cache_dir=tmp_path / "cache")["train"]
    before = make_rows(dataset, what="made rows").fingerprint
    rows = opened(tmp_path, "rows.jsonl")
    assert rows.fingerprint == before, "answers to old prompts are found by it"
    assert rows.written == {"t"}
    first = rows.written_fingerprint
    lines(tmp_path / "rows.jsonl", {**DAYS[0], "t": "1969-07-01T00:00:00"}, *DAYS[1:])
    assert opened(tmp_path, "rows.jsonl").written_fingerprint != first


def test_cells_beside_those_that_were_read(tmp_path: Path) -> None:
    from datetime import datetime

    from polymeter.data import written_cell

    lines(tmp_path / "rows.jsonl", *DAYS)
    row = opened(tmp_path, "rows.jsonl", columns=["t"], in_place=False).doc(0)
    assert row["t"] == datetime(1969, 7, 1)  # noqa: DTZ001
    assert written_cell(row, "t") == "1969-07-01"
    row["t"] = "changed"
    assert written_cell(row, "t") == "changed"


def test_rows_of_many_lines_are_read_when_they_are_used(tmp_path: Path) -> None:
    file = lines(tmp_path / "rows.jsonl", *({"t": number} for number in range(3000)))
    rows = JsonRows(file)
    assert len(rows) == 3000
    assert rows._held is None
    assert [row["t"] for row in rows.rows(2990, 4000)] == [*range(2990, 3000)]
    assert rows.rows(3000, 3001) == []


def test_a_file_that_changes_is_no_source_of_rows(tmp_path: Path) -> None:
    file = lines(tmp_path / "rows.jsonl", {"t": 1}, {"t": 2})
    rows = JsonRows(file)
    lines(file, {"t": 1}, {"t": 2}, {"t": 3})
    with pytest.raises(DataError, match="changed while it is used"):
        rows.rows(0, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}]),
        ('\ufeff[{"a": 1}]', [{"a": 1}]),
        ('{\n "a": [1, 2]\n}', [{"a": 1}, {"a": 2}]),
        ('{\n "a": "x"\n}', [{"a": "x"}]),
        ('\n{"a": 1}\n\n{"a": 2}', [{"a": 1}, {"a": 2}]),
    ],
)
def test_forms_of_json(tmp_path: Path, text: str, expected: list[dict[str, Any]]) -> None:
    (tmp_path / "rows.json").write_text(text)
    assert [*JsonRows(tmp_path / "rows.json").all()] == expected


def test_a_key_that_stands_twice_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n{"b": {"c": 1, "c": 2}}\n')
    with pytest.raises(DataError, match=r"has the key 'c' twice.*rows\.jsonl:2"):
        list(JsonRows(tmp_path / "rows.jsonl").all())


@pytest.mark.parametrize(
    ("read", "written", "expected"),
    [
        (5.0, 5, 5),
        (2.5, 2.5, 2.5),
        ([1.0, 2.5], [1, 2.5], [1, 2.5]),
        ({"a": 1, "b": None}, {"a": 1}, {"a": 1}),
        ({"a": {"b": 1.0}}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, {"b": 1}, {"b": 1}),
        (True, True, True),
        (None, "x", "x"),
    ],
)
def test_a_cell_as_it_was_written(read: Any, written: Any, expected: Any) -> None:
    found = as_written(read, written)
    assert repr(found) == repr(expected)
    assert (found is read) == (repr(read) == repr(expected)), "what is the same is not made again"


def test_an_object_without_a_key_of_others_has_none_for_whoever_asks() -> None:
    found = as_written({"a": 1, "b": None}, {"a": 1})
    assert (found["b"], "b" in found, list(found)) == (None, False, ["a"])
    with pytest.raises(KeyError):
        found["c"]
    assert type(pickle.loads(pickle.dumps(found))) is Keyed


@pytest.mark.parametrize(
    ("kind", "cell", "same"),
    [
        ("string", "x", True),
        ("string", 1, False),
        ("int64", 1, True),
        ("int64", True, False),
        ("list<item: string>", ["x", None], True),
        ("list<item: int64>", ["x"], False),
        ("list<element: list<item: bool>>", [[True]], True),
    ],
)
def test_which_types_hold_cells_unchanged(kind: str, cell: Any, same: bool) -> None:
    check = is_exact(kind)
    assert check is not None
    assert check(cell) is same


@pytest.mark.parametrize("kind", ["double", "timestamp[s]", "struct<a: int64>", "list<item: double>", "null"])
def test_which_types_may_hold_others(kind: str) -> None:
    assert is_exact(kind) is None


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("7", 7, int),
        ("007", 7, WrittenInt),
        ("+5", 5, WrittenInt),
        ("2.5", 2.5, float),
        ("2.50", 2.5, WrittenFloat),
        ("1e5", 1e5, WrittenFloat),
        ("True", True, bool),
        ("true", True, WrittenTruth),
        ("FALSE", False, WrittenTruth),
        ("18446744073709551616", 2**64, int),
    ],
)
def test_numbers_keep_their_text(text: str, value: Any, kind: type) -> None:
    found = number_of(text)
    assert (found == value, type(found), str(found), f"{found}", "%s" % (found,)) == (True, kind, text, text, text)  # noqa: UP031
    assert type(plain_number(found)) is type(value)
    again = pickle.loads(pickle.dumps(found))
    assert (type(again), str(again), again) == (kind, text, found)
    assert str(jsonable(found)) == text, "files for readers show what is written"


@pytest.mark.parametrize("text", ["one", "1_000", "١٢", "1,5", "", "5 %"])
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize(
    ("text", "shown"), [("1.50", "1.50"), ("1e5", "1e5"), ("007", "'007'"), ("true", "'true'"), ("+5", "'+5'")]
)
def test_a_number_in_a_list_is_written_so_that_python_reads_it(text: str, shown: str) -> None:
    assert repr([number_of(text)]) == f"[{shown}]"


def test_a_number_is_formatted_as_one() -> None:
    assert f"{number_of('1.50'):.1f}" == "1.5"
