"""What a wrapper of foreign models needs is in a request: live hooks, and rows that carry their own request's media.

Many foreign models take a chunk of argument tuples and call the *first* tuple's ``doc_to_visual`` for every row. The
wrapper here stands for the real one: it gives them one virtual ``task_dict`` and a hook that reads the row, so four
rows keep their four
images.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image as Pictures

from polymeter.core.content import Image, Text
from polymeter.core.model import BatchModel, ModelTraits
from polymeter.core.request import Generate, Message, Origin, Request, Response
from polymeter.core.rows import RowAccess
from polymeter.core.task import RolloutSteps, Sample
from polymeter.store.exports.export import read_samples
from tests.helpers.tasks import ListTask, run_tasks

COLOURS = ["red", "green", "blue", "white", "black", "orange", "purple", "yellow"]


class ForeignModel:
    """Written by somebody else: batches, and trusts the first request's hook and task for the whole chunk."""

    def __init__(self) -> None:
        self.task_dict: Mapping[str, Any] = {}
        self.chunks: list[int] = []

    def generate_until(self, arguments: list[tuple[Any, ...]]) -> list[str]:
        contexts, _, doc_to_visual, doc_ids, tasks, splits = zip(*arguments, strict=True)
        self.chunks.append(len(contexts))
        task, split = tasks[0], splits[0]
        visuals = [doc_to_visual[0](self.task_dict[task][split][doc_id]) for doc_id in doc_ids]
        return [str(pictures[0].getpixel((0, 0))) for pictures in visuals]


class Rows:
    """Rows of a virtual dataset: row ``i`` is what request ``i`` carries."""

    def __init__(self, requests: Mapping[int, Request], handles: RowAccess) -> None:
        self._requests = requests
        self._handles = handles

    def __getitem__(self, index: int) -> dict[str, Any]:
        request = self._requests[index]
        handle = self._handles(request.origin) if request.origin else None
        row = handle.full_doc() if handle else {}
        return {**row, "__media__": [image.open() for image in request.images()]}


class Wrapper(BatchModel):
    """A foreign model as a batch model."""

    batch_hint = 4

    def __init__(self, foreign: ForeignModel) -> None:
        self.traits = ModelTraits(
            "foreign",
            kind="simple",
            requests={"generate": True},
            modalities={"text": True, "image": True},
            is_foreign=True,
        )
        self._foreign = foreign

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "foreign"}

    def group_key(self, request: Request) -> Hashable:
        origin = request.origin
        return (origin.task, origin.split, origin.protocol) if origin else None

    def respond(self, requests: list[Request]) -> list[Response]:
        origins = [request.origin for request in requests]
        assert all(origins)
        rows = {origin.index: request for origin, request in zip(origins, requests, strict=True) if origin}
        first = origins[0]
        assert first is not None
        assert self.rows is not None
        self._foreign.task_dict = {first.task: {first.split: Rows(rows, self.rows)}}
        arguments = [
            (request.text, dict(o.generation_kwargs), lambda row: row["__media__"], o.index, o.task, o.split)
            for request, o in zip(requests, origins, strict=True)
            if o
        ]
        return [Response.of_text(text) for text in self._foreign.generate_until(arguments)]


def test_a_chunk_of_four_rows_keeps_its_four_images(tmp_path: Path) -> None:
    opened: list[str] = []

    def play(sample: Sample) -> RolloutSteps:
        opened.append(sample.doc["answer"])
        picture = Pictures.new("RGB", (4, 4), sample.doc["answer"])
        origin = Origin("list", sample.id, "test", sample.index, generation_kwargs={"until": ["\n\n"]})
        yield Request((Message("user", (Image(picture), Text(sample.doc["question"]))),), Generate(), origin)

    foreign = ForeignModel()
    rows = [{"question": "colour?", "answer": colour} for colour in COLOURS]
    outcome = run_tasks([ListTask(rows, play=play)], Wrapper(foreign), tmp_path / "run")
    answers = [row["exchanges"][0]["response"]["outputs"][0]["text"] for row in read_samples(outcome.folder, "list")]
    assert answers == [str(Pictures.new("RGB", (1, 1), colour).getpixel((0, 0))) for colour in COLOURS]
    assert foreign.chunks == [4, 4]
    assert sorted(opened) == sorted(COLOURS), "each picture is made once"
