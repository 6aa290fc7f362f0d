"""Draw the clips of the `demo_video` benchmarks and write them as a parquet file.

Run by hand, rarely: the file it writes is committed. Every clip draws its random numbers from (seed, index). The same
seed gives the same clips only with the same versions of Pillow, FreeType, PyAV and the fonts. It needs Pillow, numpy,
av, datasets and the fonts of this Debian package:

    apt-get install -y fonts-dejavu

Usage:

    python scripts/make_demo_video.py [--out src/polymeter/library/demo_video/data] [--seed 7]
"""

from __future__ import annotations

import argparse
import io
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

DEFAULT_OUT = Path(__file__).resolve().parents[1] / "src" / "polymeter" / "library" / "demo_video" / "data"
WORDS = [
    "ANCHOR",
    "BAKERY",
    "CANDLE",
    "DESERT",
    "ENGINE",
    "FOREST",
    "GARDEN",
    "HARBOUR",
    "ISLAND",
    "JACKET",
    "KITCHEN",
    "LADDER",
    "MARKET",
    "NEEDLE",
    "ORCHARD",
    "PENCIL",
    "QUARRY",
    "RIVER",
    "SADDLE",
    "TEMPLE",
    "UMBRELLA",
    "VALLEY",
    "WINDOW",
    "YELLOW",
]
N_CLIPS = 50
WIDTH, HEIGHT = 224, 224
FPS = 8

Row = dict[str, Any]
Colour = tuple[int, int, int]

CONDITIONS = ("cut", "brief", "fade", "slide", "blurred")
"""How words follow one another: at once, some for a moment only, one through the other, moving, out of focus."""


def label(rng: np.random.Generator, word: str, condition: str) -> Image.Image:
    """Return the word on a transparent layer of the size of a frame."""
    face = ImageFont.truetype("DejaVuSans-Bold.ttf", int(rng.integers(24, 31)))
    layer = Image.new("RGBA", (WIDTH, HEIGHT), (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    left, top, right, bottom = draw.textbbox((0, 0), word, font=face)
    x = rng.integers(6, WIDTH - 6 - (right - left)) - left
    y = rng.integers(6, HEIGHT - 6 - (bottom - top)) - top
    red, green, blue = rng.integers(0, 90, 3).tolist()
    draw.text((int(x), int(y)), word, font=face, fill=(red, green, blue, 255))
    return layer.filter(ImageFilter.GaussianBlur(float(rng.uniform(1.5, 3.2)))) if condition == "blurred" else layer


def weights(times: np.ndarray, start: float, end: float, overlap: float) -> np.ndarray:
    """Return how visible a word is in each frame, from 0 to 1: it fades in and out over a time around its limits."""
    if not overlap:
        return np.asarray((times >= start) & (times < end), float)
    rise, fall = (times - start) / overlap + 0.5, (end - times) / overlap + 0.5
    return np.clip(np.minimum(rise, fall), 0, 1)


def durations(rng: np.random.Generator, n: int, condition: str) -> np.ndarray:
    """Return how long each word is shown, in seconds."""
    lengths = rng.uniform(0.9, 1.4, n)
    if condition == "brief":
        lengths[rng.permutation(n)[: n // 2]] = rng.uniform(0.3, 0.6)
    return lengths


def frames(rng: np.random.Generator, words: list[str], condition: str) -> list[Image.Image]:
    """Return the frames of a clip that shows words one after another on a pale, grainy ground."""
    ends = np.cumsum(durations(rng, len(words), condition))
    starts = np.concatenate(([0.0], ends[:-1]))
    times = np.arange(0, ends[-1], 1 / FPS)
    labels = [label(rng, word, condition) for word in words]
    # The first word is there when the clip begins, and the last one when it ends.
    overlap = 0.7 if condition == "fade" else 0.0
    limits = zip([-9.0, *starts[1:]], [*ends[:-1], 9e9], strict=True)
    visible = np.array([weights(times, start, end, overlap) for start, end in limits])
    speed = rng.uniform(-40, 40, (len(words), 2)) if condition == "slide" else np.zeros((len(words), 2))
    ground = Image.fromarray(rng.integers(205, 245, (HEIGHT // 8, WIDTH // 8, 3), np.uint8)).resize((WIDTH, HEIGHT))
    drawn = []
    for number, time in enumerate(times):
        frame = ground.convert("RGBA")
        for which, layer in enumerate(labels):
            if visible[which, number]:
                shift = speed[which] * (time - starts[which])
                moved = layer.transform(layer.size, Image.Transform.AFFINE, (1, 0, -shift[0], 0, 1, -shift[1]))
                moved.putalpha(moved.getchannel("A").point(lambda alpha, w=visible[which, number]: int(alpha * w)))
                frame.alpha_composite(moved)
        drawn.append(frame.convert("RGB"))
    return drawn


def mp4(pictures: list[Image.Image]) -> bytes:
    """Return frames as an H.264 file."""
    import av

    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as file:
        stream = file.add_stream("libx264", rate=FPS, options={"crf": "30", "preset": "veryslow", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for picture in pictures:
            for packet in stream.encode(av.VideoFrame.from_image(picture)):
                file.mux(packet)
        for packet in stream.encode():
            file.mux(packet)
    return buffer.getvalue()


def clip(seed: int, index: int) -> Row:
    """Return one row: a clip, its words in order, and four orders to choose from."""
    rng = np.random.default_rng((seed, index))
    condition = CONDITIONS[index % len(CONDITIONS)]
    words = rng.choice(WORDS, int(rng.integers(3, 6)), replace=False).tolist()
    others = [order for order in permutations(words) if list(order) != words]
    choices = [words, *(others[place] for place in rng.permutation(len(others))[:3])]
    order = rng.permutation(4)
    return {
        "id": f"words-{index:02}",
        "video": {"bytes": mp4(frames(rng, words, condition)), "path": f"{index:02}.mp4"},
        "words": " ".join(words),
        "choices": [", ".join(choices[place]) for place in order],
        "letter": "ABCD"[order.tolist().index(0)],
        "condition": condition,
    }


def main() -> int:
    """Write `<out>/words.parquet`."""
    import datasets
    import pyarrow
    from pyarrow import parquet

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    text = datasets.Value("string")
    columns = datasets.Features(
        {
            "id": text,
            "video": datasets.Video(),
            "words": text,
            "choices": datasets.List(text),
            "letter": text,
            "condition": text,
        }
    )
    rows = [clip(arguments.seed, index) for index in range(N_CLIPS)]
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "words.parquet"
    # Written by Arrow: `datasets` hands clips to another package before it stores them, encoded or not.
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=columns.arrow_schema), path)
    print(f"{path}: {len(rows)} clips, {path.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
