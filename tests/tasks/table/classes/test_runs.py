"""Tables as a user runs them: dropped into a folder, measured from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from polymeter.api import evaluate
from polymeter.core.errors import PlanError
from tests.e2e.kit import polymeter
from tests.tasks.table.classes.kit import write_table


def measured(folder: Path, *words: str) -> dict[str, Any]:
    """Results by task, metric and subset."""
    done = polymeter("run", "--model", "mock", "--include-path", "tables", "--output", "out", *words, cwd=folder)
    assert (folder / "out" / "results.json").is_file(), done.stderr
    told = json.loads((folder / "out" / "results.json").read_text())
    return {
        "/".join([name, *item["subset"], item["metric"]]): item
        for name, task in told["tasks"].items()
        for item in task["results"]
    }


def choices(n: int) -> list[dict[str, Any]]:
    options = {"A": "lion", "B": "mouse", "C": "whale"}
    return [
        {"index": number, "question": f"{number}?", **options, "answer": "A", "category": "ab"[number % 2]}
        for number in range(n)
    ]


def test_both_protocols_of_multiple_choice(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    write_table(tmp_path / "tables" / "zoo.tsv", choices(4))
    found = measured(tmp_path, "--tasks", "zoo", "--model-args", "answer=A", "--dialect-option", "tsv.circular=true")
    assert (found["zoo/acc"]["value"], found["zoo/acc"]["n"]) == (1, 4)
    assert (found["zoo/circular_acc"]["value"], found["zoo/circular_acc"]["n"]) == (0, 4)
    assert found["zoo/category/a/acc"]["n"] == 2


def test_a_row_whose_image_cannot_be_had_is_an_error_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    rows = [{"index": 0, "question": "?", "answer": "x", "image": ""}, {"index": 1, "image": "9", "question": "?"}]
    write_table(tmp_path / "tables" / "seen.tsv", rows)
    measured(tmp_path, "--tasks", "seen")
    told = [json.loads(line) for line in (tmp_path / "out" / "samples" / "seen.jsonl").read_text().splitlines()]
    assert [line["error"] and line["error"]["kind"] for line in told] == [None, "data"]
    assert "row '1', column 'image' refers to row '9'" in told[1]["error"]["message"]


def test_a_judge_reads_what_the_rules_cannot(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    write_table(tmp_path / "tables" / "zoo.tsv", choices(2))
    vague = ("--tasks", "zoo", "--model-args", "answer=the king of the animals")
    alone = measured(tmp_path, *vague)
    assert (alone["zoo/acc"]["value"], alone["zoo/unparsed"]["value"]) == (0, 1)
    judged = measured(tmp_path, *vague, "--judge", "mock", "--judge-args", "answer=A", "--restart")
    assert (judged["zoo/acc"]["value"], judged["zoo/unparsed"]["value"]) == (1, 0)


class Blind:
    """A detector that sees nothing, and notes where it was to be read from."""

    places: ClassVar[list[str]] = []
    colours = ("red",)

    def __init__(self, place: str) -> None:
        self.places.append(place)

    def detect(self, image: Any, labels: Any, *, is_counting: bool) -> list[Any]:
        return []


def test_a_detector_is_read_where_the_run_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the threads that score, and anew where another run says something else."""
    monkeypatch.setattr("polymeter.metrics.hf_detector.HfDetector", Blind)
    monkeypatch.setattr("polymeter.tasks.table.classes.images.datasets.check_detector", lambda name: None)
    scene = json.dumps({"include": [{"class": "circle", "count": 1}]})
    table = write_table(tmp_path / "seen.tsv", [{"index": 0, "prompt": "a circle", "scene": scene}])
    told = {"include_paths": [table], "dialect_options": {"tsv": {"detector": "hf:my/eyes"}}}
    for place in ("left", "right"):
        result = evaluate("shapes", "seen", output=tmp_path / place, weights={"my/eyes": str(tmp_path / place)}, **told)
        assert (result.value("seen", "correct"), result.n_failed) == (0, 0)
    assert Blind.places == [str(tmp_path / "left"), str(tmp_path / "right")]


@pytest.mark.parametrize("name", ["eyes", "hf:/no/such/network"])
def test_a_detector_that_cannot_be_had_is_an_error_before_anything_is_drawn(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    table = write_table(tmp_path / "seen.tsv", [{"index": 0, "prompt": "a circle", "scene": "{}"}])
    told = {"include_paths": [table], "dialect_options": {"tsv": {"detector": name}}}
    with pytest.raises(PlanError, match=f"detector '{name}'"):
        evaluate("shapes", "seen", output=tmp_path / "out", **told)
