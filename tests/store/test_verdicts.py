"""Verdicts of people in their file beside the run: which one counts, and what two writers, a kill or damage leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from polymeter.core.errors import PlanError, StorageError
from polymeter.core.records.human_scores import HumanScores, counted, replaced, with_verdicts
from polymeter.store.verdicts import (
    FILE,
    HumanVerdict,
    Kind,
    give_verdict,
    read_verdicts,
    require_verdicts,
    undo_verdict,
    unknown_samples,
)

TASK = "capitals"
N_EACH = 40


def give(run: Path, sample: str, kind: Kind = "score", **more) -> HumanVerdict:
    values = {} if kind == "exclude" else {"values": {"acc": 1.0}}
    return give_verdict(run, HumanVerdict("", TASK, sample, kind, **{**values, **more}))


def scores(run: Path) -> HumanScores:
    return read_verdicts(run).scores().get(TASK, HumanScores())


def test_a_verdict_is_a_line_with_author_and_time(tmp_path: Path) -> None:
    give(tmp_path, "a", by=" Ada ")
    give(tmp_path, "b", "label", label="B", values={"acc": 0.0, "exact_match": 0.0})
    give(tmp_path, "c", "exclude", reason="two\r\nlines ")
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert [{key for key in line if key not in ("id", "at")} for line in lines] == [
        {"task", "sample", "kind", "values", "by"},
        {"task", "sample", "kind", "values", "label", "by"},
        {"task", "sample", "kind", "reason", "by"},
    ]
    assert lines[0]["by"] == "Ada"
    assert lines[0]["at"].endswith("+00:00")
    assert scores(tmp_path).values == {"a": {"acc": 1.0}, "b": {"acc": 0.0, "exact_match": 0.0}}
    assert scores(tmp_path).excluded == {"c": "two\nlines"}
    assert counted([scores(tmp_path)]) == "1 excluded, 2 labelled"


def test_the_last_verdict_on_a_metric_counts_and_an_undo_brings_the_one_before_back(tmp_path: Path) -> None:
    give(tmp_path, "a", values={"acc": 1.0, "f1": 0.5})
    last = give(tmp_path, "a", "label", label="B", values={"acc": 0.0})
    assert scores(tmp_path).values["a"] == {"acc": 0.0, "f1": 0.5}
    undo_verdict(tmp_path, last.id, by="Ben")
    assert scores(tmp_path).values["a"] == {"acc": 1.0, "f1": 0.5}
    found = read_verdicts(tmp_path)
    assert [one.kind for one in found.verdicts] == ["score", "label"]
    assert found.undone[last.id].by == "Ben"


def test_an_exclusion_outlives_a_later_score_until_it_is_undone(tmp_path: Path) -> None:
    excluded = give(tmp_path, "a", "exclude", reason="blurred")
    give(tmp_path, "a")
    assert scores(tmp_path).labelled == []
    assert read_verdicts(tmp_path).samples(TASK) == {"a": {"exclude", "score"}}
    undo_verdict(tmp_path, excluded.id)
    assert scores(tmp_path).labelled == ["a"]


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.store.verdict_child", str(tmp_path)]
    children = [
        subprocess.Popen([*command, name, str(N_EACH)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("ada", "ben")
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.close()
    for child in children:
        assert child.wait(timeout=120) == 0
        child.stdout.close()
    found = require_verdicts(tmp_path)
    assert len(found.verdicts) == 2 * N_EACH
    assert {one.sample for one in found.valid} == {f"{name}-{n}" for name in ("ada", "ben") for n in range(N_EACH)}
    assert found.unfinished == ()


def test_a_kill_at_any_byte_loses_only_the_line_that_was_being_written(tmp_path: Path) -> None:
    give(tmp_path, "a", by="Ada")
    give(tmp_path, "b", "label", label='é "quoted" \\ B', values={"acc": 0.5, "f1": -1e-7})
    first, second = (tmp_path / FILE).read_bytes().splitlines(keepends=True)
    for end in range(1, len(second) - 1):
        (tmp_path / FILE).write_bytes(first + second[:end])
        assert require_verdicts(tmp_path).unfinished == (2,), second[:end]
        give(tmp_path, "c")
        found = require_verdicts(tmp_path)
        assert [one.sample for one in found.valid] == ["a", "c"]
        assert found.unfinished == (2,)
        assert (tmp_path / FILE).read_bytes().startswith(first + second[:end] + b"\n{")


def test_a_last_line_without_a_line_break_counts(tmp_path: Path) -> None:
    give(tmp_path, "a")
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    give(tmp_path, "b")
    assert [one.sample for one in require_verdicts(tmp_path).valid] == ["a", "b"]


def test_they_move_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    given = give(tmp_path / "run", "a")
    (tmp_path / "other").mkdir()
    (tmp_path / "run").rename(tmp_path / "other" / "renamed")
    run = tmp_path / "other" / "renamed"
    assert [one.id for one in read_verdicts(run).valid] == [given.id]
    undo_verdict(run, given.id)
    assert scores(run).values == {}


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1]",
        "{}",
        '{"id": 3}',
        '{"id":"x","task":"t","sample":"s","kind":"score","values":{"acc":"1"}}',
        '{"id":"x","task":"t","sample":"s","kind":"score","values":{"acc":NaN}}',
        '{"id":"x","task":"t","sample":"s","kind":"exclude","values":{"acc":1}}',
        '{"id":"x","task":"t","sample":"s","kind":"label","values":{"acc":1}}',
        '{"id":"x","task":"t","sample":"s","kind":"maybe"}',
        '{"id":"x"} and more',
        "{x}",
    ],
)
def test_a_damaged_line_is_an_error_for_results_and_passed_over_by_the_viewer(tmp_path: Path, line: str) -> None:
    give(tmp_path, "a")
    with (tmp_path / FILE).open("a") as file:
        file.write(f"{line}\n")
    give(tmp_path, "b")
    found = read_verdicts(tmp_path)
    assert [one.sample for one in found.valid] == ["a", "b"]
    assert found.unreadable == (2,)
    with pytest.raises(PlanError, match="not a verdict") as caught:
        require_verdicts(tmp_path)
    assert caught.value.where == f"{tmp_path / FILE}:2"
    assert "Fix the line" in caught.value.hint


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (HumanVerdict("", TASK, "a", "exclude", reason=" \n"), "needs a reason"),
        (HumanVerdict("", TASK, "a", "exclude", reason="x" * 2_001), "at most"),
        (HumanVerdict("", TASK, "a", "score"), "finite number"),
        (HumanVerdict("", TASK, "a", "score", {"acc": float("nan")}), "finite number"),
        (HumanVerdict("", TASK, "a", "label", {"acc": 1.0}), "label is empty"),
    ],
)
def test_what_is_not_a_verdict_is_refused(tmp_path: Path, verdict: HumanVerdict, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        give_verdict(tmp_path, verdict)
    assert not (tmp_path / FILE).exists()


def test_an_unknown_verdict_cannot_be_undone(tmp_path: Path) -> None:
    give(tmp_path, "a")
    with pytest.raises(PlanError, match="does not exist"):
        undo_verdict(tmp_path, "nosuch")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    outside = tmp_path / "outside.jsonl"
    outside.touch()
    (tmp_path / "run" / FILE).symlink_to(outside)
    with pytest.raises(StorageError):
        give(tmp_path / "run", "a")
    assert outside.read_text() == ""


def test_samples_that_the_run_does_not_have_are_named(tmp_path: Path) -> None:
    give(tmp_path, "a")
    give(tmp_path, "b", "exclude", reason="x")
    assert unknown_samples(read_verdicts(tmp_path).scores(), {TASK: {"a"}}) == [(TASK, "b")]


def test_scores_of_people_replace_those_of_metrics_by_name_and_filter() -> None:
    values = {("acc", "none"): 0.0, ("acc", "strict"): 0.0, ("parts", "none"): {"a": 1.0, "b": 0.0}, ("x", "none"): "y"}
    found, rest = replaced(values, {"acc,strict": 1.0, "parts/b": 0.5, "nosuch": 1.0})
    assert found == {**values, ("acc", "strict"): 1.0, ("parts", "none"): {"a": 1.0, "b": 0.5}}
    assert rest == {"nosuch"}
    assert values["parts", "none"]["b"] == 0.0


def test_samples_are_changed_and_left_out() -> None:
    stored = [{"id": name, "scores": [{"metric": "acc", "filter": "none", "value": 0.0}]} for name in "abc"]
    found = [*with_verdicts(stored, HumanScores({"a": {"acc": 1.0}}, {"b": "blurred"}))]
    assert [(one["id"], one["scores"][0]["value"]) for one in found] == [("a", 1.0), ("c", 0.0)]
    assert [*with_verdicts(stored, None)] == stored
