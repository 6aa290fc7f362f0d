"""Logs of EvalScope, made by the tool itself (conformance/logs): what is read, and that a run of Polymeter agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError
from polymeter.core.logs import LoggedMedium, reader_of
from tests.cli.kit import Typing
from tests.helpers.log_proof import SAME, compared, copied, read, samples_of, stated, task_of, values

LOGS = Path(__file__).parent / "logs"
OLD, CHOICES, REPEATS = LOGS / "0.17", LOGS / "1.14" / "choices", LOGS / "1.14" / "repeats"
MAKER = Path(__file__).parents[3] / "conformance" / "logs" / "make_evalscope_0_17.py"


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


def test_the_script_that_made_the_log_gives_the_same_numbers_here(tmp_path: Path, typing: Typing) -> None:
    # In a process of its own: a script registers its benchmarks for the rest of a process.
    subprocess.run([sys.executable, "-m", "polymeter", "python", str(MAKER), "ours"], check=False, capture_output=True)
    done = typing(f"import {OLD} --output imported")
    assert done.code == 0
    assert "capitals" in done.out
    runs = {next((run / "samples").glob("*.jsonl")).stem: run for run in tmp_path.glob("ours/*/run_*")}
    assert runs.keys() == {"capitals", "spelled_capitals"}
    found = compared(runs["capitals"], tmp_path / "imported", "AverageAccuracy")
    assert found == {**SAME, "n": 8, "n_only_first": 0, "n_only_second": 0}
    for metric in ("exact", "length"):
        found = compared(runs["spelled_capitals"], tmp_path / "imported", metric)
        assert found == {**SAME, "n": 4, "n_only_first": 0, "n_only_second": 0}
    for name, run in runs.items():
        own, theirs = values(run, name), values(tmp_path / "imported", name)
        assert own.keys() == theirs.keys()
        for form in ("evalscope", "evalscope-1"):  # what Polymeter writes in either form is read again
            polymeter.export(run, form, output=tmp_path / form / name)
            polymeter.import_log(tmp_path / form / name, output=tmp_path / form / f"{name}-again")
            assert values(tmp_path / form / f"{name}-again", name) == own
        assert all(own[sample] == pytest.approx(theirs[sample]) for sample in own)


def test_a_log_of_0_17() -> None:
    run = read(OLD)
    assert (run.title, run.model) == ("EvalScope", "speaker")
    assert {task.name for task in run.tasks} == {"capitals", "spelled_capitals"}
    assert run.settings["generation_config"]["max_new_tokens"] == 16
    assert stated(OLD, "capitals") == {
        ("AverageAccuracy", "none", ()): 0.75,
        ("AverageAccuracy", "none", ("europe",)): 0.75,
        ("AverageAccuracy", "none", ("asia",)): 0.75,
    }
    samples = samples_of(OLD, "capitals")
    assert [*samples] == [*(f"europe/{i}" for i in range(5)), *(f"asia/{i}" for i in range(4))]
    assert [sample.index for sample in samples.values()] == [*range(9)]
    first = samples["europe/0"]
    assert (first.target, first.answer, first.scores) == ("Paris", "Paris", {("AverageAccuracy", "none"): 1.0})
    assert first.doc == {"country": "France", "capital": "Paris"}
    assert first.exchanges[0].messages is None
    assert first.exchanges[0].settings == {"max_new_tokens": 16}
    (output,) = first.exchanges[0].outputs
    assert (output.text, output.input_tokens, output.output_tokens) == ("Paris.", 7, 2)


def test_a_request_that_failed_is_a_failure_and_not_zero() -> None:
    gap = samples_of(OLD, "capitals")["europe/2"]
    assert (gap.status, gap.scores) == ("error", {})
    assert gap.error == "The log has no answer: with ignore_errors, EvalScope leaves failed requests out."
    gap = samples_of(REPEATS, "capitals")["europe/2"]
    assert (gap.status, gap.scores) == ("error", {})
    assert read(REPEATS).notes == (
        "capitals: 2 of 18 requests failed; the log has no reasons, and the tool's results leave them out.",
    )


def test_several_answers_of_0_17_are_repeats_of_one_sample() -> None:
    sample = samples_of(OLD, "spelled_capitals")["asia/0"]
    assert [output.text for output in sample.exchanges[0].outputs] == ["Tokyo", "Tok"]
    assert sample.scores == {("exact", "none"): 0.5, ("length", "none"): pytest.approx(0.8)}
    assert [review["result"]["exact"] for review in sample.log["reviews"]] == [1.0, 0.0]


def test_a_log_of_1_x() -> None:
    run = read(CHOICES)
    assert (run.version, run.model) == ("1.14.1", "speaker")
    assert [(task.name, task.alias, task.n_samples) for task in run.tasks] == [
        ("general_mcq", "General-MCQ", 3),
        ("general_vmcq", "General-VMCQ", 1),
    ]
    samples = samples_of(CHOICES, "general_mcq")
    assert {name: sample.scores[("accuracy", "none")] for name, sample in samples.items()} == {
        "colours/0": 1.0,
        "colours/1": 1.0,
        "colours/2": 0.0,
    }
    assert samples["colours/2"].exchanges[0].outputs[0].text == "I cannot tell."
    shown = samples_of(CHOICES, "general_vmcq")["images/0"].exchanges[0]
    assert shown.messages is not None
    assert LoggedMedium("image") in shown.messages[0].parts
    assert shown.settings == {"max_new_tokens": 16, "temperature": 0.0}


def test_repeats_of_1_x_are_one_sample_and_an_answer_without_a_score_counts_in_no_mean() -> None:
    samples = samples_of(REPEATS, "capitals")
    assert [*samples] == [*(f"europe/{i}" for i in range(5)), *(f"asia/{i}" for i in range(4))]
    assert samples["europe/4"].scores == {("exact_match", "none"): 0.5, ("accuracy", "none"): 1.0}
    assert [exchange.outputs[0].text for exchange in samples["asia/3"].exchanges] == ["Muscat", ""]
    assert samples["asia/3"].scores == {("exact_match", "none"): 1.0, ("accuracy", "none"): 1.0}
    numbers = stated(REPEATS, "capitals")
    assert numbers["exact_match", "none", ()] == 0.75  # of eight samples
    assert numbers["exact_match/as_stated", "none", ()] == 0.7333  # of fifteen answers
    assert numbers["exact_match/as_stated", "none", ("asia",)] == 0.8571


def test_an_imported_log_is_a_run_that_can_be_compared(tmp_path: Path) -> None:
    imported = polymeter.import_log(REPEATS, output=tmp_path / "run")
    (first, *_) = imported.results["tasks"]["capitals"]["results"]
    assert (first["metric"], first["value"], first["n"]) == ("exact_match", 0.75, 8)
    assert imported.results["tasks"]["capitals"]["statuses"] == {"error": 1, "ok": 8}


def test_lines_are_put_in_order_and_the_last_of_two_counts(tmp_path: Path) -> None:
    log = copied(OLD, tmp_path)
    for kind in ("predictions", "reviews"):
        file = log / kind / "speaker" / "capitals_asia.jsonl"
        lines = file.read_text().splitlines()
        again = json.loads(lines[0])
        again["choices"][0]["message"]["content"] = "Osaka"
        file.write_text("\n".join([*reversed(lines), json.dumps(again)]) + "\n")
    samples = [sample for sample in task_of(log, "capitals").samples() if sample.subset == ("asia",)]
    assert [sample.id for sample in samples] == [f"asia/{i}" for i in range(4)]
    assert samples[0].exchanges[0].outputs[0].text == "Osaka"


def test_answers_without_scores_are_unscored(tmp_path: Path) -> None:
    log = copied(REPEATS, tmp_path)
    (log / "reviews" / "speaker" / "capitals_asia.jsonl").unlink()
    sample = samples_of(log, "capitals")["asia/0"]
    assert (sample.status, sample.scores, sample.error) == ("unscored", {}, "The log has an answer and no score.")
    assert sample.exchanges[0].outputs[0].text == "Tokyo"
    assert "capitals: the log has answers without scores, of asia." in read(log).notes


def test_names_come_from_the_files_where_nothing_else_says_them(tmp_path: Path) -> None:
    log = copied(OLD, tmp_path)
    for kind in ("configs", "reports"):
        for file in (log / kind).rglob("*.*"):
            file.unlink()
    assert {task.name: task.results for task in read(log).tasks} == {"capitals": (), "spelled_capitals": ()}
    assert samples_of(log, "spelled_capitals")["asia/3"].scores[("exact", "none")] == 0.5
    log = copied(REPEATS, tmp_path)
    for kind in ("configs", "reports"):
        for file in (log / kind).rglob("*.*"):
            file.unlink()
    with pytest.raises(DataError, match="which part of its name is the benchmark"):
        read(log)


def test_a_collection_of_0_17_is_one_task(tmp_path: Path) -> None:
    log = copied(OLD, tmp_path)
    for file in [*(log / "reviews" / "speaker").glob("*"), *(log / "predictions" / "speaker").glob("*")]:
        file.rename(file.with_name(f"mix_{file.name}")) if "spelled" not in file.name else file.unlink()
    both = sorted((log / "predictions" / "speaker").glob("*"))
    (log / "predictions" / "speaker" / "mix.jsonl").write_text("".join(file.read_text() for file in both))
    for file in both:
        file.unlink()
    for file in (log / "reports").rglob("*.json"):
        file.unlink()
    config = next((log / "configs").glob("*"))
    for file in (log / "configs").glob("*"):
        file.unlink()
    config.write_text("datasets: [mix]\n")
    samples = samples_of(log, "mix")
    assert {sample.status for sample in samples.values()} == {"ok"}
    assert [*samples][:2] == ["capitals_asia/0", "capitals_asia/1"]
    assert len(samples) == 8


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No tool is known whose log lies at"):
        reader_of(tmp_path)
    log = copied(OLD, tmp_path)
    for kind in ("predictions", "reviews"):
        (log / kind / "other").mkdir()
        (log / kind / "other" / "capitals_asia.jsonl").write_text("{}\n")
    with pytest.raises(PlanError, match="answers of several models: other, speaker") as refused:
        read(log)
    assert "of one of them into a folder" in str(refused.value.hint)


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    log = copied(OLD, tmp_path)
    file = log / "reviews" / "speaker" / "capitals_asia.jsonl"
    file.write_text(file.read_text()[:-40])
    with pytest.raises(DataError, match="line 4 is not valid JSON") as refused:
        polymeter.import_log(log, output=tmp_path / "run")
    assert str(refused.value.where).endswith("capitals_asia.jsonl:4")
    assert not (tmp_path / "run").exists()
    file.write_text('{"choices": []}\n')
    with pytest.raises(DataError, match="line 1 has no index"):
        polymeter.import_log(log, output=tmp_path / "run")


def test_metrics_of_1_x_have_the_names_that_they_have_in_samples(tmp_path: Path) -> None:
    log = copied(REPEATS, tmp_path)
    report_file = log / "reports" / "speaker" / "capitals.json"
    report = json.loads(report_file.read_text())
    recall = {"name": "rouge", "aggregation": "mean", "dimensions": {"variant": "l", "statistic": "recall"}}
    bleu = {"name": "bleu", "aggregation": "mean", "dimensions": {"ngram": 2}}
    several = {"name": "accuracy", "aggregation": "pass_at_k", "dimensions": {"k": 2}}
    report["metrics"] = [{**report["metrics"][0], "identity": own} for own in (bleu, recall, several)]
    report["primary_metric_identity"] = recall
    report_file.write_text(json.dumps(report))
    whole = [metric for metric, _, subset in stated(log, "capitals") if not subset]
    assert whole == ["Rouge-L-R", "bleu-2", "accuracy/pass_at_k/k=2"]


def test_indices_that_count_something_else_leave_no_gaps(tmp_path: Path) -> None:
    log = copied(OLD, tmp_path)
    for kind in ("predictions", "reviews"):
        file = log / kind / "speaker" / "capitals_asia.jsonl"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        lines[-1]["index"] = 10**12
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = [sample.id for sample in task_of(log, "capitals").samples() if sample.subset == ("asia",)]
    assert asked == ["asia/0", "asia/1", "asia/2", "asia/1000000000000"]


def test_calls_of_tools_and_their_results_are_read(tmp_path: Path) -> None:
    log = copied(CHOICES, tmp_path)
    file = next((log / "predictions" / "speaker").glob("*.jsonl"))
    lines = file.read_text().splitlines()
    first = json.loads(lines[0])
    call = {"id": "c1", "function": {"name": "crop", "arguments": {"left": 3}}, "type": "function"}
    broken = {"id": "c2", "function": {"name": "crop", "arguments": {}}, "parse_error": "no JSON"}
    first["messages"] = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "", "tool_calls": [call, broken]},
        {"role": "tool", "content": "Cut.", "tool_call_id": "c1"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    file.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    task = file.stem.rpartition("_")[0]
    sample = next(one for one in task_of(log, task).samples() if one.exchanges[0].outputs[0].calls)
    exchange = sample.exchanges[0]
    assert exchange.messages is not None
    assert [(one.arguments, one.problem) for one in exchange.messages[1].calls] == [
        ({"left": 3}, ""),
        (None, "no JSON"),
    ]
    assert (exchange.messages[2].role, exchange.messages[2].call_id) == ("tool", "c1")
    assert exchange.outputs[0].calls[0].name == "crop"
