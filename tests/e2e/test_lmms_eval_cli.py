"""``polymeter lmms-eval`` as a user types it, and a script that reads the files as scripts for lmms-eval do."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from polymeter.cli.main import main
from tests.e2e.kit import capitals, polymeter

pytestmark = pytest.mark.needs_system("lmms_eval")

READER = """
import glob, json, sys
newest = sorted(glob.glob(f"{sys.argv[1]}/**/*_results.json", recursive=True))[-1]
data = json.load(open(newest))
for task, row in data["results"].items():
    print(task, row["exact_match,none"], row["exact_match_stderr,none"])
for task, count in data["n-samples"].items():
    print(task, count["effective"], "of", count["original"], data["configs"][task]["dataset_path"])
for file in glob.glob(newest.replace("_results.json", "_samples_*.jsonl")):
    rows = [json.loads(line) for line in open(file)]
    print(len(rows), sum(row["exact_match"] for row in rows) / len(rows), rows[0]["doc_id"], rows[0]["filtered_resps"])
"""


@pytest.fixture
def home(tmp_path):
    capitals(tmp_path / "tasks", 6)
    (tmp_path / "tasks" / "group.yaml").write_text(
        "group: world\ntask: [capitals]\naggregate_metric_list: [{metric: exact_match, weight_by_size: true}]\n"
    )
    return tmp_path


WORDS = ("lmms-eval", "--model", "mock", "--include_path", "tasks")


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def lmms_eval(home, monkeypatch, capsys):
    """Runs a command in this process, which takes a tenth of the time of one of its own."""
    monkeypatch.chdir(home)

    def run(*words):
        code = main([*WORDS, *words])
        return Done(code, *capsys.readouterr())

    return run


def files(home: Path, pattern: str) -> list[Path]:
    return sorted((home / "out").glob(pattern))


def test_a_script_that_reads_lmms_evals_files_reads_ours(home):
    done = polymeter(
        *WORDS,
        *("--tasks", "world", "--model_args", "mode=gold,batch_size=2", "--batch_size", "2", "--limit", "4"),
        *("--offset", "1", "--output_path", "out", "--log_samples"),
        cwd=home,
    )
    assert done.returncode == 0, done.stderr
    assert "4 samples of 1 task" in done.stdout
    read = subprocess.run([sys.executable, "-c", READER, "out"], cwd=home, capture_output=True, text=True, check=True)
    assert read.stdout.splitlines() == [
        "capitals 1.0 0.0",
        "world 1.0 0.0",
        "capitals 4 of 6 csv",
        "4 1.0 1 Tokyo",
    ]


def test_the_folder_has_the_models_name_and_our_run_lies_beside(home, lmms_eval):
    done = lmms_eval("--tasks", "capitals", "--model_args", "answer=Paris", "--output_path", "out")
    assert done.returncode == 0, done.stderr
    (results,) = files(home, "*_results.json")
    (run,) = files(home, "*_run_*")
    assert json.loads(results.read_text())["results"]["capitals"]["exact_match,none"] == pytest.approx(1 / 3)
    assert (run / "report.html").exists()
    assert not files(home, "*_samples_*")


def test_predictions_only_are_kept_and_not_scored(home, lmms_eval):
    done = lmms_eval("--tasks", "capitals", "-x", "--output_path", "out", "--model_args", "answer=Rome", "-n", "2")
    assert done.returncode == 0, done.stderr
    (results,), (samples,) = files(home, "*_results.json"), files(home, "*_samples_capitals.jsonl")
    document = json.loads(results.read_text())
    assert document["results"]["capitals"]["bypass,none"] == 999
    assert document["configs"]["capitals"]["repeats"] == 2
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert {line["bypass"] for line in lines} == {"Rome"}
    assert lines[0]["resps"] == ["Rome", "Rome"]


def test_a_baseline_is_compared(home, lmms_eval):
    assert lmms_eval("--tasks", "capitals", "--output_path", "old", "--log_samples").returncode == 0
    done = lmms_eval("--tasks", "capitals", "--output_path", "out", "--model_args", "answer=Paris", "--baseline", "old")
    assert done.returncode == 0, done.stderr
    row = json.loads(files(home, "*_results.json")[0].read_text())["results"]["capitals"]
    assert row["paired_baseline_score"] == 0.0
    assert row["paired_ci_lower"] < 100 / 3 < row["paired_ci_upper"]


def test_the_same_command_goes_on_with_a_run_that_lacks_scores_and_measures_anew_otherwise(home, lmms_eval):
    words = ["--tasks", "capitals", "--output_path", "out", "--model_args"]
    for _ in range(2):
        assert lmms_eval(*words, "failure=permanent").returncode == 1
    (run,) = files(home, "*_run_*")
    assert len(json.loads((run / "run.json").read_text())["sessions"]) == 2
    fine = [lmms_eval(*words, "answer=Paris", "--timezone", zone) for zone in ("UTC", "Asia/Tokyo")]
    assert [done.returncode for done in fine] == [0, 0], fine[0].stderr
    assert len(files(home, "*_run_*")) == 3


def test_a_kept_run_asks_nothing_twice(home, lmms_eval):
    words = ["--tasks", "capitals", "-c", "cache", "--model_args", "answer=Paris"]
    first, second = lmms_eval(*words), lmms_eval(*words)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    (run,) = (home / "cache").iterdir()
    sessions = json.loads((run / "run.json").read_text())["sessions"]
    assert len(sessions) == 2
    assert sessions[1]["model_ms"] == 0


def test_failures_leave_their_mark_in_the_exit_code_and_the_counts(home, lmms_eval):
    done = lmms_eval(
        *("--tasks", "capitals", "--output_path", "out", "--log_samples"),
        *("--model_args", "mode=gold,failure=permanent,failure_rate=0.5"),
    )
    assert done.returncode == 1
    counts = json.loads(files(home, "*_results.json")[0].read_text())["n-samples"]["capitals"]
    assert 0 < counts["scored"] < counts["effective"] == 6
    assert len(files(home, "*_samples_*")[0].read_text().splitlines()) == counts["scored"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tasks", "capitols"], "Did you mean 'capitals'?"),
        (["--tasks", "capitals", "--log_samples"], "--log_samples needs a place to write to."),
        (["--tasks", "capitals", "--limit", "-2"], "-2 is not a limit."),
        (["--tasks", "capitals", "--offset", "6"], "an offset of 6 leaves none"),
        (
            ["--tasks", "capitals", "--baseline", "nowhere", "--output_path", "out"],
            "There is no baseline at 'nowhere'.",
        ),
        (["--tasks", "capitals", "--model", "mok"], "Did you mean 'mock'"),
        (["--tasks", "capitals", "--model_args", "modus=gold"], "Did you mean 'mode'?"),
        (["--tasks", "capitals", "--reasoning_tags", "7"], "reasoning_tags must be pairs"),
    ],
)
def test_bad_input_ends_with_2_and_says_what_to_do(home, lmms_eval, words, message):
    done = lmms_eval(*words)
    assert done.returncode == 2
    assert message in done.stderr


def test_tasks_by_folder_and_keys_in_no_file(home, lmms_eval):
    done = lmms_eval("--tasks", "tasks", "--output_path", "out", "--wandb_args", "", "--model_args", "mode=gold")
    assert done.returncode == 0, done.stderr
    secret = lmms_eval("--tasks", "tasks", "--output_path", "out2", "--model_args", "api_key=sk-1")
    assert secret.returncode == 2
    assert "sk-1" not in secret.stderr
