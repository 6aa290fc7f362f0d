"""Whole runs with permuted choices: kills, limits, repeats, comparisons, and questions that keep their order."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import ModelError
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch, MockModel
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import open_folder
from tests.run.permuting import kit


class Flaky(kit.Chooser):
    """Gives an answer to some requests only."""

    def __init__(self, n_answers: int) -> None:
        super().__init__(kit.by_content)
        self.n_answers = n_answers

    def _answer(self, request: Request) -> Any:
        if len(self.asked) >= self.n_answers:
            raise ModelError("down")
        return super()._answer(request)


def results(run: Path) -> Any:
    return json.loads((run / "results.json").read_text())["tasks"]


def samples(run: Path) -> list[dict[str, Any]]:
    return [*read_samples(open_folder(run), "quiz")]


def test_a_broken_run_continues_to_the_same_numbers_and_asks_only_what_is_owed(tmp_path: Path) -> None:
    task = kit.generated(tmp_path)
    whole = kit.evaluate(kit.Chooser(kit.by_content), task, tmp_path / "whole")
    broken, again = Flaky(25), Flaky(1000)
    kit.evaluate(broken, task, tmp_path / "broken")
    assert results(tmp_path / "broken") != results(whole)
    polymeter.resume(tmp_path / "broken", model=again)
    assert results(tmp_path / "broken") == results(whole)
    assert len(broken.asked) + len(again.asked) == 4 * kit.N
    rescored = polymeter.score(tmp_path / "broken", output=tmp_path / "scored").folder
    assert results(rescored.path) == results(whole)


_CHILD = """
import os, signal, sys
from polymeter.store import journal_writer
from tests.run.permuting import kit

journal_writer._MAX_AT_ONCE = 8

class Dying(kit.Chooser):
    def _answer(self, request):
        if len(self.asked) == 100:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._answer(request)

from pathlib import Path
kit.evaluate(Dying(kit.by_content), sys.argv[1], Path(sys.argv[2]), repeats=2, generation={"temperature": 1.0})
"""


def test_a_killed_run_continues_to_the_same_bytes(tmp_path: Path) -> None:
    task, settings = kit.generated(tmp_path), {"repeats": 2, "generation": {"temperature": 1.0}}
    child = subprocess.run([sys.executable, "-c", _CHILD, task, str(tmp_path / "run")], check=False, timeout=120)
    assert child.returncode == -signal.SIGKILL
    with closing(sqlite3.connect(tmp_path / "run" / "journal.db")) as journal:
        ((n_stored,),) = journal.execute("SELECT COUNT(*) FROM responses")
    again = kit.Chooser(kit.by_content)
    polymeter.resume(tmp_path / "run", model=again)
    assert len(again.asked) == 8 * kit.N - n_stored
    whole = kit.evaluate(kit.Chooser(kit.by_content), task, tmp_path / "whole", **settings)
    assert results(tmp_path / "run") == results(whole)


def test_the_first_order_is_the_run_without_the_option(tmp_path: Path) -> None:
    task, once, often = kit.generated(tmp_path), kit.Chooser(kit.first), kit.Chooser(kit.first)
    polymeter.evaluate(once, [task], output=tmp_path / "once")
    kit.evaluate(often, task, tmp_path / "often")
    assert all(request in often.asked for request in once.asked)
    assert (
        kit.values(tmp_path / "once", "exact_match")["none"] == kit.values(tmp_path / "often", "exact_match")["order 1"]
    )
    (own,) = results(tmp_path / "once").values()
    assert {one["filter"] for one in own["results"]} == {"none"}


def test_a_limit_counts_questions_and_changes_no_order(tmp_path: Path) -> None:
    task, few, all_ = kit.generated(tmp_path), kit.Chooser(kit.first), kit.Chooser(kit.first)
    kit.evaluate(few, task, tmp_path / "few", k=7, limit=3)
    kit.evaluate(all_, task, tmp_path / "all", k=7)
    assert len(few.asked) == 21
    assert {request.text for request in few.asked} <= {request.text for request in all_.asked}
    assert kit.values(tmp_path / "few", "exact_match").keys() >= {"order 7"}
    assert {one["n"] for one in results(tmp_path / "few")["quiz"]["results"]} == {3}


def test_repeats_of_each_order(tmp_path: Path) -> None:
    task, model = kit.generated(tmp_path), kit.Chooser(kit.by_content)
    run = kit.evaluate(model, task, tmp_path / "run", repeats=3, generation={"temperature": 1.0})
    assert len(model.asked) == 12 * kit.N
    found, plain = (
        kit.values(run, "exact_match"),
        kit.values(kit.evaluate(model, task, tmp_path / "plain"), "exact_match"),
    )
    assert found["mean@3"] == found["none"] == pytest.approx(plain["none"])
    assert found["order 2"] == pytest.approx(plain["order 2"])
    assert not [name for name in found if name.startswith("order 2/")]
    assert kit.values(run, "choice")["consistency"] == 1


def test_runs_are_compared_by_question_and_order(tmp_path: Path) -> None:
    task = kit.generated(tmp_path)
    for name, choose in (("content", kit.by_content), ("first", kit.first)):
        kit.evaluate(kit.Chooser(choose), task, tmp_path / name)
    (other,) = polymeter.compare(tmp_path / "content", tmp_path / "first").others
    lines = {(one.metric, one.filter): one for one in other.scores}
    for name in ("none", "order 1", "order 2", "all orders"):
        first, second = (kit.values(tmp_path / run, "exact_match")[name] for run in ("content", "first"))
        line = lines["exact_match", name]
        assert (line.n, line.first, line.second) == (kit.N, pytest.approx(first), pytest.approx(second))
    assert lines["choice", "consistency"].difference == -1
    alone = polymeter.evaluate(kit.Chooser(kit.first), [task], output=tmp_path / "alone").folder.path
    (other,) = polymeter.compare(tmp_path / "first", alone).others
    assert [(one.metric, one.filter) for one in other.scores] == [("exact_match", "none")]
    assert not other.not_compared


def test_a_run_with_more_orders_is_compared_and_ranked_as_what_it_is(tmp_path: Path) -> None:
    """It shares the answers in the author's order; the others are its own, and their mean is another number."""
    task = kit.generated(tmp_path)
    model = MockBatch(lambda request: "A", identity={"m": 1}, reads_rows=False)
    polymeter.evaluate(model, [task], output=tmp_path / "plain")
    kit.evaluate(model, task, tmp_path / "orders", reuse=[tmp_path / "plain"])
    assert json.loads((tmp_path / "orders" / "run.json").read_text())["reuse"]["reused"] == kit.N
    (other,) = polymeter.compare(tmp_path / "plain", tmp_path / "orders").others
    told = " ".join(other.warnings)
    assert f"{kit.N} samples of these share only some answers" in told
    assert "Only the scoring can differ" not in told
    assert "permute_choices none and 4" in told
    assert "Both runs are of the same model." in told
    board = polymeter.leaderboard(tmp_path / "plain", tmp_path / "orders", every=True)
    (column,) = board.columns
    assert sorted(cell.is_ranked for cell in column.cells) == [False, True]
    assert "other prompts: permute_choices" in " ".join(note for cell in column.cells for note in cell.notes)


def test_a_sample_shows_each_order(tmp_path: Path) -> None:
    run = kit.evaluate(kit.Chooser(kit.first), kit.generated(tmp_path), tmp_path / "run")
    sample = samples(run)[2]
    assert sample["explanation"].splitlines() == [
        "order 1 (A-B-C-D): chosen A, target B",
        "order 2 (D-A-B-C): chosen A, target C",
        "order 3 (C-D-A-B): chosen A, target D",
        "order 4 (B-C-D-A): chosen A, target A",
    ]
    assert len(sample["exchanges"]) == 4
    cells = {(one["metric"], one["filter"]): one["value"] for one in sample["scores"]}
    assert [cells["exact_match", f"order {number}"] for number in range(1, 5)] == [0, 0, 0, 1]


def test_questions_that_keep_their_order_are_counted(tmp_path: Path) -> None:
    task = kit.generated(tmp_path)
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    rows[0]["options"][3] = "None of the above"
    rows[1]["options"] = rows[1]["options"][:2]
    rows[1]["answer"] = "A"
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = kit.Chooser(kit.first)
    model._choose = lambda choices: 0
    run = kit.evaluate(MockModel(mode="gold"), task, tmp_path / "run")
    notes = json.loads((run / "results.json").read_text())["notes"]
    assert any("1 of 16 questions have a choice that refers to the others by their places" in note for note in notes)
    assert any("1 of 16 questions have fewer than 4 orders, which count in turn" in note for note in notes)
    first, second = samples(run)[:2]
    assert len(first["exchanges"]) == 1
    assert len(second["exchanges"]) == 2
    found = kit.values(run, "exact_match")
    assert found["none"] == found["order 4"] == 1
    (task_results,) = results(run).values()
    (consistency,) = [one for one in task_results["results"] if one["filter"] == "consistency"]
    assert consistency["n"] == kit.N - 1


def test_an_answer_that_names_no_choice_is_unread_and_not_consistent(tmp_path: Path) -> None:
    class Silent(kit.Chooser):
        def _answer(self, request: Request) -> Any:
            said = super()._answer(request)
            return "well" if re.search(r"A\. (amber|delta)", request.text) else said

    run = kit.evaluate(Silent(kit.by_content), kit.generated(tmp_path), tmp_path / "run")
    chosen = kit.values(run, "choice")
    listed = [kit.options(number) for number in range(kit.N)]
    shares = [sum(word in ("amber", "delta") for word in words) / 4 for words in listed]
    assert chosen["unread"] == pytest.approx(sum(shares) / kit.N)
    assert chosen["consistency"] == pytest.approx(sum(not share for share in shares) / kit.N)


_NO_SCORES = """
def process(doc, results):
    return {"acc": float("nan")}
"""


def test_what_was_chosen_is_no_score(tmp_path: Path) -> None:
    task = kit.hooked(tmp_path)
    Path(task).with_name("utils.py").write_text(Path(task).with_name("utils.py").read_text() + _NO_SCORES)
    run = kit.evaluate(kit.Chooser(kit.first), task, tmp_path / "run")
    assert kit.values(run, "choice")["consistency"] == 0
    (task_results,) = results(run).values()
    assert task_results["n_scored"] == 0, "no answer has a score, whatever was chosen"
    run = kit.evaluate(kit.Chooser(kit.first), kit.hooked(tmp_path), tmp_path / "scored")
    assert not [note for note in json.loads((run / "results.json").read_text())["notes"] if "score the same" in note]
