"""Bad days at an endpoint: every sample is answered or says why not, and what is answered is what a calm day gives."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate
from polymeter.api.result import RunResult
from polymeter.run.dispatch.endpoint import dispatcher as endpoint_lane
from polymeter.store.exports.export import read_samples
from tests.e2e.kit import COMMAND
from tests.helpers.fault_server import FaultServer
from tests.helpers.fault_weather import FAULTS, PERSISTENT, Latency, Weather

N_SAMPLES = 2_000
QUICK = Latency("lognormal", 0.002, 0.8)
HANGS_S = 0.3

YAML = """\
task: sums
dataset_path: csv
dataset_kwargs: {data_files: {test: sums.csv}}
test_split: test
doc_to_text: "What is {{a}} plus {{a}}?"
doc_to_target: sum
generation_kwargs: {max_new_tokens: 8, temperature: 0}
metric_list: [{metric: exact_match}]
metadata: {version: 1.0}
"""


def right(n: int) -> bool:
    """Whether the server knows this sum; others it repeats as they were asked."""
    return n % 3 != 0


ANSWERS = {f"What is {n} plus {n}?": str(2 * n) for n in range(N_SAMPLES) if right(n)}
CALM = Weather(answers=ANSWERS)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("task")
    rows = [f"{n},{2 * n}" for n in range(N_SAMPLES)]
    (folder / "sums.csv").write_text("\n".join(["a,sum", *rows, ""]))
    (folder / "sums.yaml").write_text(YAML)
    return folder / "sums.yaml"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between tries are a hundredth of what they are."""
    whole = endpoint_lane.backoff_s
    monkeypatch.setattr(endpoint_lane, "backoff_s", lambda n_tries, jitter: whole(n_tries, jitter) / 100)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(CALM) as serving:
        yield serving


def ask(server: FaultServer, task: Path, folder: Path, weather: Weather, **options: Any) -> RunResult:
    server.weather = weather
    server.forget()
    told = {"concurrency": 64, "timeout_s": HANGS_S, **options}
    return evaluate("openai:fault", [str(task)], model_args={"base_url": server.base_url}, output=folder, **told)


def rows(result: RunResult) -> dict[str, Any]:
    return {row["id"]: row for row in read_samples(result.folder, "sums")}


def fared(result: RunResult) -> dict[str, Any]:
    """How the last part of a run fared at the endpoint."""
    found: dict[str, Any] = result.folder.read_manifest()["sessions"][-1]["lanes"]["model"]["concurrency"]
    return found


def without_times(row: dict[str, Any]) -> dict[str, Any]:
    outputs = [[output["text"] for output in exchange["response"]["outputs"]] for exchange in row["exchanges"]]
    return {"outputs": outputs, "scores": row["scores"], "status": row["status"], "answer": row["answer"]}


def without_failed(result: RunResult) -> str:
    """The bytes of the results, but for how many tries failed, which is the weather's."""
    return re.sub(r'"failed": \d+', "", result.folder.results.read_text())


# --- every fault at once ----------------------------------------------------------------------------------------------


def test_every_fault_at_once_loses_nothing_and_changes_nothing(server: FaultServer, task: Path, tmp_path: Path) -> None:
    calm = ask(server, task, tmp_path / "calm", CALM)
    assert calm.results["tasks"]["sums"]["statuses"] == {"ok": N_SAMPLES}
    assert calm.value("sums", "exact_match") == sum(map(right, range(N_SAMPLES))) / N_SAMPLES

    storm = Weather(QUICK, dict.fromkeys(FAULTS, 0.02), bad_requests=0.01, answers=ANSWERS, seed=1)
    stormy = ask(server, task, tmp_path / "stormy", storm, max_retries=2)
    assert all(server.stats.faults[fault] for fault in (*FAULTS, PERSISTENT)), server.stats.faults

    expected, found = rows(calm), rows(stormy)
    assert found.keys() == expected.keys()
    failed = {name: row for name, row in found.items() if row["status"] != "ok"}
    assert 10 < len(failed) < 200
    assert all(row["status"] == "error" and row["error"]["message"] for row in failed.values())
    assert any("This content is not taken" in row["error"]["message"] for row in failed.values())
    answered = {name: without_times(row) for name, row in found.items() if name not in failed}
    assert answered == {name: without_times(expected[name]) for name in answered}
    assert stormy.n_failed == len(failed)
    assert stormy.exit_code == 1
    record = fared(stormy)
    assert record["timeouts"] >= 10
    assert record["retries"] > 300
    assert record["limit"] == 64, "a fault in fifty of each kind is noise"
    assert server.stats.most_in_flight <= 64

    again = ask(server, task, tmp_path / "stormy", CALM)
    assert server.stats.requests == len(failed) + 1, "only what failed is asked again, and whether the server is there"
    assert without_failed(again) == without_failed(calm)
    of_storm, of_calm = (used["model", "openai:fault"] for used in (again.usage, calm.usage))
    assert of_storm.failed == record["retries"] + len(failed)
    assert of_calm.failed == fared(calm)["retries"], "on a busy machine a calm day has timeouts, too"


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_passes(server: FaultServer, task: Path, tmp_path: Path, fault: str) -> None:
    weather = Weather(Latency("uniform", 0.001), {fault: 0.3}, answers=ANSWERS, seed=3)
    timeout = 0.1 if fault == "hang" else 30.0
    result = ask(server, task, tmp_path / "run", weather, limit=100, max_retries=12, timeout_s=timeout, concurrency=16)
    assert result.results["tasks"]["sums"]["statuses"] == {"ok": 100}
    assert result.value("sums", "exact_match") == sum(map(right, range(100))) / 100
    assert server.stats.faults[fault] > 10
    record = fared(result)
    assert (record["paused_s"] > 0) == (fault == "rate_limit_after")
    assert (record["rate_limits"] > 0) == fault.startswith("rate_limit")
    assert (record["timeouts"] > 0) == (fault == "hang")


# --- the limit --------------------------------------------------------------------------------------------------------


def test_a_limit_is_found_below_what_the_endpoint_refuses(server: FaultServer, task: Path, tmp_path: Path) -> None:
    weather = Weather(Latency("constant", 0.04), capacity=20, answers=ANSWERS)
    result = ask(server, task, tmp_path / "run", weather, limit=800, concurrency="auto", timeout_s=60.0)
    assert result.results["tasks"]["sums"]["statuses"] == {"ok": 800}
    record = fared(result)
    reasons = [why for _, _, why in record["history"]]
    assert reasons[0] == "start"
    assert "slow start" in reasons
    assert "rate limits" in reasons
    assert record["limit"] <= 32
    assert server.stats.faults["rate_limit"] == record["rate_limits"]


def test_a_limit_that_is_found_grows_where_nothing_is_refused(server: FaultServer, task: Path, tmp_path: Path) -> None:
    weather = Weather(Latency("constant", 0.06), answers=ANSWERS)
    result = ask(server, task, tmp_path / "run", weather, limit=800, concurrency="auto", timeout_s=60.0)
    assert fared(result)["most_in_flight"] >= 32
    assert server.stats.most_in_flight <= fared(result)["most_in_flight"]


# --- killed -----------------------------------------------------------------------------------------------------------


def test_killed_in_the_middle_and_resumed(server: FaultServer, task: Path, tmp_path: Path) -> None:
    calm = ask(server, task, tmp_path / "calm", CALM, limit=400)
    server.weather = Weather(Latency("uniform", 0.02), {"reset": 0.05, "internal": 0.05}, answers=ANSWERS)
    server.forget()
    words = ["run", "--model", "openai:fault", "--base-url", server.base_url, "--tasks", str(task), "--limit", "400"]
    words += ["--concurrency", "8", "--output", str(tmp_path / "run"), "--quiet"]
    killed = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while server.stats.answered < 100 and killed.poll() is None:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL
    answered = server.stats.answered
    resumed = ask(server, task, tmp_path / "run", CALM, limit=400)
    assert server.stats.requests < 400 - answered / 2, "what was answered and written is not asked again"
    assert without_failed(resumed) == without_failed(calm)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "complete"
