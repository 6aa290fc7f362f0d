"""Loading and dumping by suffix: what is written comes back, whole or not at all."""

import csv
import logging
import os
import pickle

import numpy as np
import pandas as pd
import pytest
from PIL import Image as pil

from polymeter.core.errors import DataError, PlanError
from polymeter.data.formats import dump, load
from tests.helpers.file_server import Reply, serve


@pytest.fixture
def table():
    return pd.DataFrame({"index": [1, 2], "text": ['tab\t"quote"', "two\nlines"], "number": [1.5, np.nan]})


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx", "pkl"])
def test_tables_come_back(suffix, table, tmp_path):
    dump(table, str(tmp_path / "new" / f"t.{suffix}"))
    pd.testing.assert_frame_equal(load(tmp_path / "new" / f"t.{suffix}"), table)
    assert [path.name for path in (tmp_path / "new").iterdir()] == [f"t.{suffix}"]


@pytest.mark.parametrize("suffix", ["json", "jsonl", "pkl"])
def test_lists_come_back(suffix, tmp_path):
    value = [{"a": 1, "b": [None, "ü"]}, {}]
    dump(value, tmp_path / f"v.{suffix}")
    assert load(tmp_path / f"v.{suffix}") == value


def test_numbers_of_numpy_are_written_as_json(tmp_path):
    dump({"n": np.int64(3), "x": np.float32(0.5), "b": np.bool_(True), "a": np.arange(3)}, tmp_path / "v.json")
    assert load(tmp_path / "v.json") == {"n": 3, "x": 0.5, "b": True, "a": [0, 1, 2]}
    assert '\n    "n": 3' in (tmp_path / "v.json").read_text()


def test_every_cell_of_csv_and_tsv_is_quoted_unless_told(table, tmp_path):
    dump(table, tmp_path / "t.tsv")
    assert (tmp_path / "t.tsv").read_text().startswith('"index"\t"text"\t"number"\n"1"\t')
    dump(table, tmp_path / "t.csv", quoting=csv.QUOTE_MINIMAL)
    assert (tmp_path / "t.csv").read_text().startswith("index,text,number\n1,")


def test_a_failed_dump_leaves_what_was_there(tmp_path):
    dump({"a": 1}, tmp_path / "v.json")
    with pytest.raises(DataError, match=r"Writing .*v\.json as json raised TypeError: A Image cannot be written"):
        dump({"a": 2, "b": pil.new("RGB", (1, 1))}, tmp_path / "v.json")
    assert load(tmp_path / "v.json") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["v.json"]


def test_answers_that_look_like_formulas_survive_excel(tmp_path):
    answers = pd.DataFrame({"prediction": ["=1+1", "http://x.org/" + "a" * 3000, "-5"]})
    dump(answers, tmp_path / "p.xlsx")
    assert load(tmp_path / "p.xlsx")["prediction"].astype(str).tolist() == answers["prediction"].tolist()


@pytest.mark.filterwarnings("ignore:Cell contents too long")
def test_cells_that_excel_cuts_off_are_told(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        dump(pd.DataFrame({"prediction": ["x" * 40_000, "y"]}), tmp_path / "p.xlsx")
    assert "1 cells of column 'prediction' are cut off" in caplog.text


def test_excel_without_its_package_says_which_extra(tmp_path, monkeypatch, table):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(PlanError, match=r"\[excel\]"):
        dump(table, tmp_path / "p.xlsx")


def test_pickles_are_read_as_data(tmp_path):
    class Calls:
        def __reduce__(self):
            return os.system, ("true",)

    (tmp_path / "p.pkl").write_bytes(pickle.dumps(Calls()))
    with pytest.raises(DataError, match=r"asks for (posix|nt)\.system"):
        load(tmp_path / "p.pkl")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.pickle", "folder.v1/a"])
def test_an_unknown_suffix_is_an_error(name, tmp_path):
    with pytest.raises(DataError, match="has no format that can be read"):
        load(tmp_path / name)
    with pytest.raises(DataError, match="has no format"):
        dump(1, tmp_path / name)


def test_the_format_may_be_told(tmp_path):
    (tmp_path / "a.txt").write_text("[1]")
    assert load(tmp_path / "a.txt", "json") == [1]


def test_bad_files_are_named(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(DataError, match=r"Reading .*a\.json as json raised JSONDecodeError"):
        load(tmp_path / "a.json")
    with pytest.raises(DataError, match=r"There is no file .*b\.csv"):
        load(tmp_path / "b.csv")


def test_urls_are_fetched_once_and_never_for_pickles(tmp_path, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with serve({"/t.json": Reply(b"[1]"), "/t.pkl": Reply(pickle.dumps(1))}) as server:
        assert [load(f"{server.url}/t.json", folder=tmp_path) for _ in range(2)] == [[1], [1]]
        with pytest.raises(DataError, match="is a pickle: those are only read from this machine"):
            load(f"{server.url}/t.pkl", folder=tmp_path)
        with pytest.raises(DataError, match="is not a local file"):
            load(f"{server.url}/t.json")
        assert server.asked == {"/t.json": 1}
