"""How fast frames of videos and images are decoded, beside the plainest code that does it.

Each way runs in a process of its own, on one core and on two, in turn. Ratios of processor time hold on a busy machine
too; those of wall time need a calm one.

Usage: ``python -m benchmarks --only media``.
"""

from __future__ import annotations

import io
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.book import Book
from benchmarks.measure import Measured, measure

N_SECONDS, N_REPEATS, N_HOUR = 20, 30, 180
FPS = 30
N_JPEGS = 2_000
N_ROUNDS = 3
_SIZE = (1280, 720)
_PIXELS = 128 * 28 * 28
_HOUR_FRAMES, _HOUR_PIXELS = 768, 20_480 * 28 * 28
"""The limits of Qwen2-VL's processor: of one frame (its lower one), and of a video."""
_GOP = "250"


def measure_media(folder: Path, book: Book) -> None:
    """Frames of a video of ten minutes and of an hour, and 2,000 JPEGs."""
    home = folder / "media"
    home.mkdir()
    short = write_video(home / "short.mp4")
    video = repeat(short, home / "video.mp4", N_REPEATS)
    hour = repeat(short, home / "hour.mp4", N_HOUR)
    n_frames = N_SECONDS * N_REPEATS * FPS
    for what, arguments in (("64 frames", ("even", "64")), ("a frame per second", ("rate", "1"))):
        for n_cores in (1, min(2, len(os.sched_getaffinity(0)))):
            runs = _in_turn(("plain_frames", "our_frames"), (str(video), *arguments), n_cores, home)
            plain, ours = _median(runs["plain_frames"]), _median(runs["our_frames"])
            told = (
                f"{n_frames / ours.wall_s:,.0f} of its frames/s, {plain.wall_s / ours.wall_s:.2f} x a plain loop "
                f"({plain.cpu_s / ours.cpu_s:.2f} x by CPU), {ours.peak_mb:.0f} MB"
            )
            budget = f"at least {0.95 if n_cores == 1 else 1.6} x"
            book.line(f"video frames per second: {what}, {n_cores} core(s)", told, budget, runs["our_frames"])
    peak = _run("our_hour", (str(hour),), 2, home)
    book.line(
        f"{_HOUR_FRAMES} frames of an hour", f"{peak.wall_s:.1f} s, {peak.peak_mb:.0f} MB", "at most 400 MB", [peak]
    )
    write_jpegs(home / "jpegs")
    n_cores = min(2, len(os.sched_getaffinity(0)))
    images = _in_turn(("plain_images", "our_images"), (str(home / "jpegs"),), n_cores, home)
    plain, ours = _median(images["plain_images"]), _median(images["our_images"])
    told = f"{ours.wall_s:.2f} s, {ours.wall_s / plain.wall_s:.2f} x ({ours.cpu_s / plain.cpu_s:.2f} x by CPU)"
    book.line("2,000 JPEGs for a local model vs one thread", told, "at most 1.2 x", images["our_images"])


def write_video(file: Path) -> Path:
    """Write a short 720p video of a pattern that moves, with B-frames."""
    import av
    import numpy as np

    blocks = np.random.default_rng(0).integers(0, 255, (90, 160, 3), dtype=np.uint8)
    pattern = np.kron(blocks, np.ones((8, 8, 1), np.uint8))
    with av.open(str(file), "w") as container:
        options = {"preset": "veryfast", "g": _GOP, "bf": "3", "crf": "28"}
        stream: Any = container.add_stream("libx264", rate=FPS, options=options)
        stream.width, stream.height = _SIZE
        stream.pix_fmt = "yuv420p"
        for number in range(N_SECONDS * FPS):
            frame = av.VideoFrame.from_ndarray(np.roll(pattern, number * 3 % _SIZE[0], axis=1), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file


def repeat(short: Path, file: Path, times: int) -> Path:
    """Write a video several times one after the other, without encoding it again."""
    import av

    with av.open(str(short)) as source, av.open(str(file), "w") as container:
        stream = source.streams.video[0]
        made: Any = container.add_stream_from_template(stream)
        unit = Fraction(stream.time_base or 1)
        packets = [packet for packet in source.demux(stream) if packet.size]
        for number in range(times):
            for packet in packets:
                copy: Any = av.Packet(bytes(packet))
                shift = int(number * N_SECONDS / unit)
                copy.pts, copy.dts = packet.pts + shift, packet.dts + shift
                copy.duration, copy.time_base, copy.stream = packet.duration, unit, made
                copy.is_keyframe = packet.is_keyframe
                container.mux(copy)
    return file


def write_jpegs(folder: Path) -> None:
    """Write JPEGs of 640x480 pixels."""
    import numpy as np
    from PIL import Image

    folder.mkdir()
    chance = np.random.default_rng(1)
    for number in range(N_JPEGS):
        small = Image.fromarray(chance.integers(0, 255, (30, 40, 3), dtype=np.uint8))
        small.resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{number:04}.jpg", quality=90)


def our_frames(file: str, rule: str, amount: str) -> None:
    """Frames by a rule, as models get them."""
    from polymeter.core.content import Video
    from polymeter.data.showing import shown_video

    shown_video(Video(file), _rule(rule, amount))


def plain_frames(file: str, rule: str, amount: str) -> None:
    """The same frames by decoding all of them in turn."""
    import av

    n_frames = N_SECONDS * N_REPEATS * FPS
    step = n_frames / int(amount) if rule == "even" else FPS / float(amount)
    wanted = {int(number * step) for number in range(int(n_frames / step))}
    rule_size = _scaled_size() if rule == "rate" else None
    kept = []
    with av.open(file) as container:
        for number, frame in enumerate(container.decode(video=0)):
            if number in wanted:
                image = frame.to_ndarray(format="rgb24")
                kept.append(image if rule_size is None else _resized(image, rule_size))


def our_hour(file: str) -> None:
    """Many frames of an hour."""
    from polymeter.core.content import Video
    from polymeter.core.media.showing import VideoRule
    from polymeter.data.showing import shown_video

    shown_video(Video(file), VideoRule(frames=_HOUR_FRAMES, total_pixels=_HOUR_PIXELS))


def our_images(folder: str) -> None:
    """Images as models on this machine get them, on as many threads as there are cores."""
    from polymeter.core.content import Image
    from polymeter.core.media.showing import ImageRule
    from polymeter.data.showing import shown_image

    def show(path: Path) -> None:
        shown_image(Image(path), ImageRule())

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        for _ in threads.map(show, sorted(Path(folder).iterdir())):
            pass


def plain_images(folder: str) -> None:
    """The same by Pillow, one after the other."""
    from PIL import Image

    for path in sorted(Path(folder).iterdir()):
        Image.open(io.BytesIO(path.read_bytes())).convert("RGB")


def _rule(rule: str, amount: str) -> Any:
    from polymeter.core.media.showing import VideoRule

    if rule == "even":
        return VideoRule(frames=int(amount))
    return VideoRule(rule="rate", fps=float(amount), max_pixels=_PIXELS)


def _scaled_size() -> tuple[int, int]:
    from polymeter.data.showing.sizes import shown_size

    return shown_size(*_SIZE, max_pixels=_PIXELS)


def _resized(image: Any, size: tuple[int, int]) -> Any:
    from PIL import Image

    return Image.fromarray(image).resize(size, Image.Resampling.LANCZOS)


def _in_turn(ways: Sequence[str], arguments: Sequence[str], n_cores: int, folder: Path) -> dict[str, list[Measured]]:
    runs: dict[str, list[Measured]] = {way: [] for way in ways}
    for _ in range(N_ROUNDS):
        for way in ways:
            runs[way].append(_run(way, arguments, n_cores, folder))
    return runs


def _run(way: str, arguments: Sequence[str], n_cores: int, folder: Path) -> Measured:
    return measure([sys.executable, "-m", "benchmarks.media", str(n_cores), way, *arguments], cwd=folder, env=_PATH)


def _median(runs: Sequence[Measured]) -> Measured:
    return Measured(*(statistics.median(getattr(run, name) for run in runs) for name in ("wall_s", "cpu_s", "peak_mb")))


_ROOT = Path(__file__).parents[1]
_PATH = {"PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))}
_WAYS: dict[str, Callable[..., None]] = {
    way.__name__: way for way in (our_frames, plain_frames, our_hour, our_images, plain_images)
}

if __name__ == "__main__":
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])
    _WAYS[sys.argv[2]](*sys.argv[3:])
