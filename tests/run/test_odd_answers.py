"""What a model or a row may bring that no format was made for: the sample tells, the run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from polymeter.core.request import ChoiceLogprob, Output, Request, Response, Usage
from polymeter.core.task import RolloutSteps, Sample
from polymeter.models.mock import MockBatch
from polymeter.store.exports.export import read_samples
from tests.helpers.tasks import ListTask, answer_of, ask, docs, run_tasks

HALF = "cut in the middle \ud83d"


def test_an_image_that_is_not_there_fails_its_sample_only(tmp_path: Path) -> None:
    def play(sample: Sample) -> RolloutSteps:
        gone = tmp_path / "gone.png" if sample.index == 1 else None
        yield ask(sample.doc["question"], sample, image=gone)

    outcome = run_tasks([ListTask(docs(4), play=play)], MockBatch(answer_of), tmp_path / "run")
    assert outcome.status == "complete"
    assert outcome.results["tasks"]["list"]["statuses"] == {"ok": 3, "error": 1}
    failed = next(row for row in read_samples(outcome.folder, "list") if row["status"] == "error")
    assert failed["error"]["kind"] == "data"
    assert "gone.png' does not exist" in failed["error"]["message"]


def test_half_a_character_is_an_answer_like_any_other(tmp_path: Path) -> None:
    rows = [{"question": f"q {HALF}", "answer": HALF}]
    outcome = run_tasks([ListTask(rows)], MockBatch(lambda request: HALF), tmp_path / "run")
    (row,) = read_samples(outcome.folder, "list")
    assert outcome.results["tasks"]["list"]["results"][0]["value"] == 1.0
    assert row["answer"] == row["doc"]["answer"] == HALF


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    def compute(request: Request) -> Any:
        choice = ChoiceLogprob(np.float32(-0.5), np.bool_(True), np.int64(1))  # type: ignore[arg-type]
        usage = Usage(np.int64(3), np.int32(4))
        return Response((Output(text=answer_of(request), logprobs=(choice,), usage=usage),))

    outcome = run_tasks([ListTask(docs(5))], MockBatch(compute), tmp_path / "run")
    assert outcome.n_failed == 0
    assert outcome.folder.read_manifest()["usage"] == {"input_tokens": 15, "output_tokens": 20}
    row = next(read_samples(outcome.folder, "list"))
    assert row["exchanges"][0]["response"]["outputs"][0]["logprobs"] == [[-0.5, True, 1]]
