"""Caps on models of this machine: batches, replicas and time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.api.result import RunResult
from polymeter.core.errors import PlanError
from polymeter.core.model import ModelTraits
from polymeter.core.request import Output, Request, Response, Usage
from polymeter.models.mock import MockBatch

YAML = """\
task: echo
dataset_path: csv
dataset_kwargs: {data_files: {test: echo.csv}}
test_split: test
doc_to_text: "{{word}}"
doc_to_target: word
generation_kwargs: {max_new_tokens: 100}
metric_list: [{metric: exact_match}]
"""
N_ROWS = 20
WORST = 4 + 1 + 32 + 512 + 100
"""The most that a request takes: its bytes, a mark in front, what is around a message and a request, the answer."""


@pytest.fixture
def task(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "echo.csv").write_text("\n".join(["word", *(f"w{n:03}" for n in range(N_ROWS)), ""]))
    (folder / "echo.yaml").write_text(YAML)
    return folder / "echo.yaml"


def says(request: Request) -> Response:
    return Response((Output(text=request.text, finish_reason="stop", usage=Usage(5, 2)),))


def says_no_tokens(request: Request) -> Response:
    return Response((Output(text=request.text, finish_reason="stop"),))


def budget(result: RunResult) -> dict[str, Any]:
    found: dict[str, Any] = result.folder.read_manifest()["budget"]
    return found


def test_a_batch_is_as_large_as_the_cap_has_room_for(task: Path, tmp_path: Path) -> None:
    model = MockBatch(says, identity={"m": 1})
    result = polymeter.evaluate(model, str(task), output=tmp_path / "run", max_tokens=3 * WORST)
    assert result.status == "complete"
    assert max(model.batches) == 3
    assert min(model.batches[:-1]) >= 2, "answers free what their requests had reserved"
    assert budget(result)["spent"]["tokens"] == 7 * N_ROWS


def test_answers_without_a_number_of_tokens_count_as_the_most(task: Path, tmp_path: Path) -> None:
    model = MockBatch(says_no_tokens, identity={"m": 1})
    stopped = polymeter.evaluate(model, str(task), output=tmp_path / "run", max_tokens=5 * WORST + 10)
    assert stopped.status == "stopped"
    assert sum(model.batches) == 5
    assert budget(stopped)["spent"]["tokens"] == 5 * WORST
    whole = polymeter.resume(tmp_path / "run", model=model, max_tokens=100 * WORST)
    assert whole.status == "complete"
    assert sum(model.batches) == N_ROWS, "no request is computed twice"


def test_a_wrapper_is_named_as_something_that_caps_cannot_see(task: Path, tmp_path: Path) -> None:
    traits = ModelTraits("wrapped", requests={"generate": True}, modalities={"text": True}, is_foreign=True)
    model = MockBatch(says_no_tokens, traits, identity={"m": 1})
    result = polymeter.evaluate(model, str(task), output=tmp_path / "run", max_tokens=100 * WORST)
    assert any(
        "requests that it sends to an endpoint itself count in no cap" in note for note in result.results["notes"]
    )
    with pytest.raises(PlanError) as caught:
        polymeter.evaluate(model, str(task), output=tmp_path / "other", max_cost=5)
    assert "what it sends to an endpoint itself cannot be counted" in caught.value.what
    assert "--gpu-price" in caught.value.hint


def test_replicas_share_a_cap_and_continue_where_they_stopped(task: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"replicas": 2, "batch_size": 2, "output": tmp_path / "run"}
    model_args = {"mode": "echo"}
    stopped = polymeter.evaluate("mock", str(task), model_args=model_args, max_tokens=WORST + 30, **options)
    assert stopped.status == "stopped"
    n_before = stopped.folder.read_manifest()["usage_by_role"]["model"]["mock"]["requests"]
    assert 0 < n_before < N_ROWS
    assert budget(stopped)["spent"]["tokens"] <= WORST + 30
    whole = polymeter.resume(tmp_path / "run", max_tokens=100 * WORST)
    assert whole.status == "complete"
    assert whole.folder.read_manifest()["usage_by_role"]["model"]["mock"]["requests"] == N_ROWS


def test_time_ends_between_batches(task: Path, tmp_path: Path) -> None:
    model = MockBatch(says, identity={"m": 1}, delay_s=0.15, batch_size=1)
    stopped = polymeter.evaluate(model, str(task), output=tmp_path / "run", max_time_s="0.4s")
    assert stopped.status == "stopped"
    n_answered = stopped.folder.read_manifest()["usage_by_role"]["model"]["MockBatch"]["requests"]
    assert 0 < n_answered == sum(model.batches) < N_ROWS, "the batch that was being computed is kept"


def test_this_machine_costs_by_the_hour(task: Path, tmp_path: Path) -> None:
    model = MockBatch(says, identity={"m": 1}, delay_s=0.1, batch_size=2)
    an_hour = 3600.0  # a dollar a second
    stopped = polymeter.evaluate(model, str(task), output=tmp_path / "run", max_cost=0.5, gpu_price=an_hour)
    assert stopped.status == "stopped"
    spent = budget(stopped)["spent"]
    assert 0 < spent["cost_machine"] == spent["cost"] <= 0.5
    assert "this machine's time takes more" in stopped.folder.read_manifest()["sessions"][-1]["reason"]
    n_before = sum(model.batches)
    whole = polymeter.resume(tmp_path / "run", model=model, max_cost=500)
    assert whole.status == "complete"
    assert sum(model.batches) == N_ROWS > n_before
    assert budget(whole)["spent"]["cost"] > spent["cost"]
    assert "Cap on costs" in whole.report.read_text("utf-8")
