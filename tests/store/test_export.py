"""The files made from the journal: in sample order, no score without an answer, nothing of this machine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.records.truncation import Truncation
from polymeter.core.request import Error
from polymeter.core.task import Result, SampleStatus, Score
from polymeter.store.exports.export import (
    GroupSummary,
    TaskSummary,
    read_sample_file,
    read_samples,
    results_document,
    sample_file,
    sample_lines,
    write_results,
    write_samples,
)
from polymeter.store.folder import SCHEMA_VERSION, RunFolder
from polymeter.store.journal import Journal
from polymeter.store.journal_writer import JournalWriter
from tests.store.rows import answer_row, sample_row, score_row

HALF = Score({("acc", "none"): 0.5, ("odd", "strict"): math.nan}, "gold", "said", "why", {"k": [1]})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


@pytest.fixture
def journal(folder: RunFolder) -> Iterator[Journal]:
    """Samples 0 to 3, written backwards; 2 failed after an answer, 4 was never ended."""
    writer = JournalWriter(folder.journal, ["mme", "other"])
    writer.put("requests", [("f", '{"ask":{}}')])
    for place in (4, 3, 2, 1, 0):
        writer.put("responses", [answer_row(1, place, f"a{place}"), answer_row(1, place, "j", role="judge", turn=2)])
    writer.put("scores", [score_row(1, place, HALF) for place in (3, 2, 0)])
    writer.put("samples", [sample_row(1, 3, subset=("en", "easy"), cluster="page 7", doc={"q": "✓"})])
    writer.put("samples", [sample_row(1, 2, SampleStatus.ERROR, error=Error("score", "no such key"))])
    writer.put("samples", [sample_row(1, 1, SampleStatus.UNSCORED), sample_row(1, 0), sample_row(2, 0)])
    writer.close()
    with closing(Journal(folder.journal)) as made:
        yield made


@pytest.fixture
def samples(journal: Journal) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sample_lines(journal, "mme")]


def test_samples_are_in_order_and_only_those_that_ended(samples: list[dict[str, Any]]) -> None:
    assert [(sample["index"], sample["id"]) for sample in samples] == [(n, f"id-{n}") for n in range(4)]


def test_a_sample_has_its_own_exchanges(samples: list[dict[str, Any]]) -> None:
    for sample in samples:
        said = {one["role"]: one["response"]["outputs"][0]["text"] for one in sample["exchanges"]}
        assert said == {"model": f"a{sample['index']}", "judge": "j"}
        assert all(one["request"] == {"ask": {}} for one in sample["exchanges"])


def test_a_scored_sample_tells_everything(samples: list[dict[str, Any]]) -> None:
    last = samples[3]
    assert last["status"] == "ok"
    assert last["error"] is None
    assert (last["subset"], last["cluster"], last["doc"]) == (["en", "easy"], "page 7", {"q": "✓"})
    assert (last["target"], last["answer"], last["explanation"], last["log"]) == ("gold", "said", "why", {"k": [1]})
    assert last["scores"][0] == {"metric": "acc", "filter": "none", "value": 0.5}
    assert last["scores"][1]["filter"] == "strict"
    assert math.isnan(last["scores"][1]["value"])


def test_a_sample_that_failed_has_no_scores_though_an_old_one_is_stored(samples: list[dict[str, Any]]) -> None:
    failed, unscored = samples[2], samples[1]
    assert failed["error"] == {"kind": "score", "message": "no such key"}
    for sample in (failed, unscored):
        assert sample["scores"] == []
        assert (sample["target"], sample["answer"], sample["explanation"], sample["log"]) == (None, None, None, {})


def test_a_sample_that_asked_nothing_has_no_exchanges(journal: Journal) -> None:
    (line,) = sample_lines(journal, "other")
    assert json.loads(line)["exchanges"] == []
    assert json.loads(line)["doc"] is None


def test_what_is_written_is_read_line_by_line(
    folder: RunFolder, journal: Journal, samples: list[dict[str, Any]]
) -> None:
    path = write_samples(folder, journal, "mme")
    assert path == folder.samples / "mme.jsonl"
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4
    assert json.dumps(list(read_samples(folder, "mme"))) == json.dumps(samples)
    assert list(read_samples(folder, "never written")) == []


def test_half_a_character_does_not_keep_samples_from_being_written(folder: RunFolder) -> None:
    half = "cut \ud83d"
    writer = JournalWriter(folder.journal, ["mme"])
    writer.put("responses", [answer_row(1, 0, half)])
    writer.put("scores", [score_row(1, 0, Score({("m", "none"): half}, answer=half))])
    writer.put("samples", [sample_row(1, 0, doc={"q": half})])
    writer.close()
    with closing(Journal(folder.journal)) as journal:
        write_samples(folder, journal, "mme")
    (sample,) = read_samples(folder, "mme")
    assert sample["doc"] == {"q": half}
    assert sample["answer"] == sample["scores"][0]["value"] == half
    assert sample["exchanges"][0]["response"]["outputs"][0]["text"] == half


@pytest.mark.parametrize("task", ["mme-test_1.0@v2", "東京"])
def test_a_file_is_named_after_its_task(folder: RunFolder, task: str) -> None:
    assert sample_file(folder, task) == folder.samples / f"{task}.jsonl"


def test_tasks_of_any_name_have_files_of_their_own_inside_the_folder(folder: RunFolder) -> None:
    tasks = ["a_b", "a/b", "a:b", "a b", "../a_b", "..", "/a_b"]
    paths = {sample_file(folder, task) for task in tasks}
    assert len(paths) == len(tasks)
    assert {path.parent for path in paths} == {folder.samples}
    assert {path.suffix for path in paths} == {".jsonl"}


# --- results ----------------------------------------------------------------------------------------------------------


def document(results: list[Result], statuses: dict[str, int] | None = None) -> dict[str, Any]:
    cut = Truncation(4, {"length": 2})
    task = TaskSummary("mme", "MME", "2", 0, 4, "hash", results, 1, statuses or {"ok": 3, "error": 1}, cut)
    group = GroupSummary("all", "All", "1", ("mme",), [Result("acc", "none", 0.5, 3)])
    return results_document(
        status="complete", model="mock", tasks=[task], groups=[group], layout=[("task", "mme", 0)], notes=("n",)
    )


FULL = Result("acc", "none", 0.5, 3, ("en",), 0.1, (0.3, 0.7), "clustered", True, ("artifacts/x.json",))


def test_results_tell_n_statuses_and_uncertainty() -> None:
    made = document([FULL])
    assert (made["schema_version"], made["status"], made["model"]) == (SCHEMA_VERSION, "complete", "mock")
    task = made["tasks"]["mme"]
    assert (task["n_samples"], task["n_scored"], task["statuses"]) == (4, 3, {"ok": 3, "error": 1})
    assert (task["n_length"], task["n_nondeterministic"]) == (2, 1)
    assert task["results"] == [
        {
            "metric": "acc",
            "filter": "none",
            "subset": ["en"],
            "value": 0.5,
            "n": 3,
            "stderr": 0.1,
            "interval": [0.3, 0.7],
            "stderr_method": "clustered",
            "higher_is_better": True,
            "artifacts": ["artifacts/x.json"],
        }
    ]
    assert made["groups"]["all"]["members"] == ["mme"]
    assert made["layout"] == [["task", "mme", 0]]


def test_statuses_stand_in_one_order_whatever_came_first() -> None:
    statuses = {"unscored": 1, "error": 1, "refused": 0, "ok": 2}
    made = document([], statuses)["tasks"]["mme"]["statuses"]
    assert list(made.items()) == [("ok", 2), ("error", 1), ("unscored", 1)]


def test_a_value_of_any_kind_and_nan_can_be_written(folder: RunFolder) -> None:
    values = [math.nan, None, {"by": {1: (2, 3)}}, [{4}]]
    write_results(folder, document([Result("m", "none", value, 0) for value in values]))
    found = [result["value"] for result in folder.read_results()["tasks"]["mme"]["results"]]
    assert math.isnan(found[0])
    assert found[1:] == [None, {"by": {"1": [2, 3]}}, [[4]]]


def test_results_hold_no_times_and_no_paths_of_this_machine(folder: RunFolder) -> None:
    write_results(folder, document([FULL]))
    text = folder.results.read_text()
    assert str(folder.path) not in text
    keys: set[str] = set()

    def collect(value: Any) -> None:
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            collect(item)
        keys.update(value if isinstance(value, dict) else ())

    collect(json.loads(text))
    assert not {key for key in keys if any(word in key for word in ("time", "second", "date", "path", "file", "ended"))}
    write_results(folder, document([FULL]))
    assert folder.results.read_text() == text


def test_a_text_or_a_log_that_looks_like_the_beginning_of_a_row_is_none(folder: RunFolder) -> None:
    writer = JournalWriter(folder.journal, ["mme"])
    odd = Score({("acc", "none"): 1.0}, ',"doc":', "said", None, {"a": 1, "doc": {"b": ',"doc":'}})
    writer.put("scores", [score_row(1, 0, odd)])
    writer.put("samples", [sample_row(1, 0, doc={"a": 1, "doc": 2})])
    writer.close()
    with closing(Journal(folder.journal)) as journal:
        write_samples(folder, journal, "mme")
    (head,) = read_sample_file(folder, "mme")
    assert (head["target"], head["log"]["doc"], head["doc"]["doc"]) == (',"doc":', {"b": ',"doc":'}, 2)


@pytest.mark.parametrize("task", ["mme", "other"])
def test_samples_are_read_as_their_lines_say(folder: RunFolder, journal: Journal, task: str) -> None:
    lines = [json.loads(line) for line in sample_lines(journal, task)]
    found = [*read_samples(folder, task)]
    assert repr(found) == repr(lines)  # NaN equals nothing
    assert [list(one) for one in found] == [list(line) for line in lines]
