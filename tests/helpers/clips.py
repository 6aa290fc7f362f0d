"""Small videos with a track, drawn and encoded here."""

from __future__ import annotations

from pathlib import Path

import numpy as np

RATE = 16_000


def clip(path: Path, *, n: int = 8, fps: int = 4, sound: bool = True, size: tuple[int, int] = (32, 16)) -> Path:
    """Write a video whose frames are grey, each lighter than the one before, with a tone.

    Args:
        path: Where to.
        n: Number of frames.
        fps: Frames per second.
        sound: Whether it has a track.
        size: Width and height.
    """
    import av

    with av.open(str(path), "w") as container:
        frames = container.add_stream("mpeg4", rate=fps)
        frames.width, frames.height, frames.pix_fmt = *size, "yuv420p"
        track = container.add_stream("aac", rate=RATE, layout="mono") if sound else None
        for number in range(n):
            grey = np.full((size[1], size[0], 3), 20 + 200 * number // n, np.uint8)
            container.mux(frames.encode(av.VideoFrame.from_ndarray(grey, format="rgb24")))
        container.mux(frames.encode(None))
        if track is not None:
            tone = np.sin(np.arange(n * RATE // fps) / 20, dtype=np.float32)[None] * 0.5
            heard = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
            heard.sample_rate = RATE
            container.mux(track.encode(heard))
            container.mux(track.encode(None))
    return path
