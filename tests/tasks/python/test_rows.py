"""What rows may be, and what samples are made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as PILImage

import polymeter
from tests.tasks.python.kit import Recorder, shown, written

_ROWS = [{"q": "one", "answer": "1"}, {"q": "two", "answer": "2"}]


def _samples(rows: Any, folder: Path, **fields: Any) -> list[dict[str, Any]]:
    """The samples of a task over rows, as its run folder holds them."""
    task = polymeter.PythonTask("{q}", rows=rows, reference="answer", name="t", **fields)
    run = polymeter.evaluate(Recorder(lambda request: "1"), tasks=task, output=folder / "run")
    return [json.loads(line) for line in (run.folder.path / "samples" / "t.jsonl").read_text().splitlines()]


def _questions(samples: list[dict[str, Any]]) -> list[str]:
    return [part["text"] for sample in samples for part in sample["exchanges"][0]["request"]["messages"][0]["parts"]]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _generated() -> Iterator[dict[str, str]]:
    yield from _ROWS


@pytest.mark.parametrize(
    "rows",
    [_ROWS, tuple(_ROWS), iter(_ROWS), lambda: _ROWS, _generated],
    ids=["list", "tuple", "iterator", "function", "generator"],
)
def test_dictionaries_in_any_form(rows: Any, tmp_path: Path) -> None:
    rows = list(rows) if isinstance(rows, Iterator) else rows
    assert _questions(_samples(rows, tmp_path)) == ["one", "two"]


def test_a_data_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"q": ["one", "two"], "answer": [1, 2], "note": [0.5, None]})
    samples = _samples(frame, tmp_path)
    assert [sample["doc"] for sample in samples] == [
        {"q": "one", "answer": 1, "note": 0.5},
        {"q": "two", "answer": 2, "note": None},
    ]
    assert [sample["scores"][0]["value"] for sample in samples] == [1.0, 0.0]


def test_a_dataset_and_what_is_no_table_of_rows(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    whole = datasets.Dataset.from_list(_ROWS)
    assert _questions(_samples(whole, tmp_path)) == ["one", "two"]
    with pytest.raises(polymeter.PlanError, match="not a list of rows") as caught:
        _samples(datasets.DatasetDict({"test": whole, "train": whole}), tmp_path / "other")
    assert "Choose a split, one of 'test', 'train'." in caught.value.hint
    with pytest.raises(polymeter.PlanError, match="a streamed dataset"):
        _samples(whole.to_iterable_dataset(), tmp_path / "other")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json"])
def test_a_file(ending: str, tmp_path: Path) -> None:
    separator = "\t" if ending == "tsv" else ","
    table = "\n".join([separator.join(("q", "answer")), *(separator.join(row.values()) for row in _ROWS)])
    texts = {"jsonl": "\n".join(map(json.dumps, _ROWS)), "json": json.dumps(_ROWS)}
    (tmp_path / f"rows.{ending}").write_text(texts.get(ending, table) + "\n")
    assert _questions(_samples(f"rows.{ending}", tmp_path)) == ["one", "two"]
    assert _questions(_samples(tmp_path / f"rows.{ending}", tmp_path / "again")) == ["one", "two"]


def test_a_file_of_numbers_is_compared_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("q,answer\none,007\ntwo,1\n")
    samples = _samples("rows.csv", tmp_path)
    assert [sample["target"] for sample in samples] == ["007", "1"]


def test_a_file_beside_the_benchmark(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "rows.jsonl").write_text("\n".join(map(json.dumps, _ROWS)))
    (tmp_path / "rows.jsonl").write_text('{"q": "another", "answer": "1"}\n')
    source = "import polymeter\nt = polymeter.PythonTask('{q}', name='t', rows='rows.jsonl', reference='answer')\n"
    model = Recorder()
    polymeter.evaluate(model, tasks=written(there, source))
    assert [shown(request) for request in model.requests] == [["one"], ["two"]]


def test_the_splits_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for split in ("dev", "train"):
        (tmp_path / "data" / f"{split}.jsonl").write_text(json.dumps({"q": split, "answer": "1"}) + "\n")
    with pytest.raises(polymeter.PlanError, match="have the splits dev, train") as caught:
        _samples("data", tmp_path)
    assert caught.value.hint == "Name one: split='dev'."
    assert _questions(_samples("data", tmp_path, split="train")) == ["train"]
    (tmp_path / "data" / "test.jsonl").write_text('{"q": "test", "answer": "1"}\n')
    assert _questions(_samples("data", tmp_path / "again")) == ["test"]


def test_a_folder_of_images(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    (tmp_path / "photos").mkdir()
    PILImage.new("RGB", (6, 4), "red").save(tmp_path / "photos" / "a.png")
    (tmp_path / "photos" / "metadata.csv").write_text("file_name,answer\na.png,1\n")
    task = polymeter.PythonTask(lambda row: [row["image"], "?"], name="t", rows="photos", reference="answer")
    model = Recorder(lambda request: "1")
    run = polymeter.evaluate(model, tasks=task)
    assert shown(model.requests[0]) == ["image", "?"]
    assert run.results["tasks"]["t"]["results"][0]["value"] == 1


def test_a_dataset_of_the_hub_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, _ROWS)))
    task = polymeter.PythonTask("{q}", rows="org/questions:easy", reference="answer", name="t", split="validation")
    model = Recorder()
    polymeter.evaluate(model, tasks=task, data={"org/questions": "rows.jsonl"})
    assert len(model.requests) == 2
    with pytest.raises(polymeter.DataError, match="org/questions"):
        polymeter.evaluate(model, tasks=task, is_offline=True)


def test_ids_subsets_and_clusters_are_columns(tmp_path: Path) -> None:
    rows = [
        {"q": f"q{n}", "answer": "1" if n % 3 else "2", "key": f"k{n}", "part": "ab"[n % 2], "picture": n // 2}
        for n in range(8)
    ]
    samples = _samples(rows, tmp_path, id="key", subset="part", cluster="picture")
    assert [sample["id"] for sample in samples] == [f"k{n}" for n in range(8)]
    assert [sample["subset"] for sample in samples[:2]] == [["a"], ["b"]]
    assert [sample["cluster"] for sample in samples[:3]] == ["0", "0", "1"]
    results = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"]["t"]["results"]
    assert [tuple(result["subset"]) for result in results] == [(), ("a",), ("b",)]
    assert results[0]["stderr_method"] == "clustered"


def test_a_limit_counts_samples(tmp_path: Path) -> None:
    model = Recorder()
    task = polymeter.PythonTask("{q}", rows=[*_ROWS, *_ROWS], reference="answer", name="t")
    run = polymeter.evaluate(model, tasks=task, limit=1, offset=1)
    assert [shown(request) for request in model.requests] == [["two"]]
    assert run.results["tasks"]["t"]["n_samples"] == 1


def test_rows_without_a_reference_fail_and_are_counted_before(tmp_path: Path) -> None:
    rows = [{"q": "one", "answer": "1"}, {"q": "two", "answer": None}, {"q": "three"}]
    task = polymeter.PythonTask("{q}", rows=rows, reference="answer", name="t")
    model = Recorder(lambda request: "1")
    run = polymeter.evaluate(model, tasks=task)
    assert run.n_failed == 2
    notes = json.loads((run.folder.path / "run.json").read_text())["notes"]
    assert "2 of 3 samples have no reference: column 'answer' is empty in samples 1, 2." in "".join(notes)
    assert len(model.requests) == 1, "nothing is asked that cannot be scored"
