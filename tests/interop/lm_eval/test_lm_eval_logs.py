"""Logs of lm-eval 0.4.13, made by it on made-up tasks (``conformance/logs``), as run folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError
from polymeter.interop.lm_eval.logs import READER

LOG = Path(__file__).with_name("logs")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return shutil.copytree(LOG, tmp_path / "log")


def samples_of(log: Path, task: str) -> Path:
    return next(log.glob(f"samples_{task}_*.jsonl"))


def test_every_stated_number_is_kept(tmp_path: Path) -> None:
    document = json.loads(next(LOG.glob("results_*.json")).read_text())
    result = polymeter.import_log(LOG, output=tmp_path / "run")
    stated = {
        (name, *key.split(",")): value
        for name, row in {**document["results"], **document["groups"]}.items()
        for key, value in row.items()
        if "," in key and "_stderr" not in key
    }
    assert len(stated) == 10
    for (name, metric, filtered), value in stated.items():
        assert result.value(name, metric, filter=filtered) == value
    assert result.results["imported"] == "lm-eval 0.4.13"
    assert result.results["tasks"]["animals"]["version"] == "1.0"


def test_errors_and_intervals_are_made_of_the_samples(tmp_path: Path) -> None:
    result = polymeter.import_log(LOG, output=tmp_path / "run")
    accuracy = result.result("plants", "acc")
    assert accuracy.interval is not None
    assert accuracy.interval[0] < accuracy.value < accuracy.interval[1]
    assert (accuracy.n, accuracy.stderr_method) == (20, "mean")
    perplexity = result.result("cloze", "perplexity")
    assert (perplexity.stderr_method, perplexity.no_interval) == ("bootstrap", "fewer than 20 samples")
    words = result.result("story", "word_perplexity")
    assert (words.stderr, words.no_interval) == (None, "single samples have no number for it")
    group = result.result("nature", "acc")
    assert group.n == 28
    assert group.interval is not None


def test_samples_have_prompts_choices_repeats_and_filters(tmp_path: Path) -> None:
    result = polymeter.import_log(LOG, output=tmp_path / "run")
    lines = (tmp_path / "run" / "samples" / "animals.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert [json.loads(line)["id"] for line in lines] == [str(number) for number in range(8)]
    assert first["doc"] == {"animal": "a cow", "label": 1}
    assert (first["target"], first["answer"]) == ("four", "two")
    (exchange,) = first["exchanges"]
    assert exchange["request"]["messages"][0]["parts"] == [{"text": "Question: how many legs has a cow?\nAnswer:"}]
    assert exchange["request"]["ask"]["continuations"] == [" two", " four", " six", " eight"]
    logprobs = [choice[0] for choice in exchange["response"]["outputs"][0]["logprobs"]]
    assert logprobs == sorted(logprobs, reverse=True)
    assert logprobs[0] == pytest.approx(-5.6403, abs=1e-3)
    sums = json.loads((tmp_path / "run" / "samples" / "sums.jsonl").read_text().splitlines()[0])
    assert [(score["metric"], score["filter"]) for score in sums["scores"]] == [
        ("exact_match", "first"),
        ("exact_match", "letter"),
    ]
    assert len(sums["exchanges"]) == 2
    assert sums["exchanges"][0]["request"]["ask"]["max_new_tokens"] == 12
    assert sums["exchanges"][0]["request"]["ask"]["stop"] == ["\n\n"]
    story = next(iter(result.samples("story")))
    assert story.scores == {
        "word_perplexity": [pytest.approx(-67.13, abs=0.01), 9],
        "bits_per_byte": story.scores["bits_per_byte"],
    }


def test_a_file_of_results_or_samples_names_the_run(log: Path) -> None:
    for path in (log, next(log.glob("results_*")), samples_of(log, "sums"), log.parent):
        assert READER.recognise(path)
        assert {task.name for task in READER.read(path).tasks} == {"animals", "plants", "sums", "cloze", "story"}


def test_what_is_no_log_is_not_recognised(tmp_path: Path) -> None:
    (tmp_path / "results_2026-01-01T00-00-00.json").write_text('{"results": {}}')
    (tmp_path / "samples.jsonl").write_text("{}")
    assert not READER.recognise(tmp_path)
    with pytest.raises(PlanError, match=r"No tool is known whose log lies at"):
        polymeter.import_log(tmp_path)


def test_two_runs_in_a_folder_are_told_apart(log: Path) -> None:
    results = next(log.glob("results_*"))
    (log / "results_2026-01-01T00-00-00.json").write_text(results.read_text())
    with pytest.raises(PlanError, match="holds 2 runs of lm-eval") as raised:
        polymeter.import_log(log)
    assert results.name in raised.value.hint


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ('{"doc_id": 0', "line 3 is not valid JSON"),
        ('["a list"]', "line 3 holds a list"),
        ('{"doc": {}}', "line 3 has no number under 'doc_id'"),
        ('{"doc_id": 77, "metrics": ["acc"]}', "line 3 is not a sample of lm-eval"),
    ],
)
def test_a_damaged_line_is_named_and_nothing_is_left(log: Path, tmp_path: Path, damage: str, message: str) -> None:
    path = samples_of(log, "animals")
    lines = path.read_text().splitlines()
    lines[2] = damage
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match=message) as raised:
        polymeter.import_log(log, output=tmp_path / "run")
    assert raised.value.where == f"{path}:3"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["log"]


def test_a_row_twice_in_a_filter_is_refused(log: Path, tmp_path: Path) -> None:
    path = samples_of(log, "animals")
    path.write_text(path.read_text() + path.read_text().splitlines()[0])
    with pytest.raises(DataError, match=r"line 9 has row 0 with filter 'none' once more"):
        polymeter.import_log(log, output=tmp_path / "run")


def test_a_missing_score_is_none_and_not_zero(log: Path, tmp_path: Path) -> None:
    path = samples_of(log, "plants")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["acc"] = None
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = polymeter.import_log(log, output=tmp_path / "run")
    assert result.results["tasks"]["plants"]["statuses"] == {"ok": 19, "unscored": 1}
    assert result.results["tasks"]["plants"]["n_scored"] == 19
    assert result.exit_code == 1


def test_without_samples_the_stated_errors_remain(log: Path, tmp_path: Path) -> None:
    for path in log.glob("samples_*"):
        path.unlink()
    result = polymeter.import_log(log, output=tmp_path / "run")
    accuracy = result.result("animals", "acc")
    assert (accuracy.value, accuracy.stderr, accuracy.stderr_method) == (0.125, 0.125, "stated")
    assert accuracy.interval is None
    assert any("the log contains no samples" in note for note in result.results["notes"])


def test_an_aggregation_that_is_not_known_keeps_its_stated_error(log: Path, tmp_path: Path) -> None:
    path = next(log.glob("results_*"))
    document = json.loads(path.read_text())
    document["configs"]["cloze"]["metric_list"][1]["aggregation"] = "def own(items): ..."
    path.write_text(json.dumps(document))
    perplexity = polymeter.import_log(log, output=tmp_path / "run").result("cloze", "perplexity")
    assert (perplexity.interval, perplexity.stderr_method) == (None, "stated")
    assert perplexity.stderr == document["results"]["cloze"]["perplexity_stderr,none"]
    assert "not the mean of its samples' values" in perplexity.no_interval


def test_what_is_exported_comes_back(tmp_path: Path) -> None:
    first = polymeter.import_log(LOG, output=tmp_path / "first")
    polymeter.export(first.folder.path, "lm-eval", output=tmp_path / "files")
    again = polymeter.import_log(tmp_path / "files", output=tmp_path / "again")
    found = polymeter.compare(first.folder.path, again.folder.path, tasks=["animals", "plants", "sums"]).others[0]
    assert {line.name for line in found.scores} == {"animals", "plants", "sums"}
    assert all(line.wins == line.losses == 0 for line in found.scores)
    assert again.results["imported"] == "lm-eval files of polymeter 0.1.0"


def test_a_stated_value_that_its_samples_do_not_give_is_kept_and_told(log: Path, tmp_path: Path) -> None:
    path = next(log.glob("results_*"))
    document = json.loads(path.read_text())
    document["results"]["animals"]["acc,none"] = 0.5
    path.write_text(json.dumps(document))
    result = polymeter.import_log(log, output=tmp_path / "run")
    accuracy = result.result("animals", "acc")
    assert (accuracy.value, accuracy.interval) == (0.5, None)
    told = "animals, acc: its stated value is not the mean of its samples' values, which is 0.1250."
    assert told in result.results["notes"]


def test_an_older_log_is_read(log: Path, tmp_path: Path) -> None:
    path = samples_of(log, "plants")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["arguments"] = [list(arguments.values()) for arguments in line["arguments"].values()]
        for name in ("filter", "metrics", "prompt_hash", "target_hash"):
            del line[name]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    results = next(log.glob("results_*"))
    document = json.loads(results.read_text())
    for name in ("lm_eval_version", "n-samples"):
        del document[name]
    results.write_text(json.dumps(document))
    result = polymeter.import_log(log, output=tmp_path / "run")
    assert result.result("plants", "acc").interval is not None
    first = next(iter(result.samples("plants")))
    assert first.prompt.startswith("Which colour has a poppy?")
    assert result.results["imported"] == "lm-eval"


def test_media_of_a_request_are_counted(log: Path, tmp_path: Path) -> None:
    path = samples_of(log, "sums")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["arguments"]["gen_args_0"]["arg_2"] = {"visual": ["<image 1>", "<image 2>"]}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    polymeter.import_log(log, output=tmp_path / "run")
    first = json.loads((tmp_path / "run" / "samples" / "sums.jsonl").read_text().splitlines()[0])
    parts = first["exchanges"][0]["request"]["messages"][0]["parts"]
    assert parts == [{"image": {}}, {"image": {}}, {"text": "What is 1 + 1?"}]
