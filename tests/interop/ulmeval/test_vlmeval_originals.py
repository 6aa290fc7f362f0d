"""VLMEvalKit's numbers for made-up rows and scripted answers, with a spreadsheet's changes and without.

``vlmeval_originals.json`` holds what the classes of VLMEvalKit at e8e78f0 gave. Each was made by its constructor over a
table of the rows (with one red image), and the answers were put into the column ``prediction`` of its ``data``. The
column ``image`` was dropped, the table dumped as ``xlsx`` (``spreadsheet``) and as ``pkl`` (``exact``), and
``evaluate`` called on either file with ``model='exact_matching'``. GSM8K-V was run in the mode ``text_only``.

The classes that are run here are written in their idioms; with ``VLMEVALKIT`` naming a checkout, its own are.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.request import Request
from polymeter.interop.ulmeval.tasks.results.evaluate import remove_dead_links
from polymeter.models.mock import MockBatch
from polymeter.store.folder import RunFolder
from tests.helpers.toy_datasets import png_base64

HERE = Path(__file__).parent
CASES = json.loads((HERE / "vlmeval_originals.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSM8K_V_MODE", "text_only")
    monkeypatch.delenv("PRED_FORMAT", raising=False)


def measured(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    dataset: str,
    rows: Sequence[Mapping[str, Any]],
    answers: Sequence[str],
    *,
    parity: str = "none",
    module: str = "",
) -> tuple[dict[str, Any], RunFolder]:
    """A run of a class over rows with these answers: its numbers and its folder."""
    folder.mkdir(exist_ok=True)
    monkeypatch.setenv("LMUData", str(folder))
    checkout = os.environ.get("VLMEVALKIT")
    classes = Path(checkout, "vlmeval", "dataset", f"{module}.py") if checkout else HERE / "guests/vlmeval/dataset"
    table = folder / f"{dataset}.tsv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, ["index", "image", *(name for name in rows[0] if name != "index")], delimiter="\t"
        )
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow({"image": png_base64("red", (16, 16)) if not number else rows[0]["index"], **row})
    said = {row["question"]: answer for row, answer in zip(rows, answers, strict=True)}

    def answer(request: Request) -> str:
        found = re.search(r"question \d+", request.text)
        assert found is not None
        return said[found[0]]

    run = polymeter.evaluate(
        MockBatch(answer),
        dataset,
        include_paths=[classes],
        data={dataset: str(table)},
        output=folder / "run",
        cache_dir=folder / "cache",
        parity=parity,
        dialect_options={"tsv": {"judge_args": {"model": "exact_matching"}}},
    )
    results = run.results["tasks"][dataset]["results"]
    return {item["metric"]: item["value"] for item in results}, run.folder


def flattened(returned: Any) -> dict[str, float]:
    """What ``evaluate`` returned, as names and numbers: the rows of a table by their first column, if that is text."""
    if isinstance(returned, dict):
        return {name: float(value) for name, value in returned.items()}
    labels = [row.get("split") for row in returned]
    return {
        f"{label}/{name}" if label else name: float(value)
        for label, row in zip(labels, returned, strict=True)
        for name, value in row.items()
        if name != "split"
    }


def check(found: Mapping[str, Any], expected: Any) -> None:
    wanted = flattened(expected)
    assert found
    assert found == pytest.approx({name: wanted[name] for name in found})


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}: {case['why']}")
def test_the_values_that_were_written(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, folder = measured(
        tmp_path, monkeypatch, case["dataset"], case["rows"], case["answers"], module=case["module"]
    )
    check(found, case["exact"])
    beside = [file.name for file in (folder.artifacts / case["dataset"]).iterdir()]
    assert f"MockBatch_{case['dataset']}.xlsx" in beside
    assert not any(name.startswith(".") for name in beside)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}: {case['why']}")
def test_what_a_spreadsheet_makes_of_them(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, folder = measured(
        tmp_path, monkeypatch, case["dataset"], case["rows"], case["answers"], parity="ulmeval", module=case["module"]
    )
    if isinstance(case["spreadsheet"], str):
        kind = case["spreadsheet"].partition(":")[0]
        assert any(kind in note for note in polymeter.open_run(folder.path).results["notes"])
    else:
        check(found, case["spreadsheet"])


def test_pairs_of_questions_and_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaturalBench, whose rows belong together by the order of their indices; as text, 10 comes before 2."""
    right = {"yes_no": ("Yes", "No", "No", "Yes"), "multiple_choice": ("A", "B", "B", "A")}
    other = {"Yes": "No", "No": "Yes", "A": "B", "B": "A"}
    rows, answers = [], []
    for number in range(7600):
        kind = "yes_no" if (number // 4) % 2 else "multiple_choice"
        answer = right[kind][number % 4]
        rows.append({"index": number, "question": f"question {number}", "type": kind, "answer": answer})
        answers.append(answer if number % 12 else other[answer])
    found, _ = measured(tmp_path, monkeypatch, "NaturalBenchDataset", rows, answers, module="image_mcq")
    assert found == pytest.approx(
        {
            "Q_Acc": 0.8331578947368421,
            "I_Acc": 0.8331578947368421,
            "Acc": 0.916578947368421,
            "G_Acc": 0.6663157894736842,
        }
    )


def test_a_class_that_inherits_circular_multiple_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(case for case in CASES if case["name"] == "circular")
    answers = ["A" if row["index"] == 1_000_001 else row["answer"] for row in case["rows"]]
    assert answers != [row["answer"] for row in case["rows"]]
    monkeypatch.delenv("VLMEVALKIT", raising=False)
    found, _ = measured(tmp_path, monkeypatch, "MMBench_of_mine", case["rows"], answers)
    assert (found["none/circular/Overall"], found["none/plain/Overall"]) == (pytest.approx(2 / 3), 1.0)


def test_links_that_lead_nowhere_are_removed_and_no_others(tmp_path: Path) -> None:
    """TDBench leaves a link to itself, into which its next evaluation would write."""
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "to_kept").symlink_to(tmp_path / "kept")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    remove_dead_links(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "to_kept"]
