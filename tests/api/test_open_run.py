"""Runs as Python users see them: finished, interrupted, killed; and what ``resume`` gives of a finished one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

import polymeter
from polymeter import BatchModel, ModelTraits, Output, PlanError, Response
from polymeter.core.records.progress import Silence

N = 8
_LONG_S = 60
YAML = """
task: numbers
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "What is {{n}} <b>?"
doc_to_target: "{{n}}"
output_type: generate_until
process_results: !function utils.score
metric_list:
  - {metric: exact_match}
  - {metric: length, aggregation: max, higher_is_better: false}
  - {metric: own, aggregation: !function utils.total, higher_is_better: true}
"""
CODE = """
def score(doc, results):
    if doc["n"] == 1:
        raise ValueError("no <script>score</script>")
    return {"exact_match": float(results[0] == str(doc["n"])), "length": len(results[0]), "own": 2.0}

def total(values):
    return sum(values)
"""
GROUP = "group: all_numbers\ntask: [numbers]\naggregate_metric_list: [{metric: exact_match}]\n"


class Interrupting(Silence):
    """A user who presses Ctrl-C after some samples."""

    def __init__(self, after: int) -> None:
        self.after = self._left = after
        self.is_raised = Event()

    def advance(self, ended: int, failed: int, tokens: int) -> None:
        self._left -= ended
        if self._left == 0:
            self.is_raised.set()
            raise KeyboardInterrupt


class Teller(BatchModel):
    """Answers 0, 0, 2, 2, 4, 4, …"""

    batch_hint = 1

    def __init__(self, until: Interrupting | None = None) -> None:
        self.traits = ModelTraits(family="teller")
        self.n_asked = 0
        self._until = until

    @property
    def identity(self) -> dict[str, str]:
        return {"name": "teller"}

    def respond(self, requests):
        self.n_asked += len(requests)
        numbers = [int(request.text.split()[2]) for request in requests]
        if self._until is not None and max(numbers) >= self._until.after:
            self._until.is_raised.wait(_LONG_S)
        return [Response((Output(text=str(number // 2 * 2)),)) for number in numbers]


Run = Callable[..., polymeter.RunResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(N)))
    (tmp_path / "numbers.yaml").write_text(YAML)
    (tmp_path / "group.yaml").write_text(GROUP)
    (tmp_path / "utils.py").write_text(CODE)

    def evaluate(after: int | None = None, **options) -> polymeter.RunResult:
        progress = None if after is None else Interrupting(after)
        options = {"include_paths": [tmp_path], "output": tmp_path / "run", "window": 1, **options}
        return polymeter.evaluate(Teller(progress), "all_numbers", progress=progress, **options)

    return evaluate


def test_a_finished_run_is_opened_as_it_ended(run: Run) -> None:
    made = run()
    opened = polymeter.open_run(made.folder.path)
    assert opened.results == made.results
    assert (opened.status, opened.n_failed, opened.exit_code, opened.is_complete) == ("complete", 1, 1, True)
    assert opened.value("numbers", "exact_match") == made.value("numbers", "exact_match") == 4 / 7


def test_an_interrupted_run_has_the_numbers_of_what_there_is(run: Run) -> None:
    made = run(after=5)
    opened = polymeter.open_run(made.folder.path)
    task = opened.results["tasks"]["numbers"]
    assert (made.status, made.exit_code, made.is_complete) == ("interrupted", 130, False)
    assert made.results == opened.results
    assert made.results["status"] == "partial"
    # 4; or 3 if the last score was not written yet, whose answer is; or 5 if the answer that was on its way still came.
    n_scored = task["n_scored"]
    assert n_scored in {3, 4, 5}
    assert (task["n_samples"], task["n_not_asked"]) == (N, N - 1 - n_scored)
    assert opened.n_failed == 1
    accuracy = opened.result("numbers", "exact_match")
    assert accuracy.n == n_scored
    assert accuracy.value == {3: 2, 4: 3, 5: 3}[n_scored] / n_scored
    assert accuracy.stderr is not None
    assert opened.value("numbers", "length") == 1
    assert opened.value("numbers", "own") is None
    assert opened.value("all_numbers", "exact_match") == accuracy.value


def test_the_files_of_an_interrupted_run_say_that_they_are_partial(run: Run) -> None:
    made = run(after=5)
    written = json.loads(made.folder.results.read_text())
    assert (written["status"], written["run_status"]) == ("partial", "interrupted")
    page = made.report.read_text()
    assert "Partial: the run has not ended" in page
    assert f"numbers: {written['tasks']['numbers']['n_not_asked']} of 8 samples not asked yet." in page
    assert "numbers: 1 of 8 samples without a score (1 error)." in page
    assert "numbers: no value of own until the run has ended." in page
    assert not made.folder.samples.exists()


def test_a_run_that_goes_on_replaces_what_was_partial(run: Run) -> None:
    run(after=3)
    ended = run()
    written = json.loads(ended.folder.results.read_text())
    assert (written["status"], "run_status" in written) == ("complete", False)
    assert "Partial" not in ended.report.read_text()
    assert polymeter.open_run(ended.folder.path).results == ended.results


def test_a_killed_run_is_read_from_its_journal_and_nothing_is_written(run: Run) -> None:
    folder = run(after=4).folder
    manifest = json.loads(folder.manifest.read_text())
    folder.manifest.write_text(json.dumps({**manifest, "status": "running", "ended": None}))
    for path in (folder.results, folder.report):
        path.unlink()
    killed = polymeter.open_run(folder.path)
    assert (killed.status, killed.exit_code, killed.results["run_status"]) == ("running", 1, "running")
    assert "is still running, or was killed" in repr(killed)
    assert not folder.results.exists()
    assert killed.write_report() == folder.report
    assert json.loads(folder.results.read_text())["status"] == "partial"


def test_a_run_that_was_killed_before_its_journal_has_no_samples(run: Run) -> None:
    folder = run(after=4).folder
    for path in folder.path.glob("journal.db*"):
        path.unlink()
    opened = polymeter.open_run(folder.path)
    assert opened.results["tasks"]["numbers"]["n_not_asked"] == N
    assert list(opened.samples()) == []
    opened.write_report()


def test_there_must_be_a_run(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="There is no run folder"):
        polymeter.open_run(tmp_path / "nothing")


def test_results_that_a_reader_left_behind_are_made_again(run: Run) -> None:
    ended = run(limit=1)
    right = ended.folder.results.read_text()
    ended.folder.results.write_text(right.replace('"status": "complete"', '"status": "partial"', 1))
    assert run(limit=1).folder.results.read_text() == right


def test_resume_of_a_finished_run_needs_no_model(run: Run) -> None:
    ended = run(limit=1)
    assert polymeter.resume(ended.folder.path).results == ended.results
    failed = run(output=ended.folder.path.with_name("failed"))
    with pytest.raises(PlanError, match="was a Python object"):
        polymeter.resume(failed.folder.path)


def test_resume_goes_on_with_the_model_object(run: Run) -> None:
    folder = run(after=3).folder
    with pytest.raises(PlanError, match="was a Python object"):
        polymeter.resume(folder.path)
    teller = Teller()
    ended = polymeter.resume(folder.path, model=teller)
    assert ended.is_complete
    assert 0 < teller.n_asked < N
    assert ended.value("numbers", "exact_match") == 4 / 7


def test_samples_are_read_one_by_one(run: Run) -> None:
    ended = run()
    samples = ended.samples("numbers")
    first, failed = next(samples), next(samples)
    assert (first.task, first.index, first.status, first.prompt) == ("numbers", 0, "ok", "What is 0 <b>?")
    assert (first.answer, first.scores["exact_match"], first.error, first.media) == ("0", 1.0, "", ())
    assert (failed.status, failed.answer, failed.scores) == ("error", "0", {})
    assert "no <script>score</script>" in failed.error
    assert len(list(ended.samples())) == N
    with pytest.raises(KeyError, match="is not a task of this run; it has numbers"):
        ended.samples("number")


def test_samples_name_their_media(tmp_path: Path) -> None:
    ended = polymeter.evaluate("mock", "demo_signs", limit=2, output=tmp_path / "run")
    (shown,) = next(ended.samples()).media
    assert shown.is_file()


def test_samples_are_there_without_the_journal(run: Run) -> None:
    ended = run()
    before = list(ended.samples())
    for path in ended.folder.path.glob("journal.db*"):
        path.unlink()
    assert list(polymeter.open_run(ended.folder.path).samples()) == before


def test_to_pandas_has_a_row_for_each_number(run: Run) -> None:
    frame = run().to_pandas()
    assert list(frame["metric"]) == ["exact_match", "length", "own", "exact_match"]
    row = frame.iloc[0]
    assert (row["kind"], row["name"], row["value"], row["n"], row["n_planned"]) == ("task", "numbers", 4 / 7, 7, N)
    assert frame.iloc[3]["kind"] == "group"


def test_to_pandas_has_a_row_for_each_sample(run: Run) -> None:
    frame = run().to_pandas("samples")
    assert len(frame) == N
    assert list(frame.columns[:9]) == [
        *("task", "id", "subset", "status", "files", "prompt", "answer", "target", "error"),
    ]
    assert frame["exact_match"].sum() == 4
    assert list(frame["status"]).count("error") == 1
    with pytest.raises(ValueError, match="'results' or 'samples'"):
        run().to_pandas("rows")  # type: ignore[arg-type]


def test_a_result_shows_itself_as_a_table(run: Run) -> None:
    lines = repr(run()).splitlines()
    assert lines[0].startswith("RunResult(Teller, complete, ")
    assert lines[1].split() == ["task", "metric", "value", "95", "%", "interval", "n"]
    assert lines[2].split() == ["all_numbers", "exact_match", "↑", "0.5714", "7", "of", "8"]
    assert "numbers: 1 of 8 samples without a score (1 error)." in lines


def test_the_html_of_a_result_escapes_everything(run: Run) -> None:
    ended = run()
    hostile = "<img src=x onerror=alert(1)>"
    task = ended.results["tasks"]["numbers"]
    task["alias"] = hostile
    task["results"][0] |= {"metric": hostile, "filter": hostile, "value": hostile}
    ended.results["notes"] = [hostile]
    ended.results["model"] = hostile
    page = ended._repr_html_()
    assert "<img" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 7
    assert "<table>" in page


def test_a_run_folder_can_be_moved(run: Run) -> None:
    folder = run().folder.path
    moved = folder.with_name("elsewhere")
    shutil.move(folder, moved)
    assert len(list(polymeter.open_run(moved).samples())) == N
