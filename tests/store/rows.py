"""Rows of the journal for tests."""

from __future__ import annotations

import json
from typing import Any

from polymeter.core.request import Error, Response
from polymeter.core.task import SampleStatus, Score
from polymeter.store.wire import write_response, write_score


def answer_row(
    task: int,
    sample: int,
    text: str = "a",
    *,
    role: str = "model",
    fingerprint: str = "f",
    occurrence: int = 0,
    turn: int = 1,
    finish: str = "stop",
) -> tuple[Any, ...]:
    """A row of ``responses``."""
    body = write_response(Response.of_text(text), str).replace('"stop"', f'"{finish}"')
    return (task, sample, role, f"{role}-print", fingerprint, occurrence, turn, body)


def sample_row(
    task: int,
    sample: int,
    status: SampleStatus = SampleStatus.OK,
    *,
    subset: tuple[str, ...] = (),
    cluster: str | None = None,
    error: Error | None = None,
    doc: Any = None,
    returned: str | None = None,
    seal: str | None = "seal",
) -> tuple[Any, ...]:
    """A row of ``samples``."""
    return (
        task,
        sample,
        f"id-{sample}",
        json.dumps(subset) if subset else "",
        cluster,
        status.value,
        json.dumps({"kind": error.kind, "message": error.message}) if error else None,
        json.dumps(doc) if doc is not None else None,
        returned,
        seal,
    )


def score_row(task: int, sample: int, score: Score, digest: str = "d") -> tuple[Any, ...]:
    """A row of ``scores``."""
    written = write_score(score)
    return (task, sample, digest, int(written.is_exact), written.body)
