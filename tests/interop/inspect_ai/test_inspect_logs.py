"""Logs of Inspect, made by the tool itself (conformance/logs): what is read, and that a run of Polymeter agrees."""

from __future__ import annotations

import json
import math
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError
from polymeter.core.logs import LoggedMedium, reader_of
from tests.cli.kit import Typing
from tests.helpers.log_proof import SAME, compared, copied, read, samples_of, stated, task_of

LOGS = Path(__file__).parent / "logs"
ARCHIVES = LOGS / "eval"
CAPITALS = """\
{"input": "What is the capital of France?", "target": "Paris", "continent": "Europe"}
{"input": "What is the capital of Japan?", "target": "Tokyo", "continent": "Asia"}
{"input": "What is the capital of Peru?", "target": "Lima", "continent": "America"}
{"input": "What is the capital of Nepal?", "target": "Kathmandu", "continent": "Asia"}
{"input": "What is the capital of Laos?", "target": "Vientiane", "continent": "Asia"}
"""
SAID = {"0": "Paris", "1": "Kyoto", "2": "Lima", "3": ""}
TASK = """\
task: capitals
dataset_path: json
dataset_kwargs: {data_files: {test: capitals.jsonl}}
test_split: test
doc_to_text: "{{input}}"
doc_to_target: target
generation_kwargs: {max_new_tokens: 16, temperature: 0}
process_results: !function utils.scores
metric_list: [{metric: exact}, {metric: spelled/same}, {metric: spelled/length}]
"""
UTILS = """\
def scores(doc, results):
    said, target = results[0], doc["target"]
    spelled = {"spelled/same": float(said == target), "spelled/length": len(said) / len(target)} if said else {}
    return {"exact": float(said.lower() == target.lower()), **spelled}
"""


@pytest.fixture
def typing(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typing:
    monkeypatch.chdir(tmp_path)
    return Typing(tmp_path, capsys)


def test_the_same_benchmark_gives_the_same_numbers_here(typing: Typing) -> None:
    typing.write({"capitals.jsonl": CAPITALS, "capitals.yaml": TASK, "utils.py": UTILS, "said.json": json.dumps(SAID)})
    made = typing("run --model mock --model-args answers=said.json --tasks capitals.yaml -q -o ours")
    assert made.code == 0, made.said
    done = typing(f"import {ARCHIVES / 'capitals.eval'} --output imported")
    assert "capitals: 1 of 5 samples without a score (1 error)." in done.out
    for metric, n, n_only_ours in (("exact", 4, 1), ("spelled/same", 3, 1), ("spelled/length", 3, 1)):
        found = compared(typing.folder / "ours", typing.folder / "imported", metric)
        assert found == {**SAME, "n": n, "n_only_first": n_only_ours, "n_only_second": 0}


def test_a_log_in_neutral_words() -> None:
    run = read(ARCHIVES / "capitals.eval")
    assert (run.title, run.version, run.model) == ("Inspect", "0.3.285", "mockllm/speaker")
    (task,) = run.tasks
    assert (task.name, task.n_samples, task.config["scorers"]) == ("capitals", 5, ["exact", "spelled"])
    assert stated(ARCHIVES / "capitals.eval", "capitals") == {
        ("exact", "none", ()): 0.5,
        ("spelled/same", "none", ()): pytest.approx(2 / 3),
        ("spelled/length", "none", ()): 1.0,
    }
    samples = {sample.doc["id"]: sample for sample in task.samples()}
    france = samples["France"]
    assert (france.id, france.index) == ("0", 0)
    assert france.scores == {("exact", "none"): 1.0, ("spelled/same", "none"): 1.0, ("spelled/length", "none"): 1.0}
    assert france.doc == {
        "id": "France",
        "input": "What is the capital of France?",
        "target": "Paris",
        "continent": "Europe",
    }
    (exchange,) = france.exchanges
    assert [message.parts for message in exchange.messages or ()] == [("What is the capital of France?",)]
    assert exchange.settings == {"max_new_tokens": 16, "temperature": 0.0}
    assert (exchange.outputs[0].text, exchange.outputs[0].output_tokens) == ("Paris", 2)
    assert samples["Nepal"].scores == {("exact", "none"): 0.0}  # the other scorer said that it has no value
    failed = samples["Laos"]
    assert (failed.status, failed.scores, failed.error) == ("error", {}, "RuntimeError('The model is gone.')")


def test_epochs_are_repeats_and_other_reducers_stand_beside_the_mean() -> None:
    log = ARCHIVES / "sums.eval"
    assert stated(log, "sums") == {
        ("match", "none", ()): 0.5,
        ("match", "at_least_1", ()): 0.75,
        ("includes", "none", ()): 0.5,
        ("includes", "at_least_1", ()): 0.75,
    }
    samples = samples_of(log, "sums")
    assert [*samples] == ["0", "1", "2", "3"]
    assert [exchange.outputs[0].text for exchange in samples["0"].exchanges] == ["2", "two"]
    assert {name: sample.scores[("match", "none")] for name, sample in samples.items()} == {
        "0": 0.5,
        "1": 1.0,
        "2": 0.5,
        "3": 0.0,
    }
    assert [sample.scores[("match", "at_least_1")] for sample in samples.values()] == [1.0, 1.0, 1.0, 0.0]
    assert samples["0"].log["epochs"] == [{"match": "C", "includes": "C"}, {"match": "I", "includes": "I"}]
    assert "id" not in samples["0"].doc  # Inspect counts where the author gave no ids
    assert task_of(log, "sums").version == "2"


def test_multiple_choice_images_and_limits() -> None:
    samples = samples_of(ARCHIVES / "colours.eval", "colours")
    assert [sample.scores[("choice", "none")] for sample in samples.values()] == [1.0, 1.0, 0.0]
    assert samples["0"].doc == {
        "input": "Which colour has the sky?",
        "choices": ["green", "blue", "red"],
        "target": "B",
    }
    shown = samples_of(ARCHIVES / "pictures.eval", "pictures")["0"].exchanges[0].messages
    assert shown is not None
    assert shown[0].parts == ("Name red.png.", LoggedMedium("image"))
    stories = {sample.doc["id"]: sample for sample in task_of(ARCHIVES / "stories.eval", "stories").samples()}
    assert stories["short"].scores == {("includes", "none"): 1.0}
    assert (stories["long"].scores, stories["long"].log) == ({("includes", "none"): 0.0}, {"limits": ["token"]})


def test_both_forms_of_a_log_are_read_alike() -> None:
    archive, plain = ARCHIVES / "pictures.eval", LOGS / "json" / "pictures.json"
    assert samples_of(archive, "pictures") == samples_of(plain, "pictures")
    assert stated(archive, "pictures") == stated(plain, "pictures")


def test_a_folder_of_logs_is_one_run(tmp_path: Path) -> None:
    imported = polymeter.import_log(ARCHIVES, output=tmp_path / "run")
    assert {*imported.results["tasks"]} == {"capitals", "colours", "pictures", "stories", "sums"}
    shutil.copytree(ARCHIVES, tmp_path / "logs")
    shutil.copy(ARCHIVES / "sums.eval", tmp_path / "logs" / "again.eval")
    with pytest.raises(PlanError, match="has several logs of sums"):
        read(tmp_path / "logs")


def changed(tmp_path: Path, change: Any) -> Path:
    """The log in JSON, with something else in it."""
    document = json.loads((LOGS / "json" / "pictures.json").read_text())
    change(document)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return path


def test_grades_become_numbers_and_what_is_none_stays_none(tmp_path: Path) -> None:
    grades = ["C", "P", "I", "N", "yes", "false", "0.25", 3, True, "good", float("nan"), None]

    def change(document: dict[str, Any]) -> None:
        document["eval"]["dataset"]["sample_ids"] = [f"s{i}" for i in range(len(grades))]
        document["samples"] = [
            {**document["samples"][0], "id": f"s{i}", "scores": {"exact": {"value": grade}}}
            for i, grade in enumerate(grades)
        ]

    samples = samples_of(changed(tmp_path, change), "pictures")
    found = [samples[str(i)].scores.get(("exact", "none")) for i in range(len(grades))]
    assert found == [1.0, 0.5, 0.0, 0.0, 1.0, 0.0, 0.25, 3.0, 1.0, None, None, None]
    assert [sample.status for sample in samples.values()] == ["ok"] * 9 + ["unscored"] * 3
    assert not any(math.isnan(value) for sample in samples.values() for value in sample.scores.values())


def test_ids_are_those_of_the_author_where_the_order_is_not_known(tmp_path: Path) -> None:
    def shuffle(document: dict[str, Any]) -> None:
        document["eval"]["dataset"]["shuffled"] = True

    log = changed(tmp_path, shuffle)
    assert {*samples_of(log, "pictures")} == {"red", "green"}
    note = "pictures: the log does not record the order of the dataset; samples have their author's ids."
    assert read(log).notes == (note,)

    def limit(document: dict[str, Any]) -> None:
        document["eval"]["config"]["limit"] = [5, 7]

    assert {*samples_of(changed(tmp_path, limit), "pictures")} == {"5", "6"}


def test_a_sample_that_a_limit_ended_without_a_score_is_truncated(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["samples"][0]["scores"] = {}
        document["samples"][0]["limit"] = {"type": "time", "limit": 3}

    sample = samples_of(changed(tmp_path, change), "pictures")["1"]
    assert (sample.status, sample.error) == ("truncated", "It reached a limit of the run: time.")


def test_a_run_that_did_not_end_is_read_as_far_as_it_went(tmp_path: Path) -> None:
    log = tmp_path / "begun.eval"
    with zipfile.ZipFile(log, "w") as archive:
        document = json.loads((LOGS / "json" / "pictures.json").read_text())
        archive.writestr("_journal/start.json", json.dumps({key: document[key] for key in ("version", "eval", "plan")}))
        sample = document["samples"][0]
        archive.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    run = read(log)
    assert run.notes == ("pictures: Inspect's run did not end well (status started).",)
    assert (run.tasks[0].n_samples, len([*run.tasks[0].samples()])) == (2, 1)


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    archive = copied(ARCHIVES, tmp_path) / "capitals.eval"
    data = archive.read_bytes()
    with zipfile.ZipFile(archive) as whole:
        info = whole.getinfo("samples/France_epoch_1.json")
    place = info.header_offset + info.compress_size // 2
    archive.write_bytes(data[:place] + b"\0\0\0\0\0\0\0\0" + data[place + 8 :])
    with pytest.raises(DataError, match=r"capitals.eval is damaged: samples/France_epoch_1.json"):
        polymeter.import_log(archive, output=tmp_path / "run")
    archive.write_bytes(data[:-200])
    with pytest.raises(DataError, match=r"capitals.eval is damaged: it is not a whole ZIP archive"):
        reader_of(archive, "inspect-ai")[1].read(archive)
    plain = tmp_path / "pictures.json"
    text = (LOGS / "json" / "pictures.json").read_text()
    plain.write_text(text[: text.index('"samples"') + 400])
    with pytest.raises(DataError, match=r"pictures.json is damaged: it is not valid JSON"):
        read(plain)


def test_what_polymeter_writes_in_this_form_is_read_again(typing: Typing) -> None:
    typing.write({"capitals.jsonl": CAPITALS, "capitals.yaml": TASK, "utils.py": UTILS, "said.json": json.dumps(SAID)})
    typing("run --model mock --model-args answers=said.json --tasks capitals.yaml -q -o ours")
    typing("export ours --to inspect --output written")
    polymeter.import_log("written", output="read")
    for metric, n in (("exact", 5), ("spelled/same", 4), ("spelled/length", 4)):
        found = compared(typing.folder / "ours", typing.folder / "read", metric)
        assert found == {**SAME, "n": n, "n_only_first": 0, "n_only_second": 0}


CALL = {"id": "c1", "type": "function", "function": "crop", "arguments": {"left": 3}}
BROKEN = {"id": "c2", "type": "function", "function": "crop", "arguments": {}, "parse_error": "no JSON:\n{left"}


def test_calls_of_tools_and_their_results_are_read(tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        said = {"role": "assistant", "content": "I look.", "tool_calls": [CALL, BROKEN]}
        results = [
            {"role": "tool", "content": "Cut.", "tool_call_id": name, "function": "crop"} for name in ("c1", "c2")
        ]
        sample = document["samples"][0]
        sample["messages"] = [sample["messages"][0], said, *results, {"role": "assistant", "content": "Red."}]
        sample["output"]["choices"][0]["message"] = {"role": "assistant", "content": "", "tool_calls": [CALL]}

    log = changed(tmp_path, change)
    exchange = samples_of(log, "pictures")["1"].exchanges[0]
    assert exchange.messages is not None
    _, turn, result, other = exchange.messages
    assert [(call.id, call.name, call.arguments, call.problem) for call in turn.calls] == [
        ("c1", "crop", {"left": 3}, ""),
        ("c2", "crop", None, "no JSON: {left"),
    ]
    assert [(one.role, one.call_id, one.parts) for one in (result, other)] == [
        ("tool", "c1", ("Cut.",)),
        ("tool", "c2", ("Cut.",)),
    ]
    assert exchange.outputs[0].calls[0].arguments == {"left": 3}
    polymeter.import_log(log, output=tmp_path / "run")
    lines = (tmp_path / "run" / "samples" / "pictures.jsonl").read_text().splitlines()
    stored = next(one for line in lines if (one := json.loads(line))["id"] == "1")
    messages = stored["exchanges"][0]["request"]["messages"]
    assert messages[1]["calls"] == [
        {"id": "c1", "name": "crop", "arguments": {"left": 3}},
        {"id": "c2", "name": "crop", "arguments": None, "raw": "{}", "problem": "no JSON: {left"},
    ]
    assert messages[2]["call_id"] == "c1"
    polymeter.export(tmp_path / "run", "inspect", output=tmp_path / "again")
    again = samples_of(next((tmp_path / "again").glob("*.eval")), "pictures")["1"].exchanges[0]
    assert again.messages is not None
    assert [call.problem for call in again.messages[1].calls] == ["", "no JSON: {left"]
    assert (again.messages[2].call_id, again.outputs[0].calls) == ("c1", exchange.outputs[0].calls)
