"""``--json``: one document on stdout, with the same shape each time, and nothing else there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from polymeter.cli.main import main

ROWS = "country,capital\nFrance,Paris\nJapan,Tokyo\nKenya,Nairobi\n"
YAML = """
task: loud
dataset_path: csv
dataset_kwargs: {data_files: {test: capitals.csv}}
test_split: test
doc_to_text: !function utils.prompt
doc_to_target: capital
metric_list: [{metric: exact_match}]
"""
LOUD_CODE = """
import os, subprocess, sys
print("loading", flush=True)

def prompt(doc):
    print("prompt of", doc["country"], flush=True)
    os.write(1, b"written to the descriptor")
    subprocess.run([sys.executable, "-c", "print('a process')"])
    return doc["country"]
"""
RUN = ["run", "--model", "mock", "--model-args", "answer=Paris", "--tasks", "loud", "--include-path", "."]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "capitals.csv").write_text(ROWS)
    (tmp_path / "loud.yaml").write_text(YAML)
    (tmp_path / "utils.py").write_text(LOUD_CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def polymeter(place: Path, *words: str) -> tuple[int, Any, str]:
    """Exit code, the document on stdout (``None``: stdout is empty), and stderr of a process."""
    done = subprocess.run(
        [sys.executable, "-m", "polymeter", *words],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_a_run_is_one_document_however_loud_its_task_is(place: Path) -> None:
    code, document, said = polymeter(place, *RUN, "--output", "out", "--json", "--fail-under", "loud.exact_match=0.4")
    results = document.pop("results")
    assert document == {
        "schema_version": 1,
        "kind": "run",
        "status": "complete",
        "exit_code": 3,
        "reason": "",
        "n_failed": 0,
        "missed": ["loud.exact_match is 0.3333, below 0.4."],
        "incomplete": [],
        "folder": "out",
        "report": "out/report.html",
    }
    assert results == json.loads((place / "out" / "results.json").read_text())
    assert code == 3
    for text in ("loading", "prompt of France", "written to the descriptor", "a process", "3/3 samples"):
        assert text in said


def test_a_run_that_cannot_be_prints_no_document(place: Path) -> None:
    code, document, said = polymeter(place, *RUN, "--json", "--fail-under", "louder.exact_match=0.4")
    assert (code, document) == (2, None)
    assert "There is no task or group 'louder' in this run. Did you mean 'loud'?" in said.replace("\n  ", " ").replace(
        " at --fail-under", ""
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("0.9", "'0.9' is not of the form TASK.METRIC=VALUE."),
        ("demo=0.9", "'demo=0.9' is not of the form TASK.METRIC=VALUE."),
        (".acc=0.9", "'.acc=0.9' is not of the form TASK.METRIC=VALUE."),
        ("demo.acc=high", "'demo.acc=high' is not of the form TASK.METRIC=VALUE."),
        ("demo.acc=nan", "'demo.acc=nan' is not of the form TASK.METRIC=VALUE."),
        ("demo.acc=", "'demo.acc=' is not of the form TASK.METRIC=VALUE."),
    ],
)
def test_a_threshold_that_is_none_is_a_usage_error(api, capsys, value: str, said: str) -> None:
    assert main(["run", "-m", "mock", "-t", "t", "--fail-under", value]) == 2
    assert said in capsys.readouterr().err
    assert not api.calls


def test_a_number_has_one_threshold(api, capsys) -> None:
    words = ["run", "-m", "mock", "-t", "t", "--fail-under", "t.acc=0.5", "--fail-under", "t.acc=0.6"]
    assert main(words) == 2
    assert "'t.acc' is given twice." in capsys.readouterr().err


def test_thresholds_reach_the_api(api) -> None:
    main(["run", "-m", "mock", "-t", "t", "-q", "--fail-under", "t.acc=0.5", "--fail-under", "t.wer = 1e-1"])
    main(["resume", "runs", "-q", "--fail-under", "t.acc=0.5"])
    assert [call["fail_under"] for call in api.calls] == [{"t.acc": 0.5, "t.wer": 0.1}, {"t.acc": 0.5}]


@pytest.mark.parametrize("status", ["stopped", "interrupted"])
def test_a_run_that_ended_early_is_a_document_too(api, capsys, status: str) -> None:
    api.status, api.exit_code, api.reason, api.has_results = status, 130, "why", False
    main(["run", "-m", "mock", "-t", "t", "-q", "--json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["status"], document["reason"], document["results"]) == (status, "why", None)
    assert "polymeter resume runs" in err


def test_tasks_are_a_document_without_running_any_code(place: Path) -> None:
    (place / "broken.yaml").write_text("task: [\n")
    (place / "both.yaml").write_text("group: both\ntask: [loud]\n")
    code, document, said = polymeter(place, "tasks", "--include-path", ".", "loud", "both", "demo_t2i", "--json")
    (loud, drawn), (group,) = document["tasks"], document["groups"]
    assert (code, document["kind"], said) == (0, "tasks", "")
    assert loud == {
        "name": "loud",
        "qualified_name": "loud",
        "title": "loud",
        "format": "task_yaml",
        "file": str(place / "loud.yaml"),
        "is_user": True,
        "tags": [],
        "description": "",
        "n_samples": 3,
        "modalities": ["text"],
        "output_types": ["generate_until"],
        "requests": ["generate"],
        "metrics": ["exact_match"],
        "needs": {
            "judge": "no",
            "packages": [],
            "optional_packages": [],
            "missing": [],
            "extras": [],
            "keys": [],
            "hub_token": False,
        },
        "dataset": "csv",
        "is_cached": False,
        "problem": "",
    }
    assert (drawn["modalities"], drawn["requests"], drawn["n_samples"] > 0) == (["text"], ["generate_image"], True)
    assert (group["name"], group["members"]) == ("both", ["loud"])
    assert [Path(problem["where"].rpartition(":")[0]).name for problem in document["problems"]] == ["broken.yaml"]
    assert document["clashes"] == {}


def test_one_task_is_a_document_with_its_configuration(place: Path) -> None:
    code, document, _ = polymeter(place, "tasks", "--include-path", ".", "loud", "--json")
    config = {item["key"]: item["value"] for item in document["task"]["config"]}
    assert (code, document["kind"], document["task"]["name"]) == (0, "task", "loud")
    assert config["doc_to_text"] == "!function utils.prompt"
    assert config["metric_list"] == [{"metric": "exact_match"}]


def test_what_is_unknown_without_the_code_is_left_out(place: Path) -> None:
    (place / "loud.yaml").write_text(
        YAML.replace(
            "doc_to_text", "process_docs: !function utils.some\ndoc_to_visual: !function utils.seen\ndoc_to_text"
        )
    )
    _, document, _ = polymeter(place, "tasks", "--include-path", ".", "loud", "--json")
    task = document["task"]
    assert (task["n_samples"], task["modalities"]) == (None, ["text", "media"])


def test_a_listing_says_what_each_task_measures(capsys) -> None:
    assert main(["tasks", "demo_signs", "demo_vlm_loglikelihood", "mmlu_pro"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert re.fullmatch(r"demo_signs +Signs, \d+ samples, text \+ image → text", lines[0])
    assert re.fullmatch(r".* Choices by likelihood, \d+ samples, text \+ image → log-likelihoods", lines[1])


def test_yaml_and_json_exclude_each_other(api, capsys) -> None:
    assert main(["tasks", "ocr_a", "--yaml", "--json"]) == 2
    assert "two forms of the same thing" in capsys.readouterr().err


def test_models_are_documents(capsys) -> None:
    assert main(["models", "--json"]) == 0
    models = {model["name"]: model for model in json.loads(capsys.readouterr().out)["models"]}
    assert set(models["mock"]) == {"name", "summary", "takes", "gives", "extra", "missing"}
    assert models["ocr"]["extra"] == "ocr"
    assert main(["models", "mock:any", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["model"]
    arguments = {argument["name"]: argument for argument in model["arguments"]}
    assert arguments["answer"]["description"] == "The canned answer."
    assert (arguments["mode"]["default"], arguments["mode"]["is_required"]) == ("canned", False)
    assert model["names"] == {}


def test_a_check_is_a_document(place: Path) -> None:
    code, document, said = polymeter(place, "check", "loud.yaml", "--run-gold", "--json")
    assert (code, document["kind"], document["exit_code"], document["problems"]) == (0, "check", 0, [])
    assert document["plays"] == [{"task": "loud", "n_rows": 3, "findings": [], "details": [], "skipped": None}]
    (references,) = document["references"]
    assert (references["task"], references["n_scored"], references["problem"]) == ("loud", 3, "")
    assert references["results"] == [
        {"metric": "exact_match", "filter": "none", "value": 1.0, "verdict": "full"},
    ]
    assert "prompt of France" in said
    (place / "loud.yaml").write_text("task: loud\ndoc_to_txt: x\n")
    code, document, said = polymeter(place, "check", "loud.yaml", "--json")
    assert (code, document["exit_code"]) == (2, 2)
    assert document["problems"][0]["where"].endswith("loud.yaml:2")
    assert "loud.yaml:2" in said
