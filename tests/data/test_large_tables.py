"""Tables whose images stay in a file: the same table, but for where the images are."""

import copy
import gc
import pickle
import tempfile

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polymeter.core.errors import DataError
from polymeter.data.pickles import read_pickle, write_pickle
from polymeter.data.stored_column import StoredColumn, held_cells
from polymeter.data.tables import large as large_tables
from polymeter.data.tables import stored_text
from polymeter.data.tables.stored_text import StoredText
from polymeter.data.tables.tsv import read_texts, read_tsv

LONG = "QUJD" * 400
CELLS = st.one_of(
    st.sampled_from(["", "NA", "7", "007", "1.50", "true", LONG, LONG + "=", '"', 'a"b', "a\tb", "a\nb", "a\rb", " "]),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
    st.text('ab\r\n\t"', min_size=1200, max_size=1300),
)


def written(path, rows):
    frame = pd.DataFrame(rows, columns=["index", "image", "question", "image_path"], dtype=object)
    frame.to_csv(path, sep="\t", index=False, quoting=1)
    return path


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(large_tables, "LARGE_BYTES", 0)


@pytest.fixture
def table(tmp_path, large):
    rows = [[number, f"{LONG}{number}" if number != 2 else "", f"q{number}", ""] for number in range(5)]
    return read_tsv(written(tmp_path / "t.tsv", rows))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), min_size=1, max_size=7),
    read=st.sampled_from([read_tsv, read_texts]),
    most=st.integers(1, 3),
)
def test_a_table_is_the_one_that_is_read_whole(tmp_path, rows, read, most):
    path = written(tmp_path / "t.tsv", rows)
    expected = read(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_tables, "LARGE_BYTES", 0)
        patch.setattr(large_tables, "_MOST_ROWS", most)
        found = read(path)
    changed = found.assign(image=found["image"].astype(object))
    pd.testing.assert_frame_equal(changed, expected)
    is_long = [isinstance(cell, str) and len(cell) > stored_text.LONGEST_HELD for cell in expected["image"]]
    assert [isinstance(cell, StoredText) for cell in held_cells(found["image"])] == is_long


@pytest.mark.parametrize(
    "text",
    [
        f"index\timage\tq\n1\t{LONG}\n2\t{LONG}\tb\n",  # a short row
        f"\ufeffindex\timage\tq\n1\t{LONG}\ta\n\n2\t{LONG}\tb\n",
        f"index\timage\timage\tq\n1\t{LONG}\t{LONG}\ta\n",
        f"index\timage\tq\r\n1\t{LONG}\ta\r\n2\tx\tb\r\n",
        f"index\timage\tq\n1\t{LONG}\ta\t\n2\tx\tb\t\n",
    ],
)
def test_odd_tables_are_the_same(tmp_path, text, monkeypatch):
    (tmp_path / "t.tsv").write_text(text, newline="")
    expected = read_tsv(tmp_path / "t.tsv")
    monkeypatch.setattr(large_tables, "LARGE_BYTES", 0)
    found = read_tsv(tmp_path / "t.tsv")
    pd.testing.assert_frame_equal(found.assign(image=found["image"].astype(object)), expected)


@pytest.mark.parametrize("more", ["\tb", "\tb\tc", "\t\tc", "\tb\tc\td"])
@pytest.mark.parametrize("most", [1, 2, 1024])
def test_a_row_that_is_too_wide_is_an_error(tmp_path, monkeypatch, more, most):
    (tmp_path / "t.tsv").write_text(f"index\timage\n1\t{LONG}\n2\t{LONG}{more}\n3\t{LONG}\n")
    with pytest.raises(DataError) as whole:
        read_tsv(tmp_path / "t.tsv")
    monkeypatch.setattr(large_tables, "LARGE_BYTES", 0)
    monkeypatch.setattr(large_tables, "_MOST_ROWS", most)
    with pytest.raises(DataError) as large:
        read_tsv(tmp_path / "t.tsv")
    assert (large.value.where, large.value.hint) == (whole.value.where, whole.value.hint)


def test_a_row_that_is_no_text_is_named(tmp_path, monkeypatch):
    data = f"index\timage\tq\n1\t{LONG}\ta\n2\t{LONG}\t?\n3\t{LONG}\tc\n".encode().replace(b"?", b"\xff")
    (tmp_path / "t.tsv").write_bytes(data)
    for _ in range(2):
        with pytest.raises(DataError, match=r"t\.tsv is not UTF-8: line 3 has the byte 0xff\."):
            read_tsv(tmp_path / "t.tsv")
        monkeypatch.setattr(large_tables, "LARGE_BYTES", 0)


def test_without_room_for_the_file_the_table_is_read_whole(tmp_path, large, monkeypatch, caplog):
    def refuse(*args, **kwargs):
        raise OSError(28, "No space left on device")

    path = written(tmp_path / "t.tsv", [[1, LONG, "q", ""]])
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert read_tsv(path)["image"].dtype == object
    assert "No space left on device" in caplog.text


def test_a_small_table_has_plain_columns(tmp_path):
    assert read_tsv(written(tmp_path / "t.tsv", [[1, LONG, "q", ""]]))["image"].dtype == object


def test_cells_are_texts_wherever_code_takes_them(table):
    texts = [f"{LONG}{number}" if number != 2 else None for number in range(5)]
    assert [None if pd.isna(cell) else cell for cell in table["image"]] == texts
    assert table.iloc[3]["image"] == table["image"][3] == table.loc[3, "image"] == table.at[3, "image"] == texts[3]
    assert type(table.iloc[3]["image"]) is str
    assert dict(table.iloc[1])["image"] == texts[1]
    assert [row["image"] for _, row in table.iterrows()][4] == texts[4]
    assert [row.image for row in table.itertuples()][4] == texts[4]
    assert table.to_dict("records")[0]["image"] == texts[0]
    assert table["image"].tolist()[0] == texts[0]
    assert table["image"].isna().tolist() == [False, False, True, False, False]
    assert table[table["image"].notna()]["image"].iloc[2] == texts[3]
    assert table.dropna(subset=["image"])["index"].tolist() == [0, 1, 3, 4]
    assert table["image"].fillna("none")[2] == "none"
    assert (table["image"] == texts[1]).tolist() == [False, True, False, False, False]
    assert (table["image"] != texts[1]).tolist() == [True, False, True, True, True]
    assert table["image"].map(lambda cell: len(str(cell))).tolist() == [1601, 1601, 3, 1601, 1601]
    assert table["image"].apply(len_or_none).isna().sum() == 1
    assert table["image"].str.len().iloc[0] == 1601
    assert table["image"].astype(str).iloc[0] == texts[0]
    assert texts[0] in table.to_csv()
    assert texts[0] in table.to_json()
    assert repr(table)
    assert repr(table["image"].array)


def len_or_none(cell):
    return len(cell) if isinstance(cell, str) else None


def test_tables_are_changed_cut_and_joined_as_ever(table):
    first = f"{LONG}0"
    assert table.copy().drop(columns="question").sort_values("index", ascending=False).iloc[-1]["image"] == first
    both = pd.concat([table, pd.DataFrame({"index": [9], "image": ["short"]})], ignore_index=True)
    assert both["image"].iloc[[0, 5]].tolist() == [first, "short"]
    joined = table.merge(pd.DataFrame({"index": [0, 9], "n": [1, 2]}), on="index", how="outer")
    assert joined["image"].tolist()[0] == first
    assert pd.isna(joined["image"].iloc[-1])
    assert {len(part) for _, part in table.groupby("question")} == {1}
    assert not table["image"].duplicated().any()
    table.loc[1, "image"] = "other"
    table.at[3, "image"] = ["a", "b"]
    assert table["image"].tolist()[1] == "other"
    assert table["image"][3] == ["a", "b"]
    table["image"] = ["x"] * 5
    assert not isinstance(table["image"].array, StoredColumn)


def test_copies_and_pickles_hold_the_texts(table, tmp_path):
    assert copy.deepcopy(table)["image"][0] == f"{LONG}0"
    expected = table.assign(image=table["image"].astype(object))
    write_pickle(table, tmp_path / "a.pkl")
    pd.testing.assert_frame_equal(read_pickle(tmp_path / "a.pkl"), expected)
    for again in (pickle.loads(pickle.dumps(table)), read_pickle(pickle.dumps(table))):
        pd.testing.assert_frame_equal(again.assign(image=again["image"].astype(object)), expected)


def test_the_file_ends_with_the_table(tmp_path, large):
    table = read_tsv(written(tmp_path / "t.tsv", [[1, LONG, "q", ""]]))
    part = table.iloc[[0]]["image"]
    del table
    gc.collect()
    assert part.iloc[0] == LONG
    file = part.array.held[0]._file._file
    assert not file.closed
    del part
    gc.collect()
    assert file.closed
