"""Data of published benchmarks as somebody has it who fetched them: made rows in the official columns.

Each file in ``cases`` holds rows, answers and the scores that the benchmark's official scorer gave for them. The scorer
and its commit stand in the file.
"""

from __future__ import annotations

import importlib.util
import io
import json
import wave
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import datasets
import numpy as np
from PIL import Image

import polymeter

CASES = Path(__file__).parent / "cases"
NAMES = sorted(file.stem for file in CASES.glob("*.json"))


def cases_of(name: str) -> dict[str, Any]:
    """The cases of a benchmark."""
    read: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return read


def code_of(folder: str) -> ModuleType:
    """The code of a benchmark, loaded by itself."""
    file = Path(polymeter.__file__).parent / "library" / folder / "utils.py"
    made = importlib.util.spec_from_file_location(f"published_{folder}", file)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def write_data(folder: Path, name: str, split: str) -> Path:
    """Write the rows of a benchmark; returns the file or folder for ``--data``."""
    given = cases_of(name)
    rows, medium = [dict(case["row"]) for case in given["rows"]], given["medium"]
    folder.mkdir()
    if not medium:
        (folder / "rows.json").write_text(json.dumps(rows))
        return folder / "rows.json"
    if medium == "image":
        rows = [{**row, "image": Image.new("RGB", (32, 24), (8 * number, 0, 0))} for number, row in enumerate(rows)]
    if medium == "audio":
        rows = [{**row, "audio": {"bytes": sound(), "path": f"{row['id']}.wav"}} for row in rows]
    made = datasets.Dataset.from_list(rows)
    if medium == "audio":
        made = made.cast_column("audio", datasets.Audio())
    made.to_parquet(folder / f"{split}-00000-of-00001.parquet")
    if medium == "video":
        for video in {row["video_id"] for row in rows}:
            write_video(folder / f"{video}.mp4")
    return folder


def sound() -> bytes:
    """A tone of a tenth of a second, as WAV."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes((8000 * np.sin(np.arange(1600) / 8)).astype("<i2").tobytes())
    return content.getvalue()


def write_video(path: Path) -> None:
    """Write a video of three frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=5)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for shade in (0, 100, 200):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), shade, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
