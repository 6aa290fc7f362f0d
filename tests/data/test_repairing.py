"""Files with damaged text: which rows are marked, and that good files are not touched."""

import json

import pytest

from polymeter.core.errors import DataError
from polymeter.core.text.damaged_rows import check_undamaged, mark
from polymeter.data.repairing import repaired_json
from polymeter.data.tables.tsv import columns_of, read_tsv

HALF = b"\xed\xa0\x80"


def marked(text, place):
    return mark(place) in text


def test_a_damaged_row_is_found_by_its_mark():
    check_undamaged({"b": "x"})
    with pytest.raises(DataError, match=r"column 'b'.*\[t\.jsonl:2\]"):
        check_undamaged({"a": "1", "b": f"{mark('t.jsonl:2')}x"})


@pytest.mark.parametrize(
    ("content", "line", "byte"),
    [
        (b"index\tq\n1\t" + HALF + b"\n2\tx\n", 2, "0xed"),
        ("index\tq\n1\tx\n2\tcôte\n".encode("latin-1"), 3, "0xf4"),
        ("index\tgröße\n1\tx\n".encode("latin-1"), 1, "0xf6"),
    ],
)
def test_a_table_in_another_encoding_is_refused_with_line_and_byte(tmp_path, content, line, byte):
    path = tmp_path / "t.tsv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"t\.tsv is not UTF-8: line {line} has the byte {byte}\..*t\.tsv:{line}\]"):
        read_tsv(path)


def test_the_header_of_a_table_may_be_read_whatever_its_rows_hold(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_bytes(b"index\tq\n1\t" + HALF + b"\n2\tx\n")
    assert columns_of(path) == ("index", "q")


@pytest.mark.parametrize("bad", [b'{"q": "a\\ud800"}', b'{"q": "a\\uDFFF b"}', b'{"q": "' + HALF + b'"}'])
def test_the_damaged_lines_of_json_lines_are_marked(bad):
    good = b'{"q": "\\ud83d\\ude00 \\\\ud800"}'
    lines = repaired_json(good + b"\n" + bad + b"\n", "r.jsonl").split("\n")
    assert json.loads(lines[0]) == {"q": "😀 \\ud800"}
    assert marked(json.loads(lines[1])["q"], "r.jsonl:2")


def test_a_damaged_row_of_a_json_list_is_marked_with_its_number():
    text = repaired_json(b'[{"q": "a"},\n {"q": ["b", "\\ud800"]}]', "r.json")
    assert json.loads(text)[0] == {"q": "a"}
    assert marked(json.loads(text)[1]["q"][1], "r.json, row 2")


@pytest.mark.parametrize(
    "data", [b'{"q": "\\ud83d\\ude00"}\n', b'{"q": "\\\\ud800"}\n', b"[1, 2]", b"no json \\ud800\n"]
)
def test_good_and_broken_json_is_not_repaired(data):
    assert repaired_json(data, "r.jsonl") is None
