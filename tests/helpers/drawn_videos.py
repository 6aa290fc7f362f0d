"""Small videos of every kind that a decoder meets, drawn from a seed: rates, variable rates, frames out of order, odd
sizes, rotations, headers that state a wrong number of frames.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

RATES = [Fraction(24000, 1001), 24, 25, Fraction(30000, 1001), 30, 48, 50, Fraction(60000, 1001), 60]
KINDS = [  # the ending, the codec, whether odd sizes are possible
    ("mp4", "libx264", False),
    ("mp4", "libx264", False),
    ("mp4", "mpeg4", True),
    ("mov", "libx264", False),
    ("mkv", "libx264", False),
    ("webm", "libvpx", True),
    ("avi", "mpeg4", True),
    ("ts", "libx264", False),
    ("mp4", "libx264-444", True),
]
_UNIT = Fraction(1, 12000)
_SQUARE = 8
_LONG = 20
"""Every so many videos one is long."""
_FEWEST_OF_TS = 30
"""FFmpeg recognises an MPEG transport stream by some kilobytes of it."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A video that was drawn: the file, what it is, and whether its header states the right number of frames."""

    path: Path
    n_frames: int
    rate: Fraction
    is_variable: bool
    rotation: int
    has_true_count: bool


def draw(folder: Path, seed: int, *, most: int = 400) -> Drawn:
    """Draw a video.

    Args:
        folder: Where it is written.
        seed: It says all.
        most: The most frames.
    """
    chance = random.Random(seed)
    ending, codec, can_be_odd = KINDS[seed % len(KINDS)]
    n_frames = chance.choice([1, 2, 3, chance.randint(4, 60), chance.randint(4, 60), chance.randint(61, most)])
    if seed % _LONG == 0:
        n_frames = chance.randint(most // 2, most)
    elif ending == "ts":
        n_frames = max(n_frames, _FEWEST_OF_TS)
    rate = Fraction(chance.choice(RATES))
    is_variable = ending in ("mp4", "mkv", "webm") and chance.random() < 0.3
    size = (chance.randrange(32, 80, 2) + can_be_odd, chance.randrange(32, 80, 2) + can_be_odd)
    options = {"g": str(chance.choice([1, 5, 12, 250]))}
    if codec.startswith("libx264"):
        options |= {"bf": str(chance.randint(0, 3)), "preset": "ultrafast", "b-pyramid": "normal"}
    elif ending == "mp4" and chance.random() < 0.5:
        options["bf"] = "2"
    path = folder / f"{seed:03}.{ending}"
    fragmented = ending == "mp4" and chance.random() < 0.15
    container = {"movflags": "frag_keyframe+empty_moov"} if fragmented else {}
    encode(path, n_frames, rate, size, codec, options, container, chance if is_variable else None)
    rotation = 0
    if ending in ("mp4", "mov") and chance.random() < 0.3:
        rotation = chance.choice([90, 180, 270])
        turn(path, rotation)
    is_wrong = ending == "avi" and chance.random() < 0.5
    if is_wrong:
        state_count(path, chance.choice([max(1, n_frames // 2), n_frames * 2, n_frames + 7]))
    has_true_count = not (is_wrong or fragmented or ending in ("mkv", "webm", "ts"))
    return Drawn(path, n_frames, rate, is_variable, rotation, has_true_count)


def encode(
    path: Path,
    n_frames: int,
    rate: Fraction,
    size: tuple[int, int],
    codec: str = "libx264",
    options: dict[str, str] | None = None,
    container: dict[str, str] | None = None,
    jitter: random.Random | None = None,
    sound_s: float | None = None,
) -> Path:
    """Write a video each frame of which shows its number, at times with random gaps if ``jitter`` is given, and with a
    sound of some length if that is given.
    """
    name, _, format_ = codec.partition("-")
    with av.open(str(path), "w", options=container or {}) as file:
        stream: Any = file.add_stream(name, rate=rate, options=options or {})
        stream.width, stream.height = size
        stream.pix_fmt = "yuv444p" if format_ else "yuv420p"
        sound: Any = file.add_stream("aac", rate=16000, layout="mono") if sound_s else None
        unit = _UNIT if jitter else 1 / Fraction(rate)
        if jitter:
            stream.codec_context.time_base = stream.time_base = unit
        stamp = 0
        for number in range(n_frames):
            frame = av.VideoFrame.from_ndarray(picture(number, size), format="rgb24")
            frame.pts, frame.time_base = stamp, unit
            file.mux(stream.encode(frame))
            stamp += jitter.choice([100, 200, 400, 500, 3000]) if jitter else 1
        file.mux(stream.encode())
        if sound is not None:
            wave = (np.sin(np.arange(int(sound_s * 16000)) * 0.2) * 20000).astype(np.int16)
            block = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
            block.sample_rate, block.pts = 16000, 0
            file.mux(sound.encode(block))
            file.mux(sound.encode())
    return path


def picture(number: int, size: tuple[int, int]) -> np.ndarray:
    """A frame of shape ``(height, width, 3)``: a number as 16 light and dark squares, on a colour of its own."""
    width, height = size
    image = np.empty((height, width, 3), np.uint8)
    image[:] = [(number * 37) % 256, (number * 91) % 256, (number * 53) % 256]
    for bit in range(16):
        top, left = divmod(bit, 4)
        image[top * _SQUARE : (top + 1) * _SQUARE, left * _SQUARE : (left + 1) * _SQUARE] = 255 * (number >> bit & 1)
    return image


def number_of(image: Any) -> int:
    """The number that an upright frame shows."""
    grey = np.asarray(image).mean(axis=2)
    half = _SQUARE // 2
    bits = (grey[half + (bit // 4) * _SQUARE, half + (bit % 4) * _SQUARE] > 127 for bit in range(16))
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def turn(path: Path, rotation: int) -> None:
    """Write a camera's rotation into the header of an MP4 file."""
    data = bytearray(path.read_bytes())
    place = data.find(b"tkhd") + 44
    one = 65536
    turns = {90: (0, one, -one, 0), 180: (-one, 0, 0, -one), 270: (0, -one, one, 0)}
    a, b, c, d = turns[rotation]
    data[place : place + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
    path.write_bytes(data)


def state_count(path: Path, count: int) -> None:
    """Write a number of frames into the header of an AVI file."""
    data = bytearray(path.read_bytes())
    main, stream = data.find(b"avih") + 8, data.find(b"strh") + 8
    data[main + 16 : main + 20] = struct.pack("<I", count)
    data[stream + 32 : stream + 36] = struct.pack("<I", count)
    path.write_bytes(data)
