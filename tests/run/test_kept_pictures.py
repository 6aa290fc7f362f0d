"""Pictures in a run: what is generated goes on as a reference to its file; what a score compares it to is kept too."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Image, Text
from polymeter.core.request import GenerateImage, Message, Origin, Output, Request, Response
from polymeter.core.stored_image import StoredImage
from polymeter.core.task import Score
from polymeter.models.mock import MockBatch
from polymeter.store.exports.export import read_samples
from polymeter.store.media import MediaStore, media_path
from tests.helpers.tasks import ListTask, ask, docs, run_tasks

RED, BLUE = pil.new("RGB", (12, 8), "red"), pil.new("RGB", (12, 8), "blue")


def painter() -> MockBatch:
    return MockBatch(lambda _: Response((Output(images=(RED.copy(),)),)), identity={"backend": "painter"})


def paint(sample: Any) -> Any:
    request = Request((Message("user", (Text("red"),)),), GenerateImage(), Origin(sample.task, sample.id))
    response = yield request
    return response.outputs[0].images[0].size


@pytest.mark.parametrize("reference", [BLUE, Image(BLUE)], ids=["pillow", "part"])
def test_a_picture_in_a_scores_log_is_kept_as_a_preview(tmp_path: Path, reference: Any) -> None:
    def score(sample: Any, played: Any, asker: Any) -> Score:
        return Score({("m", "none"): 1.0}, log={"reference": reference, "steps": 4})

    run_tasks([ListTask(docs(2), play=paint, score=score)], painter(), tmp_path / "run")
    folder = run_tasks([ListTask(docs(2), play=paint, score=score)], painter(), tmp_path / "run").folder
    for sample in read_samples(folder, "list"):
        note = sample["log"]["reference"]["image"]
        assert (note["width"], note["height"], sample["log"]["steps"]) == (12, 8, 4)
        with pil.open(media_path(folder.media, note["file"])) as kept:
            assert kept.size == (12, 8)


def test_a_picture_in_a_log_that_cannot_be_read_costs_no_score(tmp_path: Path) -> None:
    def score(sample: Any, played: Any, asker: Any) -> Score:
        return Score({("m", "none"): 1.0}, log={"reference": Image(tmp_path / "gone.png")})

    outcome = run_tasks([ListTask(docs(1), play=paint, score=score)], painter(), tmp_path / "run")
    (sample,) = read_samples(outcome.folder, "list")
    assert sample["status"] == "ok"
    assert sample["log"]["reference"]["image"] == {"source": str(tmp_path / "gone.png")}


def test_the_model_draws_on_while_its_last_pictures_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    has_gone_on = threading.Event()

    def draw(request: Request) -> Response:
        calls.append(1)
        if len(calls) == 2:
            has_gone_on.set()
        return Response((Output(images=(RED.copy(),)),))

    write = MediaStore._write

    def waiting(self: MediaStore, *args: Any, **more: Any) -> str:
        assert has_gone_on.wait(20), "the model waited for a file"
        return write(self, *args, **more)

    monkeypatch.setattr(MediaStore, "_write", waiting)
    model = MockBatch(draw, identity={"backend": "painter"}, batch_size=1)
    outcome = run_tasks(
        [ListTask(docs(3), play=paint, score=lambda *_: Score({("m", "none"): 1.0}))], model, tmp_path / "run"
    )
    assert outcome.results["tasks"]["list"]["n_scored"] == 3
    assert len(calls) == 3


def test_a_judge_is_asked_about_the_stored_bytes_first_and_after_a_resume(tmp_path: Path) -> None:
    """The question about an image has the same fingerprint both times, so that its verdict is found again."""
    seen = []

    def score(sample: Any, played: Any, asker: Any) -> Score:
        (picture,) = played.responses[0].outputs[0].images
        seen.append(type(picture))
        return Score({("m", "none"): float(asker("judge", ask("right?", image=picture)).text)})

    asked = []
    judge = MockBatch(lambda request: asked.append(request) or "1", identity={"backend": "judge"})
    for _ in range(2):
        task = ListTask(docs(2), play=paint, score=score, roles=["judge"])
        outcome = run_tasks([task], painter(), tmp_path / "run", roles={"judge": judge})
        assert outcome.results["tasks"]["list"]["n_nondeterministic"] == 0
        with sqlite3.connect(tmp_path / "run" / "journal.db") as journal:  # as if it had been killed before the end
            journal.execute("DELETE FROM samples")
            journal.execute("DELETE FROM scores")
    assert seen == [StoredImage] * 4
    assert len(asked) == 2
