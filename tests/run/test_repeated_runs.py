"""``--repeats N`` in whole runs of each format: the estimates, what is asked, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.analysis.comparison.runs import read_runs
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.request import Generate, Request
from polymeter.core.task import Result
from polymeter.models.mock import MockBatch
from polymeter.report import table_lines
from polymeter.run.repeats.task import repeated
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import open_folder
from tests.helpers.judged import judged_folder
from tests.helpers.tasks import ListTask, docs
from tests.helpers.toy_datasets import write_class, write_table
from tests.run.test_judging import Judge
from tests.run.test_judging import evaluate as judge_all

ROOT = Path(__file__).parents[2]
SAID = {"1": ("a", "b", "a", "c"), "2": ("b", "b", "b", "b"), "3": ("x", "c", "y", "c")}
"""Scripted answers by question and repeat; the right ones are a, b and c."""
RIGHT = {"1": "a", "2": "b", "3": "c"}
PASSED = (2, 4, 2)
_YAML = """\
task: quiz
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "Question {{number}}"
doc_to_target: answer
generation_kwargs: {temperature: 0.7, do_sample: true}
"""


def number_of(request: Request) -> str:
    return next(character for character in request.text if character in "123")


class Scripted(MockBatch):
    """Answers by question and repeat; remembers the requests."""

    def __init__(self, said: Mapping[str, Sequence[str]] = SAID, shape: str = "{}") -> None:
        super().__init__(self.answer, identity={"backend": "scripted"})
        self.said, self.shape = said, shape
        self.asked: list[Request] = []

    def answer(self, request: Request) -> str:
        self.asked.append(request)
        assert isinstance(request.parameters, Generate)
        return self.shape.format(self.said[number_of(request)][request.parameters.repeat])


def yaml_task(folder: Path, more: str = "output_type: generate_until\n", code: str = "") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"number": int(n), "answer": right, "options": ["a", "b", "c"]} for n, right in RIGHT.items()]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "utils.py").write_text(code, encoding="utf-8")
    (folder / "quiz.yaml").write_text(_YAML + more, encoding="utf-8")
    return str(folder / "quiz.yaml")


def estimates(run: Path, metric: str, own: str = "none") -> dict[str, Any]:
    """The values of a metric's results of the whole task, by filter."""
    (task,) = json.loads((run / "results.json").read_text())["tasks"].values()
    return {one["filter"]: one["value"] for one in task["results"] if one["metric"] == metric and not one["subset"]}


EXPECTED = {
    "none": 8 / 12,
    "mean@4": 8 / 12,
    "pass@1": 8 / 12,
    "pass@2": (5 / 6 + 1 + 5 / 6) / 3,
    "pass@3": 1.0,
    "pass@4": 1.0,
    "pass^1": 8 / 12,
    "pass^2": (1 / 6 + 1 + 1 / 6) / 3,
    "pass^3": 1 / 3,
    "pass^4": 1 / 3,
    "maj@4": 1.0,
}


def test_task_yaml(tmp_path: Path) -> None:
    model = Scripted()
    result = polymeter.evaluate(model, [yaml_task(tmp_path)], output=tmp_path / "run", repeats=4)
    assert estimates(tmp_path / "run", "exact_match") == pytest.approx(EXPECTED)
    assert len(model.asked) == 12
    assert len({(number_of(one), one.parameters.seed) for one in model.asked}) == 12  # type: ignore[union-attr]
    assert {one["n"] for one in result.results["tasks"]["quiz"]["results"]} == {3}, "questions are the units"


def test_the_first_repeat_is_the_run_without_repeats(tmp_path: Path) -> None:
    task, once, often = yaml_task(tmp_path), Scripted(), Scripted()
    polymeter.evaluate(once, [task], output=tmp_path / "once")
    polymeter.evaluate(often, [task], output=tmp_path / "often", repeats=2)
    seeds = {number_of(one): one.parameters.seed for one in once.asked}  # type: ignore[union-attr]
    first = {number_of(one): one.parameters.seed for one in often.asked if not one.parameters.repeat}  # type: ignore[union-attr]
    assert seeds == first
    assert set(estimates(tmp_path / "once", "exact_match")) == {"none"}


def test_named_filters_vote_on_what_they_extract(tmp_path: Path) -> None:
    body = """\
output_type: generate_until
filter_list:
  - name: letter
    filter: [{function: regex, regex_pattern: "is ([a-c])"}, {function: take_first}]
"""
    said = {**SAID, "3": ("no", "is c", "no", "no")}
    said = {key: [text if len(text) > 1 else f"it is {text}" for text in each] for key, each in said.items()}
    polymeter.evaluate(Scripted(said), [yaml_task(tmp_path, body)], output=tmp_path / "run", repeats=4)
    found = estimates(tmp_path / "run", "exact_match")
    assert found["letter/mean@4"] == pytest.approx(7 / 12)
    assert found["letter/maj@4"] == 1, "an answer without a letter casts no vote"


_OWN = """
def process(doc, results):
    return {"acc": float(doc["answer"] in results[0]), "length": len(results[0]) / 4}
"""
_OWN_YAML = """\
output_type: generate_until
process_results: !function utils.process
metric_list: [{metric: acc}, {metric: length}, {metric: absent}]
"""


def test_own_code_has_no_votes_and_no_pass_at_k_of_other_numbers(tmp_path: Path) -> None:
    polymeter.evaluate(Scripted(), [yaml_task(tmp_path, _OWN_YAML, _OWN)], output=tmp_path / "run", repeats=4)
    found = estimates(tmp_path / "run", "acc")
    assert "maj@4" not in found
    assert found["pass@2"] == pytest.approx(EXPECTED["pass@2"])
    assert estimates(tmp_path / "run", "length") == pytest.approx({"none": 0.25, "mean@4": 0.25})


def test_shares_of_questions_do_not_depend_on_the_scale_or_the_model(tmp_path: Path) -> None:
    code = (
        _OWN
        + """
def percent(values):
    return 100 * sum(values) / len(values)
"""
    )
    body = _OWN_YAML.replace("{metric: acc}", "{metric: acc, aggregation: !function utils.percent}")
    wrong = {key: ["-"] * 4 for key in SAID}
    for name, said in (("some", SAID), ("none", wrong)):
        polymeter.evaluate(Scripted(said), [yaml_task(tmp_path, body, code)], output=tmp_path / name, repeats=4)
    some, none = (estimates(tmp_path / name, "acc") for name in ("some", "none"))
    assert [*some] == [*none]
    assert some["mean@4"] == pytest.approx(100 * EXPECTED["mean@4"])
    assert some["pass@2"] == pytest.approx(EXPECTED["pass@2"])


def test_a_missing_value_leaves_one_question_out_of_pass_at_k(tmp_path: Path) -> None:
    code = """
def process(doc, results):
    return {"acc": float("nan") if results[0] == "x" else float(doc["answer"] in results[0])}
"""
    body = _OWN_YAML.replace(", {metric: length}, {metric: absent}", "")
    polymeter.evaluate(Scripted(), [yaml_task(tmp_path, body, code)], output=tmp_path / "run", repeats=4)
    (task,) = json.loads((tmp_path / "run" / "results.json").read_text())["tasks"].values()
    found = {one["filter"]: (one["value"], one["n"]) for one in task["results"]}
    assert found["pass@2"] == (pytest.approx((5 / 6 + 1) / 2), 2)
    assert found["pass^4"] == (pytest.approx(1 / 2), 2)
    for name in ("again", "files"):
        shutil.copytree(tmp_path / "run", tmp_path / name)
    (tmp_path / "files" / "journal.db").unlink()
    for other in ("again", "files"):
        compared = polymeter.compare(tmp_path / "run", tmp_path / other).others[0]
        shares = {one.filter: one.n for one in compared.scores if one.filter.startswith("pass")}
        assert shares == {name: n for name, (_, n) in found.items() if name.startswith("pass")}


def test_options_as_text(tmp_path: Path) -> None:
    body = "output_type: multiple_choice\ndoc_to_choice: options\n"
    letters = {key: [text.upper() for text in each] for key, each in SAID.items()}
    polymeter.evaluate(
        Scripted(letters),
        [yaml_task(tmp_path, body)],
        output=tmp_path / "run",
        repeats=4,
        mcq="text",
        generation={"temperature": 0.5},
    )
    found = estimates(tmp_path / "run", "acc")
    assert found["mean@4"] == pytest.approx(8 / 12)
    assert found["maj@4"] == 1
    assert estimates(tmp_path / "run", "unparsed")["mean@4"] == pytest.approx(2 / 12)
    assert "pass@2" not in estimates(tmp_path / "run", "unparsed"), "lower is better: 1 is no success"


_ROUNDS = """
def text(doc, model_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return f"Question {doc['number']}"
    done = round_idx >= 1 + doc["number"] % 2
    return [], f"Question {doc['number']} again", done, previous_output, None

def process(doc, results):
    return {"acc": float(results[0][-1] == doc["answer"]), "n": float(len(results[0]))}
"""


def test_rounds_of_different_length(tmp_path: Path) -> None:
    body = """\
output_type: generate_until_multi_round
process_results: !function utils.process
metric_list: [{metric: acc}, {metric: n}]
"""
    task = yaml_task(tmp_path, body, _ROUNDS)
    text = Path(task).read_text().replace('"Question {{number}}"', "!function utils.text")
    Path(task).write_text(text)
    polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=4)
    assert estimates(tmp_path / "run", "acc")["pass@2"] == pytest.approx(EXPECTED["pass@2"])
    polymeter.evaluate(Scripted(), [task], output=tmp_path / "once")
    assert estimates(tmp_path / "run", "n")["none"] == estimates(tmp_path / "once", "n")["none"]


def test_python_benchmark(tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text(
        "import polymeter\n"
        "@polymeter.scorer\n"
        "def whole(answer, reference): return answer == reference\n"
        "@polymeter.scorer\n"
        "def told(answer, reference): return polymeter.Scored(answer == reference, answer=answer)\n"
        f"@polymeter.task(rows={[{'n': n, 'a': a} for n, a in RIGHT.items()]!r}, reference='a',\n"
        "    scorers=['exact_match', whole, told], generation={'temperature': 0.7})\n"
        "def bench(row): return f'Question {row[\"n\"]}'\n"
    )
    polymeter.evaluate(Scripted(), [str(tmp_path / "bench.py")], output=tmp_path / "run", repeats=4)
    assert estimates(tmp_path / "run", "exact_match") == pytest.approx(EXPECTED)
    assert estimates(tmp_path / "run", "told") == pytest.approx(EXPECTED)
    assert "maj@4" not in estimates(tmp_path / "run", "whole"), "what the function read is not known"


def test_data_adapter(tmp_path: Path) -> None:
    bench = shutil.copytree(ROOT / "tests/oracle/inputs/guests/bench", tmp_path / "bench")
    said = ("It is 0", "It is 2", "it is 2", "so 4")
    model = MockBatch(lambda request: said[request.parameters.repeat], identity={"backend": "s"})  # type: ignore[union-attr]
    for name, repeats in (("run", 4), ("once", 1)):
        polymeter.evaluate(
            model,
            ["quiz"],
            output=tmp_path / name,
            include_paths=[bench],
            repeats=repeats,
            generation={"temperature": 0.5},
        )
    rows = [*read_samples(open_folder(tmp_path / "run"), "quiz")]
    right = [row["doc"]["n"] * 2 for row in rows]
    found = estimates(tmp_path / "run", "AverageAccuracy")
    assert found["none"] == pytest.approx(sum({0: 1, 2: 2, 4: 1}.get(n, 0) for n in right) / 4 / len(right))
    assert found["maj@4"] == pytest.approx(sum(n == 2 for n in right) / len(right)), "the adapter's own reading votes"
    assert (tmp_path / "run/artifacts/repeat_2").is_dir()


def test_dataset_class_and_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    columns = {"index": range(3), "question": [f"Question {n}" for n in RIGHT], "answer": [*RIGHT.values()]}
    body = """
def evaluate(self, eval_file, **kwargs):
    data = load(eval_file)
    return {'hits': float((data['prediction'] == data['answer']).mean())}
"""
    file = write_class(tmp_path / "lib", body, columns=columns, type_="QA")
    polymeter.evaluate(
        Scripted(),
        ["Toy"],
        include_paths=(file,),
        output=tmp_path / "class",
        repeats=4,
        generation={"temperature": 1.0},
    )
    assert estimates(tmp_path / "class", "hits") == pytest.approx({"none": 8 / 12, "mean@4": 8 / 12})

    table = write_table(tmp_path / "open.tsv", columns)
    polymeter.evaluate(Scripted(), [str(table)], output=tmp_path / "table", repeats=4, generation={"temperature": 1.0})
    assert estimates(tmp_path / "table", "exact_match") == pytest.approx(EXPECTED)


def test_the_parts_of_a_table_have_estimates_of_their_own(tmp_path: Path) -> None:
    columns = {
        "index": range(3),
        "question": [f"Question {n}" for n in RIGHT],
        "answer": [*RIGHT.values()],
        "split": ["dev", "dev", "test"],
        "category": ["x", "y", "x"],
    }
    table = write_table(tmp_path / "open.tsv", columns)
    for name, repeats in (("run", 4), ("once", 1)):
        polymeter.evaluate(
            Scripted(), [str(table)], output=tmp_path / name, repeats=repeats, generation={"temperature": 1.0}
        )

    def parts(run: str) -> dict[tuple[str, ...], dict[str, Any]]:
        (task,) = json.loads((tmp_path / run / "results.json").read_text())["tasks"].values()
        found: dict[tuple[str, ...], dict[str, Any]] = {}
        for one in task["results"]:
            if one["metric"] == "exact_match" and one["subset"]:
                found.setdefault(tuple(one["subset"]), {})[one["filter"]] = (one["value"], one["n"])
        return found

    found = parts("run")
    assert [*found] == [*parts("once")] == [("split", "dev"), ("split", "test"), ("category", "x"), ("category", "y")]
    assert found["split", "dev"] == {
        "none": (pytest.approx(6 / 8), 2),
        "mean@4": (pytest.approx(6 / 8), 2),
        "pass@1": (pytest.approx(6 / 8), 2),
        "pass@2": (pytest.approx((5 / 6 + 1) / 2), 2),
        "pass@3": (1.0, 2),
        "pass@4": (1.0, 2),
        "pass^1": (pytest.approx(6 / 8), 2),
        "pass^2": (pytest.approx((1 / 6 + 1) / 2), 2),
        "pass^3": (0.5, 2),
        "pass^4": (0.5, 2),
        "maj@4": (1.0, 2),
    }
    assert found["category", "y"]["pass^4"] == (1.0, 1)
    assert found["category", "x"]["pass@2"] == (pytest.approx(5 / 6), 2)
    polymeter.score(tmp_path / "run", output=tmp_path / "again")
    assert parts("again") == found


def test_images_are_asked_with_seeds_of_their_own(tmp_path: Path) -> None:
    body = "output_type: generate_image\nmetric_list: [{metric: bypass}]\n"
    seeds: list[Any] = []

    class Drawing(MockBatch):
        def respond(self, requests: list[Request]) -> Any:
            seeds.extend(one.parameters.seed for one in requests)  # type: ignore[union-attr]
            return super().respond(requests)

    task = yaml_task(tmp_path, body)
    polymeter.evaluate(Drawing(lambda request: ""), [task], output=tmp_path / "run", repeats=3)
    assert len(set(seeds)) == 9


def test_a_failed_repeat_leaves_its_question_without_a_score(tmp_path: Path) -> None:
    class Failing(Scripted):
        is_broken = True

        def answer(self, request: Request) -> str:
            if self.is_broken and number_of(request) == "1" and request.parameters.repeat == 2:  # type: ignore[union-attr]
                raise ModelError("broken")
            return super().answer(request)

    model = Failing()
    task, run = yaml_task(tmp_path), tmp_path / "run"
    result = polymeter.evaluate(model, [task], output=run, repeats=4)
    assert result.results["tasks"]["quiz"]["statuses"] == {"ok": 2, "error": 1}
    assert estimates(run, "exact_match")["maj@4"] == 1
    assert estimates(run, "exact_match")["mean@4"] == pytest.approx(6 / 8)
    model.is_broken, model.asked = False, []
    polymeter.evaluate(model, [task], output=run, repeats=4)
    assert len(model.asked) == 1, "the other answers are in the journal"
    assert estimates(run, "exact_match") == pytest.approx(EXPECTED)


def test_scored_again_and_compared(tmp_path: Path) -> None:
    task = yaml_task(tmp_path)
    polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=4)
    polymeter.score(tmp_path / "run", output=tmp_path / "again")
    assert estimates(tmp_path / "again", "exact_match") == estimates(tmp_path / "run", "exact_match")
    other = {**SAID, "2": ("c", "b", "c", "c")}
    polymeter.evaluate(Scripted(other), [task], output=tmp_path / "other", repeats=4)
    found = polymeter.compare(tmp_path / "run", tmp_path / "other")
    lines = {(line.metric, line.filter): line for line in found.others[0].scores}
    assert lines["exact_match", "pass@2"].difference == pytest.approx((0.5 - 1) / 3)
    assert lines["exact_match", "none"].n == 3, "paired by question"
    assert lines["exact_match", "maj@4"].losses == 1


def test_estimates_of_one_run_alone_are_left_out_of_a_comparison(tmp_path: Path) -> None:
    task = yaml_task(tmp_path)
    for name, repeats in (("once", 1), ("twice", 2), ("often", 4)):
        polymeter.evaluate(Scripted(), [task], output=tmp_path / name, repeats=repeats)
    for first, shared in (("once", ["none"]), ("twice", ["none", "pass@1", "pass@2", "pass^1", "pass^2"])):
        found = polymeter.compare(tmp_path / first, tmp_path / "often").others[0]
        assert [one.filter for one in found.scores] == shared
        assert found.not_compared == ()


def test_another_number_of_repeats_is_another_run(tmp_path: Path) -> None:
    task = yaml_task(tmp_path)
    polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=3)
    with pytest.raises(PlanError, match=r"The run folder holds another run: .*repeats") as raised:
        polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=4)
    assert "--output" in raised.value.hint


@pytest.mark.parametrize("repeats", [0, -1, "two"])
def test_a_number_of_repeats_is_at_least_one(tmp_path: Path, repeats: Any) -> None:
    with pytest.raises(PlanError, match="repeats"):
        polymeter.evaluate(Scripted(), [yaml_task(tmp_path)], output=tmp_path / "run", repeats=repeats)


def test_log_likelihoods_are_refused(tmp_path: Path) -> None:
    task = yaml_task(tmp_path, "output_type: multiple_choice\ndoc_to_choice: options\n")
    with pytest.raises(PlanError, match="asks for log-probabilities, which are the same each time") as raised:
        polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=2)
    assert "--mcq text" in raised.value.hint


def test_greedy_answers_are_a_warning(tmp_path: Path) -> None:
    task = yaml_task(tmp_path)
    result = polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=2, generation={"temperature": 0})
    assert any("greedy" in note and "--gen-kwargs temperature=0.7" in note for note in result.results["notes"])
    with pytest.raises(PlanError, match="greedy"):
        polymeter.evaluate(
            Scripted(), [task], output=tmp_path / "strict", repeats=2, generation={"temperature": 0}, is_strict=True
        )


def test_own_repeats_are_inside_each_repeat(tmp_path: Path) -> None:
    body = """\
output_type: generate_until
repeats: 2
filter_list: [{name: vote, filter: [{function: majority_vote}, {function: take_first}]}]
"""
    model = Scripted()
    result = polymeter.evaluate(model, [yaml_task(tmp_path, body)], output=tmp_path / "run", repeats=2)
    assert len(model.asked) == 12
    assert any("4 answers to a question" in note for note in result.results["notes"])
    assert estimates(tmp_path / "run", "exact_match")["vote/mean@2"] == pytest.approx((1 + 1 + 0 + 0 + 1 + 1) / 6)


def test_clusters_of_the_task_count(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    task = yaml_task(folder, "output_type: generate_until\ncluster_key: pair\n")
    rows = [{"number": n, "answer": RIGHT[str(n)], "pair": n > 1} for n in (1, 2, 3)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=4)
    methods = {one["filter"]: one["stderr_method"] for one in result.results["tasks"]["quiz"]["results"]}
    assert {methods[name] for name in ("none", "mean@4", "pass@2", "maj@4")} == {methods["none"]}


def test_means_of_runs_keep_the_samples(tmp_path: Path) -> None:
    polymeter.evaluate(Scripted(), [yaml_task(tmp_path)], output=tmp_path / "run", repeats=4)
    (run,) = read_runs([tmp_path / "run"])
    (first, *_) = run.outcomes("quiz")
    assert first.values["exact_match", "pass@2"] == pytest.approx(5 / 6)
    (row, *_) = read_samples(open_folder(tmp_path / "run"), "quiz")
    shown = {one["filter"]: one["value"] for one in row["scores"]}
    assert shown == {"none": 0.5, "maj@4": 1.0, "repeat 1": 1.0, "repeat 2": 0.0, "repeat 3": 1.0, "repeat 4": 0.0}
    assert [one["answer"] for one in row["log"]["repeats"]] == [*SAID["1"]]


_CHILD = """
import os, signal, sqlite3, sys, time
import polymeter
from tests.run.test_repeated_runs import Scripted
task, run, log, instant = sys.argv[1:]
class Dying(Scripted):
    def answer(self, request):
        said = super().answer(request)
        with open(log, "a") as file:
            print(request.parameters.seed, file=file)
        if len(self.asked) == int(instant):
            with sqlite3.connect(os.path.join(run, "journal.db")) as journal:
                while journal.execute("SELECT COUNT(*) FROM responses").fetchone()[0] < len(self.asked) - 1:
                    time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGKILL)
        return said
polymeter.evaluate(Dying(), [task], output=run, repeats=4, batch_size=1)
"""


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    task = yaml_task(tmp_path)

    def child(run: str, log: str, instant: int) -> int:
        command = [sys.executable, "-c", _CHILD, task, str(tmp_path / run), str(tmp_path / log), str(instant)]
        return subprocess.run(command, cwd=ROOT, env=dict(os.environ), timeout=120, check=False).returncode

    assert child("run", "first", 7) == -signal.SIGKILL
    assert child("run", "second", 0) == 0
    assert child("whole", "third", 0) == 0
    results = [json.loads((tmp_path / name / "results.json").read_text()) for name in ("run", "whole")]
    assert results[0]["tasks"] == results[1]["tasks"]
    asked = [*(tmp_path / "second").read_text().split()]
    assert len(asked) <= 6, "only the answer in flight is asked for again"
    assert len(set(asked)) == len(asked)


def test_lm_eval_task(tmp_path: Path) -> None:
    body = """\
output_type: generate_until
filter_list:
  - name: letter
    filter: [{function: regex, regex_pattern: "is ([a-c])"}, {function: take_first}]
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true, ignore_case: true}]
"""
    task = yaml_task(tmp_path / "lm_eval" / "tasks" / "mine", body)
    said = {key: [f"it is {text}" for text in each] for key, each in SAID.items()}
    polymeter.evaluate(Scripted(said), [task], output=tmp_path / "run", repeats=4)
    assert json.loads((tmp_path / "run/run.json").read_text())["tasks"][0]["dialect"] == "lm_eval"
    found = estimates(tmp_path / "run", "exact_match")
    assert found["letter/pass@2"] == pytest.approx(EXPECTED["pass@2"])
    assert found["letter/maj@4"] == 1


@pytest.mark.parametrize("rule", ["mean", "majority"])
def test_a_panel_scores_each_repeat(tmp_path: Path, rule: str) -> None:
    folder = judged_folder(tmp_path / "tasks")
    judges = [
        Judge(lambda n: "A" if n % 2 else "B", "odd"),
        Judge(lambda n: "A", "kind"),
        Judge(lambda n: "B", "strict"),
    ]
    once = judge_all(folder, judges, output="once", panel=rule)
    often = judge_all(folder, judges, output="often", panel=rule, repeats=2, generation={"temperature": 1.0})
    assert often.value("facts", "judged") == pytest.approx(once.value("facts", "judged"))
    panels = [one.results["tasks"]["facts"]["judges"]["metrics"] for one in (once, often)]
    assert [[one["filter"] for one in panel] for panel in panels] == [["none"], ["none"]], "one comparison of judges"
    filters = {one["filter"] for one in often.results["tasks"]["facts"]["results"]}
    assert ("pass@2" in filters) is (rule == "majority"), "a mean of judges is neither 0 nor 1"


def test_scores_of_people_are_refused(tmp_path: Path) -> None:
    task = yaml_task(tmp_path)
    verdicts = {"quiz": {"values": {"0": {"exact_match": 1.0}}, "excluded": {}}}
    with pytest.raises(PlanError, match="Scores of people are about one answer"):
        polymeter.evaluate(Scripted(), [task], output=tmp_path / "run", repeats=2, verdicts=verdicts)


def test_the_task_finishes_its_own_results_whatever_their_filter_is_named(tmp_path: Path) -> None:
    finished: list[Result] = []
    task = ListTask(docs(1)).as_task()
    filters = ("none", "mean@2", "pass@1", "pass^2", "maj@2", "pass@2", "pass@2/mean@2", "pass@2/pass@1")
    own = replace(task, finish=lambda results, path: finished.extend(results))
    repeated(own, 2).finish([Result("acc", name, 1.0, 1) for name in filters], tmp_path)
    assert [one.filter for one in finished] == ["none", "pass@2"]


def test_groups_and_limits(tmp_path: Path) -> None:
    yaml_task(tmp_path)
    text = (tmp_path / "quiz.yaml").read_text()
    (tmp_path / "other.yaml").write_text(text.replace("task: quiz", "task: other"))
    (tmp_path / "both.yaml").write_text(
        "group: both\ntask: [quiz, other]\naggregate_metric_list: [{metric: exact_match, weight_by_size: false}]\n"
    )
    model = Scripted()
    result = polymeter.evaluate(model, ["both"], include_paths=[tmp_path], output=tmp_path / "run", repeats=4, limit=2)
    assert len(model.asked) == 2 * 2 * 4, "a limit counts questions"
    assert result.value("both", "exact_match") == pytest.approx(6 / 8)


def test_the_table_shows_each_estimate_once(tmp_path: Path) -> None:
    result = polymeter.evaluate(Scripted(), [yaml_task(tmp_path)], output=tmp_path / "run", repeats=4)
    shown = [line.filter for line in table_lines(result.results)]
    assert shown == ["mean@4", "pass@1", "pass@2", "pass@4", "pass^2", "pass^4", "maj@4"]
