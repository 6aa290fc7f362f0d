"""Drawn videos, and classes of videos that read them and a local table in place of a snapshot of a hub."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from conformance.answers import generator

CLIPS = ("clip0", "clip1", "clip2")
_SIDES, _RATE = (64, 48), 8


def write_videos(folder: Path, seed: int) -> None:
    """Draw the videos: a few seconds each, every frame another colour."""
    import av
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(CLIPS):
        chance = generator("video", seed, name)
        with av.open(str(folder / f"{name}.mp4"), "w") as container:
            stream: Any = container.add_stream("libx264", rate=_RATE)
            stream.width, stream.height = _SIDES
            stream.pix_fmt = "yuv420p"
            for _ in range(_RATE * (3 + number) + chance.randrange(5)):
                colour = tuple(chance.randrange(256) for _ in range(3))
                for packet in stream.encode(av.VideoFrame.from_image(Image.new("RGB", _SIDES, colour))):
                    container.mux(packet)
            for packet in stream.encode():
                container.mux(packet)
        for below in ("video", "videos"):
            (folder / below).mkdir(exist_ok=True)
            shutil.copyfile(folder / f"{name}.mp4", folder / below / f"{name}.mp4")


def read_locally(cls: Any, data: Path) -> Any:
    """The class, with its table and videos below a folder; a class of images unchanged."""
    if getattr(cls, "MODALITY", "") != "VIDEO":
        return cls

    def prepare_dataset(dataset: Any, dataset_name: str = "", *_: Any, **__: Any) -> dict[str, str]:
        name = dataset_name or dataset.dataset_name
        return {"root": str(data / "videos"), "data_file": str(data / f"{name}.tsv")}

    for base in cls.__mro__:
        if "prepare_dataset" in vars(base):
            base.prepare_dataset = prepare_dataset
    return cls
