"""What a run says that its requests took: media, failed tries, answers that were taken over."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Audio, Image, Text
from polymeter.core.errors import ErrorKind, ModelError
from polymeter.core.model import Model
from polymeter.core.request import Error, Generate, Message, Output, Request, Response, Usage
from polymeter.core.task import RolloutSteps, Sample
from polymeter.models.mock import MockBatch, MockEndpoint
from tests.helpers.tasks import ListTask, answer_of, docs, run_tasks


def used(outcome: Any, role: str = "model") -> dict[str, Any]:
    (found,) = outcome.folder.read_manifest()["usage_by_role"][role].values()
    return found  # type: ignore[no-any-return]


class Flaky:
    """Fails each question so many times before it answers."""

    def __init__(self, n: int, kind: ErrorKind) -> None:
        self.n, self.kind = n, kind
        self.seen: dict[str, int] = {}
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> str:
        with self.lock:
            self.seen[request.text] = self.seen.get(request.text, 0) + 1
            if self.seen[request.text] <= self.n:
                raise ModelError("not now", kind=self.kind, retry_after_s=0.0)
        return answer_of(request)


@pytest.mark.parametrize("make", [MockBatch, MockEndpoint])
@pytest.mark.parametrize(
    ("n", "kind", "failed", "requests", "why"),
    [
        (2, "transient", 6, 3, "tries before the answer count"),
        (9, "transient", 9, 0, "so does the last one, that ends the request"),
        (9, "refused", 3, 0, "a refusal is tried once"),
    ],
)
def test_failed_tries_are_counted(
    tmp_path: Path, make: Any, n: int, kind: ErrorKind, failed: int, requests: int, why: str
) -> None:
    model: Model = make(Flaky(n, kind), identity={"m": 1})
    outcome = run_tasks([ListTask(docs(3))], model, tmp_path / "run", max_retries=2)
    assert (used(outcome)["failed"], used(outcome)["requests"]) == (failed, requests), why


def test_a_run_that_is_resumed_adds_to_what_failed_and_pays_for_no_answer_twice(tmp_path: Path) -> None:
    def answers_two(request: Request) -> Response:
        if request.text == "q2":
            return Response(error=Error("permanent", "no"))
        return Response((Output(text=answer_of(request), usage=Usage(10, 1)),))

    for n_failed in (1, 2):
        outcome = run_tasks([ListTask(docs(3))], MockEndpoint(answers_two, identity={"m": 1}), tmp_path / "run")
        assert {name: used(outcome)[name] for name in ("input", "requests", "failed")} == {
            "input": 20,
            "requests": 2,
            "failed": n_failed,
        }
        assert outcome.folder.read_manifest()["usage"] == {"input_tokens": 20, "output_tokens": 2}


def test_media_in_requests_and_answers_are_counted(tmp_path: Path) -> None:
    image = pil.new("RGB", (4, 4))
    sound = {"array": [0.0] * 4000, "sampling_rate": 8000}

    def play(sample: Sample) -> RolloutSteps:
        media = (Image(image), Image(image)) if sample.index else (Audio(sound),)
        yield Request((Message("user", (*media, Text("q"))),), Generate())
        return None

    def draw(request: Request) -> Response:
        return Response((Output(text="a0", images=(image,), usage=Usage(1, 1)),))

    outcome = run_tasks([ListTask(docs(3), play=play)], MockBatch(draw, identity={"m": 1}), tmp_path / "run")
    counts = {name: used(outcome)[name] for name in ("images_sent", "images_made", "audio_s")}
    assert counts == {"images_sent": 4, "images_made": 3, "audio_s": 0.5}
