"""Where tables and images lie, and how they are called."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context_with
from polymeter.tasks.table.files.roots import (
    LMUDataRoot,
    file_stem,
    find_data_root,
    image_root,
    is_offline_here,
    named_table,
    table_names,
)


def test_the_variable_names_the_folder_which_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path / "a" / "b"))
    assert find_data_root() is None
    assert LMUDataRoot() == str(tmp_path / "a" / "b")
    assert find_data_root() == tmp_path / "a" / "b"
    assert image_root("X/Y").parent == tmp_path / "a" / "b" / "images"


def test_without_it_the_folder_is_in_home_and_not_made(tmp_path, monkeypatch):
    monkeypatch.delenv("LMUData", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LMUDataRoot() == str(tmp_path / "LMUData")
    assert find_data_root() is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMUData", str(tmp_path / "file" / "x"))
    with pytest.raises(DataError, match=r"cannot be made.*\$LMUData"):
        LMUDataRoot()


def test_a_run_puts_files_in_the_place_of_tables(tmp_path):
    (tmp_path / "X.tsv").write_text("index\n")
    assert named_table("X") is None
    with guest_context_with(data={"X": str(tmp_path / "X.tsv"), "Y": "none.tsv"}, is_offline=True):
        assert named_table("X") == tmp_path / "X.tsv"
        assert named_table("Z") is None
        assert is_offline_here()
        with pytest.raises(DataError, match=r"--data Y=none\.tsv: there is no file .*none\.tsv"):
            named_table("Y")
        with guest_context_with(data={"X": str(tmp_path)}):
            assert named_table("X") == tmp_path / "X.tsv"
    assert named_table("X") is None
    assert not is_offline_here()


@pytest.mark.parametrize(
    ("name", "url", "expected"),
    [
        ("X", "", ("X.tsv",)),
        ("X", "https://h/d/Set.tsv", ("X.tsv", "Set.tsv")),
        ("X", "https://h/d/My%20Set.tsv?download=1", ("X.tsv", "My Set.tsv")),
        ("X", "https://h/X.tsv", ("X.tsv",)),
        ("X", "https://h/d/..", ("X.tsv",)),
    ],
)
def test_both_naming_schemes(name, url, expected):
    assert table_names(name, url) == expected


@pytest.mark.parametrize("name", ["1", "MMBench_DEV_EN", "a-b.c", "Größe 3", "数据"])
def test_plain_names_are_kept(name):
    assert file_stem(name) == name


NAMES = st.text(max_size=200) | st.sampled_from(
    ["..", ".", "../../x", "/etc/x", "a/b", "a\\b", "\0", "", " ", "x" * 300]
)


@given(NAMES, NAMES)
def test_any_name_makes_one_file_name_of_its_own(one, other):
    stem = file_stem(one)
    path = Path("/root", f"{stem}_0.png")
    assert path.parent == Path("/root")
    assert stem not in ("", ".", "..")
    assert len(stem.encode()) < 240
    assert "\0" not in stem
    assert (stem == file_stem(other)) == (one == other)
