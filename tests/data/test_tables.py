"""Reading TSVs: as pandas does, with errors that name file and rows."""

import pandas as pd
import pytest

from polymeter.core.errors import DataError
from polymeter.data.tables.tsv import columns_of, is_nothing, read_texts, read_tsv, require_index, whole_numbers


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


TEXT = 'index\tn\tf\tmixed\tna\tflag\ttext\n1\t1\t1.5\t1\tNA\tTrue\t"two\nlines"\n2\t2\t\tx\tnull\tFalse\t=1\n'


def test_cells_are_what_pandas_makes_of_them(tmp_path):
    path = write(tmp_path / "t.tsv", TEXT)
    pd.testing.assert_frame_equal(read_tsv(path), pd.read_csv(path, sep="\t"))


def test_image_cells_stay_text_also_where_all_are_numbers(tmp_path):
    table = read_tsv(write(tmp_path / "t.tsv", "index\timage\timage_path\n1\t007\t1.50\n2\t\t3\n"))
    assert table["image"][0] == "007"
    assert table["image_path"].tolist() == ["1.50", "3"]
    assert is_nothing(table["image"][1])


@pytest.mark.parametrize("read", [read_tsv, read_texts])
def test_rows_that_all_have_a_cell_too_many_are_no_shifted_table(tmp_path, read):
    path = write(tmp_path / "t.tsv", "index\tprompt\n0\ta\t\n1\tb\t\n")
    assert read(path).to_dict("list") == {"index": [0, 1], "prompt": ["a", "b"]}
    write(path, "index\tprompt\n0\ta\tx\n1\tb\ty\n")
    with pytest.raises(DataError, match=r"A row of t\.tsv has 3 cells, and there are 2 columns.*t\.tsv:2.*tab"):
        read(path)


def test_texts_are_what_is_written(tmp_path):
    table = read_texts(write(tmp_path / "t.tsv", "index\tA\tB\tC\n01\t1.50\tTRUE\tNone\n2\t2.00\tFALSE\t\n"))
    assert table.iloc[0].tolist() == [1, "1.50", "TRUE", "None"]
    assert is_nothing(table["C"][1])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        (["0", 7, "-3"], [0, 7, -3]),
        (["1_0"], None),
        (["007"], None),
        (["１"], None),
        (["²"], None),
        ([1.0], None),
    ],
)
def test_whole_numbers_are_those_written_as_one(values, expected):
    assert whole_numbers(values) == expected


def test_the_header_alone(tmp_path):
    assert columns_of(write(tmp_path / "t.tsv", TEXT)) == ("index", "n", "f", "mixed", "na", "flag", "text")
    assert columns_of(write(tmp_path / "b.tsv", '"a b"\t"c\td"\r\n', "utf-8-sig")) == ("a b", "c\td")


@pytest.mark.parametrize("read", [read_tsv, columns_of])
def test_files_that_are_no_tables(tmp_path, read):
    (tmp_path / "bytes.tsv").write_bytes(b"index\xff\xfe\x00\t\n")
    for name, content in (("empty.tsv", ""), ("bytes.tsv", None)):
        if content is not None:
            write(tmp_path / name, content)
        with pytest.raises(DataError, match=name.replace(".", r"\.")):
            read(tmp_path / name)
    with pytest.raises(DataError, match=r"no\.tsv"):
        read(tmp_path / "no.tsv")


def test_a_row_with_too_many_cells_is_named(tmp_path):
    with pytest.raises(DataError, match=r"A row of t\.tsv has 3 cells, and there are 2 columns.*t\.tsv:3"):
        read_tsv(write(tmp_path / "t.tsv", "index\ta\n1\t2\n1\t2\t3\n"))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"id": [1], "prompt": ["x"]}, r"no column 'index'.*Its columns: id, prompt"),
        ({"index": [1, 2, 1, 3, 2]}, r"holds values twice: '1' in rows 1, 3; '2' in rows 2, 5\. \[here\]"),
        ({"index": ["a", None, "b"]}, r"column 'index' is empty in row 2\."),
        ({"index": [7] * 9}, r"'7' in rows 1, 2, 3, 4, 5 and 4 more"),
        ({"index": list(range(9)) * 2}, r"and 4 more"),
    ],
)
def test_rows_that_cannot_be_told_apart(table, message):
    with pytest.raises(DataError, match=message):
        require_index(pd.DataFrame(table), "here")


def test_an_index_of_texts_or_numbers_is_fine():
    require_index(pd.DataFrame({"index": [1, 2]}), "")
    require_index(pd.DataFrame({"index": ["1", "a"]}), "")


@pytest.mark.parametrize("cell", [None, float("nan"), pd.NA, pd.NaT])
def test_nothing(cell):
    assert is_nothing(cell)


@pytest.mark.parametrize("cell", ["", 0, [], "nan", False])
def test_something(cell):
    assert not is_nothing(cell)


def test_a_column_has_one_type_however_long_it_is(tmp_path):
    """Read in pieces, as pandas does of itself, the piece with the word would hold texts and the others numbers."""
    n_rows, others = 20_000, [f"c{number}" for number in range(60)]
    path = tmp_path / "long.tsv"
    cells = "\t".join("0" for _ in others)
    rows = [f"{number}\t{'word' if number == n_rows - 1 else 7}\t{cells}" for number in range(n_rows)]
    path.write_text("\n".join(["\t".join(["index", "answer", *others]), *rows]) + "\n", encoding="utf-8")
    assert {type(cell) for cell in read_tsv(path)["answer"]} == {str}
