"""A model that records what it was shown, and a task about a video, an image and a recording."""

from __future__ import annotations

from typing import Any

from PIL import Image as pil

from polymeter.core.content import Audio, Image, Media, Text, Video
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import Generate, Message, Request
from polymeter.core.task import RolloutSteps, Sample
from polymeter.models.mock import MockBatch
from tests.helpers.tasks import ListTask

N_FRAMES = 240
"""The frames of each video, at 30 per second."""


class Shows:
    """Answers ``a0``, and records what it was shown of each medium."""

    def __init__(
        self,
        frames: int = 8,
        *,
        wanted: int | None = None,
        rate: int = 16_000,
        seconds: float = 3.5,
        width: int = 640,
        digest: str = "",
    ) -> None:
        self.frames, self.wanted, self.rate, self.digest = frames, wanted, rate, digest
        self.seconds, self.width = seconds, width
        self.n_calls = 0

    def __call__(self, request: Request) -> str:
        self.n_calls += 1
        for medium in request.media():
            medium.record_sent(self.record(medium))
        return "a0"

    def record(self, medium: Media) -> ShownMedium:
        """The record of a medium."""
        digest = self.digest or f"{medium.modality}{'0' * 26}"
        if isinstance(medium, Image):
            before = {"width": 1920, "height": 1080, "format": "png", "bytes": 2_000_000}
            sent = {"width": self.width, "height": 360, "format": "jpeg", "bytes": 81_000}
            return ShownMedium("image", "images/a.png", {"max_side": 640}, before, sent, digest)
        if isinstance(medium, Audio):
            before = {"rate": 44_100, "channels": 2, "seconds": 3.5, "format": "wav"}
            sent = {"rate": self.rate, "channels": 1, "seconds": self.seconds, "format": "samples"}
            return ShownMedium("audio", "sounds/a.wav", {"rate": self.rate}, before, sent, digest)
        numbers = tuple(N_FRAMES * place // self.frames for place in range(self.frames))
        return ShownMedium(
            "video",
            "clips/a.mp4",
            {"rule": "cut", "frames": self.wanted or self.frames},
            {"width": 1920, "height": 1080, "duration_s": 8.0, "fps": 30.0, "frames": N_FRAMES, "stated_frames": 250},
            {"width": self.width, "height": 360, "frames": self.frames, "format": "jpeg", "bytes": 1_200_000},
            digest,
            numbers,
            tuple(number / 30 for number in numbers),
            self.wanted,
            notes=("The last frames are broken.",),
        )


def showing_model(*args: Any, **settings: Any) -> MockBatch:
    """A model that answers and records like ``Shows``."""
    return MockBatch(Shows(*args, **settings), identity={"m": 1})


def media_task(n: int = 2, name: str = "media", kinds: str = "via") -> ListTask:
    """A task whose samples each show a video, an image and a recording, or those of some kinds."""
    frame = pil.new("RGB", (32, 18), "teal")
    media = {"v": Video([frame] * 4), "i": Image(frame), "a": Audio({"array": [0.0] * 800, "sampling_rate": 8000})}

    def play(sample: Sample) -> RolloutSteps:
        parts = (*(media[kind] for kind in kinds), Text(sample.doc["question"]))
        yield Request((Message("user", parts),), Generate())
        return None

    return ListTask([{"question": f"q{place}", "answer": "a0"} for place in range(n)], name=name, play=play)
