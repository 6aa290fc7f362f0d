"""Logs of lmms-eval 0.7.2, made by it on made-up tasks (``conformance/logs``), as run folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import DataError
from polymeter.interop.lmms_eval.logs import READER

LOG = Path(__file__).with_name("logs")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return shutil.copytree(LOG, tmp_path / "log")


def lines_of(run: Path, task: str) -> list[dict]:
    return [json.loads(line) for line in (run / "samples" / f"{task}.jsonl").read_text().splitlines()]


def test_every_stated_number_is_kept(tmp_path: Path) -> None:
    document = json.loads(next(LOG.glob("*_results.json")).read_text())
    result = polymeter.import_log(LOG, output=tmp_path / "run")
    stated = {
        (name, *key.split(",")): value
        for name, row in document["results"].items()
        for key, value in row.items()
        if "," in key and "_stderr" not in key
    }
    assert len(stated) == 8
    for (name, metric, filtered), value in stated.items():
        assert result.value(name, metric, filter=filtered) == value
    assert result.results["model"] == "scripted"
    assert result.result("nature", "acc").interval is not None


def test_losses_of_choices_become_log_probabilities(tmp_path: Path) -> None:
    polymeter.import_log(LOG, output=tmp_path / "run")
    first = lines_of(tmp_path / "run", "animals")[0]
    (exchange,) = first["exchanges"]
    assert [choice[0] for choice in exchange["response"]["outputs"][0]["logprobs"]] == [-6.34, -3.1, -3.59, -4.66]
    assert exchange["request"]["ask"]["continuations"] == [" two", " four", " six", " eight"]
    assert (first["target"], first["answer"], first["doc"]) == ("four", "four", None)


def test_negative_numbers_of_choices_stay(log: Path, tmp_path: Path) -> None:
    path = next(log.glob("*_samples_plants.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["filtered_resps"] = [[f"-{loss}", greedy] for loss, greedy in line["filtered_resps"]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    polymeter.import_log(log, output=tmp_path / "run")
    logprobs = lines_of(tmp_path / "run", "plants")[0]["exchanges"][0]["response"]["outputs"][0]["logprobs"]
    assert all(choice[0] < 0 for choice in logprobs)


def test_lines_of_several_filters_are_one_sample(tmp_path: Path) -> None:
    polymeter.import_log(LOG, output=tmp_path / "run")
    sums = lines_of(tmp_path / "run", "sums")
    assert len(sums) == 4
    assert [(score["metric"], score["filter"]) for score in sums[0]["scores"]] == [
        ("exact_match", "first"),
        ("exact_match", "letter"),
    ]


def test_a_row_too_often_is_refused(log: Path, tmp_path: Path) -> None:
    path = next(log.glob("*_samples_sums.jsonl"))
    path.write_text(path.read_text() + path.read_text().splitlines()[2])
    with pytest.raises(DataError, match=r"line 9 has row 2 once more"):
        polymeter.import_log(log, output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_prompt_that_the_log_does_not_hold_is_none(log: Path, tmp_path: Path) -> None:
    path = next(log.glob("*_samples_shapes.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["input"] = {"max_new_tokens": 6}
    lines[1]["input_media"] = ["pictures/1.png", "data:image/png;base64,AAAA"]
    lines[2]["resps"] = ["red", "blue"]
    lines[2]["token_counts"] = [{"output_tokens": 3}, {"output_tokens": 5}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    polymeter.import_log(log, output=tmp_path / "run")
    first, second, third, _ = lines_of(tmp_path / "run", "shapes")
    assert first["exchanges"][0]["request"] is None
    parts = second["exchanges"][0]["request"]["messages"][0]["parts"]
    assert parts == [{"image": {"source": "pictures/1.png"}}, {"image": {}}, {"text": "What is in the picture?"}]
    assert [one["response"]["outputs"][0]["text"] for one in third["exchanges"]] == ["red", "blue"]
    manifest = json.loads((tmp_path / "run" / "run.json").read_text())
    assert manifest["usage"]["output_tokens"] == 8


def test_what_is_exported_comes_back(tmp_path: Path) -> None:
    first = polymeter.import_log(LOG, output=tmp_path / "first")
    polymeter.export(first.folder.path, "lmms-eval", output=tmp_path / "files")
    again = polymeter.import_log(tmp_path / "files", output=tmp_path / "again")
    found = polymeter.compare(first.folder.path, again.folder.path).others[0]
    assert {line.name for line in found.scores} >= {"animals", "plants", "sums", "shapes"}
    assert all(line.wins == line.losses == 0 for line in found.scores)


def test_a_task_without_samples_keeps_its_numbers(log: Path, tmp_path: Path) -> None:
    next(log.glob("*_samples_sums.jsonl")).unlink()
    assert READER.recognise(log)
    result = polymeter.import_log(log, output=tmp_path / "run")
    assert result.value("sums", "exact_match", filter="first") == 0.25
    assert result.result("sums", "exact_match", filter="first").stderr_method == "stated"
