"""What there is of a run that was interrupted, killed, stopped, or is going on; with real processes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from polymeter.api.partial import partial_results
from polymeter.cli.main import main
from polymeter.store.folder import open_folder
from tests.e2e.kit import COMMAND, capitals, polymeter

N = 12
RUN = ("run", "--tasks", "capitals", "--include-path", "tasks", "-o", "run")
SLOW = ("-m", "mock", "-a", "delay_ms=400", "-b", "1", "--window", "1")
NEVER_DONE = ("-m", "mock", "-a", "delay_ms=600000")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    capitals(tmp_path / "tasks", n_rows=N)
    return tmp_path


def started(*words: str, cwd: Path, until: str) -> subprocess.Popen[str]:
    """A command, alone in its process group, that has come so far as to print some text."""
    process = subprocess.Popen(
        [*COMMAND, *words],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if until in line:
            return process
    raise AssertionError(f"{until!r} never came")


def read(path: Path) -> dict:
    return json.loads(path.read_text())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_results_and_a_report_of_what_there_is(place: Path, number: signal.Signals) -> None:
    process = started(*RUN, *SLOW, cwd=place, until=f"/{N} samples (")
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    results = read(place / "run" / "results.json")
    task = results["tasks"]["capitals"]
    assert (results["status"], results["run_status"]) == ("partial", "interrupted")
    assert 0 < task["n_scored"] < N
    assert task["n_not_asked"] == N - task["n_scored"]
    assert f"capitals: {task['n_not_asked']} of {N} samples not asked yet." in out
    assert "report   run/report.html" in out
    assert "polymeter resume run" in err
    assert "Partial: the run has not ended" in (place / "run" / "report.html").read_text()


@pytest.mark.parametrize("is_group", [False, True])
def test_ctrl_c_twice_is_as_tidy_as_once(place: Path, is_group: bool) -> None:
    process = started(*RUN, *SLOW, cwd=place, until=f"/{N} samples (")
    for _ in range(2):
        if is_group:  # as a terminal sends it: to every process of the command
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT)  # a shell reports 130 for either
    assert "Traceback" not in err
    assert "Interrupted: stopping. A second signal ends the process at once." in err
    done = polymeter("resume", "run", "-q", cwd=place)
    assert done.returncode == 0, done.stderr
    assert read(place / "run" / "results.json")["status"] == "complete"


def test_report_of_a_killed_run_is_made_from_its_journal(place: Path) -> None:
    process = started(*RUN, *SLOW, cwd=place, until=f"/{N} samples (")
    process.kill()
    process.communicate(timeout=60)
    assert not (place / "run" / "results.json").exists()
    done = polymeter("report", "run", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "PARTIAL: this run is still running, or was killed;" in done.stdout
    results = read(place / "run" / "results.json")
    assert 0 < results["tasks"]["capitals"]["n_scored"] < N
    assert (place / "run" / "report.html").exists()
    assert polymeter("resume", "run", "-q", cwd=place).returncode == 0
    assert read(place / "run" / "results.json")["status"] == "complete"


def test_report_leaves_a_run_alone_that_is_going_on(place: Path) -> None:
    process = started(*RUN, *SLOW, cwd=place, until=f"/{N} samples (")
    done = polymeter("report", "run", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["kind"], document["results"]["status"]) == ("run", "partial")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert f"scored   {N} samples" in out
    assert read(place / "run" / "results.json")["status"] == "complete"
    assert "Partial" not in (place / "run" / "report.html").read_text()


def test_a_run_that_too_many_failures_stopped_leaves_what_there_is(place: Path, capsys) -> None:
    n_rows = 600  # more than may be on their way when the run stops
    capitals(place / "tasks", n_rows=n_rows)
    failing = ("-m", "mock", "-a", "failure=permanent,failure_rate=1", "-b", "1", "--window", "1")
    assert main([*RUN, *failing, "--max-errors", "2", "-q"]) == 1
    task = read(place / "run" / "results.json")["tasks"]["capitals"]
    assert task["statuses"]["error"] >= 2
    assert task["n_not_asked"] == n_rows - task["statuses"]["error"]
    out, err = capsys.readouterr()
    assert "PARTIAL: this run was stopped;" in out
    assert "not asked yet" in out
    assert "Stopped: " in err


GROUP = """\
group: pair
group_alias: Both
task:
  - capitals
  - other
aggregate_metric_list: [{metric: exact_match, weight_by_size: true}]
"""


def a_pair(place: Path) -> None:
    """A group of two tasks, and one over it."""
    own = (place / "tasks" / "capitals.yaml").read_text()
    (place / "tasks" / "other.yaml").write_text(own.replace("task: capitals", "task: other"))
    (place / "tasks" / "pair.yaml").write_text(GROUP)
    (place / "tasks" / "outer.yaml").write_text(
        "group: outer\ntask: [pair]\naggregate_metric_list: [{metric: exact_match}]\n"
    )


def test_groups_have_the_numbers_of_what_there_is(place: Path) -> None:
    a_pair(place)
    words = ["outer" if word == "capitals" else word for word in RUN]
    assert main([*words, "-m", "mock", "-a", "mode=gold", "-q"]) == 0
    whole = read(place / "run" / "results.json")["groups"]
    so_far = partial_results(open_folder(place / "run"))["groups"]
    assert so_far["pair"]["alias"] == "Both"
    for name in ("pair", "outer"):
        for told, number in zip(so_far[name]["results"], whole[name]["results"], strict=True):
            assert [told[key] for key in ("value", "n", "stderr")] == [number[key] for key in ("value", "n", "stderr")]


def test_a_group_names_the_members_without_a_number_yet(place: Path, capsys) -> None:
    a_pair(place)
    words = ["outer" if word == "capitals" else word for word in RUN]
    process = started(*words, *SLOW, cwd=place, until=f"/{2 * N} samples (")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    results = read(place / "run" / "results.json")
    (number,) = results["groups"]["pair"]["results"]
    assert results["status"] == "partial"
    assert number["n"] == results["tasks"]["capitals"]["n_scored"]
    assert number["failed_members"] == ["other"]
    assert "Both" in out


def test_a_run_of_an_earlier_version_has_groups_without_numbers(place: Path) -> None:
    a_pair(place)
    words = ["outer" if word == "capitals" else word for word in RUN]
    assert main([*words, "-m", "mock", "-q"]) == 0
    manifest = read(place / "run" / "run.json")
    del manifest["selection"]["group_numbers"]
    (place / "run" / "run.json").write_text(json.dumps(manifest))
    assert partial_results(open_folder(place / "run"))["groups"]["pair"]["results"] == []


def test_report_of_a_finished_run_writes_its_page_again(place: Path, capsys) -> None:
    assert main([*RUN, "-m", "mock", "-q"]) == 0
    page, results = (place / "run" / name for name in ("report.html", "results.json"))
    before = (page.read_text(), results.read_text())
    page.unlink()
    capsys.readouterr()
    assert main(["report", "run"]) == 0
    assert (page.read_text(), results.read_text()) == before
    assert f"scored   {N} samples of 1 task" in capsys.readouterr().out


def test_the_report_shows_as_many_samples_as_are_asked_for(place: Path, capsys) -> None:
    page = place / "run" / "report.html"
    assert main([*RUN, "-m", "mock", "-q", "--report-samples", "2"]) == 0
    assert f"2 of {N} samples are in this report" in page.read_text()
    assert main(["resume", "run", "-q", "--report-samples", "3"]) == 0
    assert f"3 of {N} samples are in this report" in page.read_text()
    assert main(["score", "run", "-q", "-o", "again", "--report-samples", "1"]) == 0
    assert f"1 of {N} samples are in this report" in (place / "again" / "report.html").read_text()
    assert main(["report", "run", "--report-samples", "all"]) == 0
    assert f"All {N} samples are in this report" in page.read_text()
    capsys.readouterr()
    for given in ("none", "0", "-1"):
        assert main(["report", "run", "--report-samples", given]) == 2
        assert "Write a number, or all." in capsys.readouterr().err


def test_report_needs_a_run(place: Path, capsys) -> None:
    assert main(["report", "nothing"]) == 2
    assert "There is no run folder at nothing." in capsys.readouterr().err
    assert not (place / "nothing").exists()
