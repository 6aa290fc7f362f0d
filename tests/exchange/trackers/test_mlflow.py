"""MLflow: what its own client reads from a store in a folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter import TrackerError
from tests.helpers.seen import USED, N

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def uri(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs packages that mlflow-skinny goes without
    return f"file://{folder}/store"


def runs(uri: str, experiment: str = "polymeter") -> list[Any]:
    client = mlflow.MlflowClient(uri)
    return list(client.search_runs([client.get_experiment_by_name(experiment).experiment_id]))


def test_parameters_metrics_and_artifacts(run: polymeter.RunResult, uri: str, folder: Path) -> None:
    place = polymeter.log_run(run, "mlflow", tracking_uri=uri, experiment="vlm", run_name=7, tags={"stage": "dev"})
    (sent,) = runs(uri, "vlm")
    result = run.result("seen", "answer")
    assert sent.info.run_id in place
    assert (sent.info.run_name, sent.info.status) == ("7", "FINISHED")
    assert sent.data.metrics["seen/answer"] == result.value
    assert sent.data.metrics["seen/answer_stderr"] == result.stderr
    assert sent.data.metrics["seen/answer_n"] == N - 1
    used = {name: value for name, value in sent.data.metrics.items() if name.startswith("usage/")}
    assert used == {f"usage/model/Teller/{name}": value for name, value in USED.items()}
    assert sent.data.params["options.seed"] == "0"
    assert sent.data.params["tasks.seen.n_samples"] == str(N)
    assert sent.data.tags["stage"] == "dev"
    client = mlflow.MlflowClient(uri)
    kept = client.download_artifacts(sent.info.run_id, "results.json", str(folder))
    assert json.loads(Path(kept).read_text()) == json.loads(run.folder.results.read_text())
    assert "report.html" in [item.path for item in client.list_artifacts(sent.info.run_id)]


def test_samples_are_a_table_with_images(run: polymeter.RunResult, uri: str, folder: Path) -> None:
    polymeter.log_run(run, "mlflow", tracking_uri=uri, samples=2)
    (sent,) = runs(uri)
    client = mlflow.MlflowClient(uri)
    table = json.loads(Path(client.download_artifacts(sent.info.run_id, "samples/seen.json", str(folder))).read_text())
    rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
    assert [(row["prompt"], row["answer"]) for row in rows] == [("What is 0?", "0\\ud83d"), ("What is 1?", "1\\ud83d")]
    assert rows[1]["shown"]["type"] == "image"
    assert Path(client.download_artifacts(sent.info.run_id, rows[1]["shown"]["filepath"], str(folder))).is_file()


def test_a_run_of_a_training_gets_the_numbers(run: polymeter.RunResult, uri: str) -> None:
    client = mlflow.MlflowClient(uri)
    training = client.create_run(client.create_experiment("training")).info.run_id
    for step in (1, 2):
        polymeter.log_run(run, "mlflow", tracking_uri=uri, run_id=training, step=step, samples=0, report=False)
    history = client.get_metric_history(training, "seen/answer")
    assert [item.step for item in history] == [1, 2]
    assert client.get_run(training).info.status == "RUNNING"
    assert client.list_artifacts(training) == []


def test_a_run_that_broke_off_is_marked(run: polymeter.RunResult, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("no way")

    monkeypatch.setattr(mlflow.MlflowClient, "log_artifact", refuse)
    with pytest.raises(TrackerError, match="raised ConnectionError: no way"):
        polymeter.log_run(run, "mlflow", tracking_uri=uri)
    assert [sent.info.status for sent in runs(uri)] == ["FAILED"]


def test_the_makers_of_mlflow_are_told_nothing(
    run: polymeter.RunResult, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(
        mlflow.MlflowClient, "create_run", lambda *a, **k: seen.append(os.environ["MLFLOW_DISABLE_TELEMETRY"])
    )
    with pytest.raises(TrackerError):
        polymeter.log_run(run, "mlflow", tracking_uri=uri)
    assert seen == ["true"]
    assert "MLFLOW_DISABLE_TELEMETRY" not in os.environ
