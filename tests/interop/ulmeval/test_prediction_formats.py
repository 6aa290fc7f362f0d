"""What a class of VLMEvalKit reads of a table that it wrote: the values, or at parity what the file makes of them.

``vlmeval_cells.json`` holds columns of cells and what VLMEvalKit at e8e78f0 gave back of them after its ``dump`` and
``load``, as ``xlsx`` (XlsxWriter 3.3.1, openpyxl 3.1.5) and as ``tsv`` (pandas 3.1.1); ``None`` is a missing value, and
``repeat`` a beginning and a character with its number.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.guest_context import guest_context_with
from polymeter.core.names.parity import parity_with
from polymeter.data.tables.exact import exact_table, keeping_exact
from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.ulmeval.prediction_formats import check_format, prediction_format
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder

CASES = json.loads(Path(__file__).with_name("vlmeval_cells.json").read_text(encoding="utf-8"))


@pytest.fixture
def smp() -> Any:
    switch_on_shims()
    return importlib.import_module("vlmeval.smp")


def cell_of(value: Any) -> Any:
    """A cell as it is stored in the list of cases."""
    if isinstance(value, dict):
        beginning, sign, count = value["repeat"]
        return beginning + sign * count
    return value


def plain(values: Any) -> list[Any]:
    """Cells as they can be compared: a missing one is ``None``."""
    cells = [value.item() if hasattr(value, "item") else value for value in values]
    return [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]


def table_of(case: dict[str, Any]) -> pd.DataFrame:
    cells = [cell_of(value) for value in case["cells"]]
    is_plain = all(isinstance(cell, (int, float)) for cell in cells if cell is not None) and None not in cells
    column = pd.Series(cells, dtype=None if is_plain else object)
    return pd.DataFrame({"index": range(len(cells)), "prediction": column})


@pytest.mark.parametrize("kind", ["xlsx", "tsv"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_cells_at_parity_are_what_the_file_gives(case: dict[str, Any], kind: str, smp: Any, tmp_path: Path) -> None:
    with guest_context_with(parity=parity_with("ulmeval")):
        smp.dump(table_of(case), str(tmp_path / f"x.{kind}"))
        found = plain(smp.load(str(tmp_path / f"x.{kind}"))["prediction"])
    expected = [cell_of(value) for value in case[kind]]
    if case["name"] == "inf":
        expected = [float(value) for value in expected]
    assert found == expected


@pytest.mark.parametrize("kind", ["xlsx", "tsv", "csv"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_cells_are_those_that_were_written(case: dict[str, Any], kind: str, smp: Any, tmp_path: Path) -> None:
    table = table_of(case)
    with keeping_exact(tmp_path):
        smp.dump(table, str(tmp_path / f"x.{kind}"))
        found = smp.load(str(tmp_path / f"x.{kind}"))
    printed = [str(cell) if isinstance(cell, list) else cell for cell in table["prediction"]]
    assert plain(found["prediction"]) == plain(printed)
    assert plain(found["index"]) == list(range(len(table)))
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"x.{kind}"]


def test_a_table_has_the_labels_and_missing_cells_of_a_file(tmp_path: Path, smp: Any) -> None:
    table = pd.DataFrame({"a": [None, "x"], "b": ["007", ""]}, index=[5, 5])
    with keeping_exact(tmp_path):
        smp.dump(table, str(tmp_path / "x.xlsx"))
        found = smp.load(str(tmp_path / "x.xlsx"))
    assert list(found.index) == [0, 1]
    assert math.isnan(found["a"][0])
    assert list(found["b"]) == ["007", ""]


def test_a_file_that_was_changed_by_other_means_is_read_as_it_is(tmp_path: Path, smp: Any) -> None:
    file = tmp_path / "x.tsv"
    with keeping_exact(tmp_path):
        smp.dump(pd.DataFrame({"a": ["007"]}), str(file))
        assert exact_table(file) is not None
        file.write_text("a\n8\n")
        assert exact_table(file) is None
        assert list(smp.load(str(file))["a"]) == [8]
    smp.dump(pd.DataFrame({"a": ["007"]}), str(file))
    assert exact_table(file) is None
    assert list(smp.load(str(file))["a"]) == [7]


def test_rows_as_json(tmp_path: Path, smp: Any) -> None:
    smp.dump(pd.DataFrame({"index": [1], "prediction": ["007"]}), str(tmp_path / "x.json"))
    assert smp.load(str(tmp_path / "x.json")) == [{"index": 1, "prediction": "007"}]


@pytest.mark.parametrize(
    ("named", "suffix", "kind", "why"),
    [
        (None, "", "xlsx", "the default"),
        ("TSV", "", "tsv", "in any case"),
        ("json", "", "json", "named"),
        ("tsv", "_score", "tsv", "scores of rows are like predictions"),
        ("tsv", "_acc", "csv", "numbers have a format of their own"),
        ("tsv", "_judge_tmp", "pkl", "what is read again"),
        ("tsv", "_rating", "json", "ratings"),
    ],
)
def test_names_of_files(
    named: str | None, suffix: str, kind: str, why: str, smp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRED_FORMAT", raising=False)
    if named:
        monkeypatch.setenv("PRED_FORMAT", named)
    if suffix:
        assert smp.get_intermediate_file_path("d/m.1_X.xlsx", suffix) == f"d/m.1_X{suffix}.{kind}", why
    else:
        assert smp.get_pred_file_path("d", "m.1", "X") == f"d/m.1_X.{kind}", why
    assert smp.get_eval_file_path("d/m_X.xlsx", "gpt") == "d/m_X_gpt.csv"
    older = importlib.import_module("ulmeval.smp")
    assert older.get_pred_file_path("d", "m.1", "X") == "d/m.1_X.pkl"


def test_a_format_that_is_unknown_or_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRED_FORMAT", "xls")
    with pytest.raises(PlanError, match=r"'xls'.*xlsx") as caught:
        prediction_format()
    assert caught.value.where == "PRED_FORMAT"
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(PlanError, match=r"openpyxl.*PRED_FORMAT=tsv"):
        check_format("xlsx")
    check_format("tsv")
    monkeypatch.setenv("EVAL_FORMAT", "jsn")
    with pytest.raises(PlanError, match=r"Scores cannot be written as 'jsn'.*json"):
        check_format("tsv")


CLASS = """
from {kit}.smp import *

class Mine(TextBaseDataset):
    TYPE = 'VQA'
    DATASET_URL = {{'Mine': ''}}

    def __init__(self, dataset='Mine', **kwargs):
        self.dataset_name = dataset
        self.data = pd.DataFrame({{'index': {indices}, 'question': ['a', 'b', 'c'], 'image': ['x', 'y', 'z']}})

    def build_prompt(self, line):
        assert type(line['index']) is type(self.data['index'][0])
        return [line['question']]

    def evaluate(self, eval_file, **kwargs):
        data = load(eval_file).sort_values(by='index')
        last = list(self.data['index'])[-1]
        return {{
            'same_type': int(all(type(x) is type(last) for x in data['index'])),
            'is_text': int(isinstance(last, str)),
            'first': int(str(data['index'].iloc[0]).strip('x')),
            'has_image': int('image' in data),
            'is_pickle': int(eval_file.endswith('.pkl')),
            'is_exact': int('007' in [x[0] if isinstance(x, list) else x for x in data['prediction']]),
        }}
"""


@pytest.mark.parametrize(
    ("kit", "indices", "expected", "why"),
    [
        ("vlmeval", "[10, 9, 2]", {"is_text": 0, "first": 2}, "whole numbers stay numbers, and are sorted as such"),
        ("vlmeval", "list(np.array([10, 9, 2]))", {"is_text": 0, "first": 2}, "so do NumPy's"),
        ("vlmeval", "['10', '9', '2']", {"is_text": 1, "first": 10}, "texts stay texts"),
        ("vlmeval", "['10x', '9x', '2x']", {"is_text": 1, "first": 10}, "of any kind"),
        ("ulmeval", "[10, 9, 2]", {"is_text": 1, "first": 10}, "ULMEvalKit's runner makes texts of them"),
    ],
)
def test_an_index_is_what_the_class_made(
    kit: str, indices: str, expected: dict[str, int], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRED_FORMAT", raising=False)
    file = tmp_path / "mine.py"
    file.write_text(CLASS.format(kit=kit, indices=indices))
    run = polymeter.evaluate(
        "mock", "Mine", include_paths=[file], output=tmp_path / "run", model_args={"answer": "007"}
    )
    found = {item["metric"]: item["value"] for item in run.results["tasks"]["Mine"]["results"]}
    assert {name: found[name] for name in expected} == expected, why
    assert found["is_pickle"] == found["has_image"] == (kit == "ulmeval")
    assert found["same_type"] == found["is_exact"] == 1
    names = ["10x", "9x", "2x"] if "x" in indices else ["10", "9", "2"]
    assert [sample["id"] for sample in read_samples(RunFolder(tmp_path / "run"), "Mine")] == names


def test_a_class_that_reads_no_rows_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRED_FORMAT", "json")
    file = tmp_path / "mine.py"
    file.write_text(CLASS.format(kit="vlmeval", indices="[1, 2, 3]"))
    run = polymeter.evaluate("mock", "Mine", include_paths=[file], output=tmp_path / "run")
    assert run.exit_code == 1
    (note,) = [note for note in run.results["notes"] if "sort_values" in note]
    assert "set it to xlsx or tsv" in note


def test_a_script_s_predictions_are_a_spreadsheet(smp: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRED_FORMAT", raising=False)

    class Dataset:
        dataset_name = "Mine"
        data = pd.DataFrame({"index": [10, 9], "question": ["a", "b"], "image": ["x", "y"]})

        def build_prompt(self, line: Any) -> list[str]:
            return [f"{line['question']} {line['index'] + 1}"]

    class Model:
        def generate(self, message: list[str], dataset: str) -> str:
            return f"{dataset}: {message[0]}"

    importlib.import_module("vlmeval.inference").infer_data_job(Model(), str(tmp_path), "m", Dataset())
    found = smp.load(str(tmp_path / "m_Mine.xlsx"))
    assert found.to_dict("list") == {
        "index": [10, 9],
        "question": ["a", "b"],
        "prediction": ["Mine: a 11", "Mine: b 10"],
    }
