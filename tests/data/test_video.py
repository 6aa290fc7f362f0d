"""Frames of videos: which ones, that they are the right ones, and what is wrong with a file."""

import struct
import sys
from fractions import Fraction
from itertools import pairwise

import datasets
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.content import Video
from polymeter.core.errors import DataError, PlanError
from polymeter.data import make_rows
from polymeter.data.media import video_file
from polymeter.data.video import choose, frames, timed_frames
from polymeter.data.video_strip import strip

av = pytest.importorskip("av")
STEP = 5


def make_video(path, n=50, fps=10, codec="libx264", size=(64, 48), container=None, **options):
    """A video whose frame ``i`` is grey of level ``STEP * i``, so that a frame tells its number."""
    with av.open(str(path), "w", options=container or {}) as file:
        stream = file.add_stream(codec, rate=fps, options=options)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for i in range(n):
            picture = np.full((size[1], size[0], 3), STEP * i % 256, np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        file.mux(stream.encode())
    return path


def numbers(pictures):
    return [round(float(np.asarray(picture).mean()) / STEP) for picture in pictures]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Five seconds, ten frames a second, key frames every seven, with frames out of order."""
    return make_video(tmp_path_factory.mktemp("video") / "clip.mp4", g="7", bf="3")


# --- which frames ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        ({"n": 5}, [0, 12, 25, 37, 49]),
        ({"n": 2}, [0, 49]),
        ({"n": 1}, [24]),
        ({"n": 1000}, list(range(50))),
        ({"fps": 2}, list(range(0, 50, 5))),
        ({"fps": 0.5}, [0, 20, 40]),
        ({"fps": 20, "start_s": 4.8}, [48, 49]),
        ({"fps": 10, "start_s": 4.8}, [48, 49]),
        ({"fps": 1000}, list(range(50))),
        ({"fps": 1000, "n": 50}, list(range(50))),
        ({"fps": 1000, "n": 3}, [0, 25, 49]),
        ({"fps": 10, "n": 3}, [0, 25, 49]),
        ({"fps": 1, "n": 9}, [0, 10, 20, 30, 40]),
        ({"n": 3, "start_s": 1.3, "end_s": 2}, [13, 16, 19]),
        ({"n": 9, "start_s": 0.3, "end_s": 0.6}, [3, 4, 5]),
        ({"n": 9, "start_s": 1.35, "end_s": 1.5}, [13, 14]),
        ({"n": 2, "start_s": 4, "end_s": 99}, [40, 49]),
        ({"fps": 5, "start_s": 1.05, "end_s": 1.6}, [10, 12, 14]),
    ],
)
def test_frames_by_count_and_by_rate(clip, ask, expected):
    assert numbers(frames(clip, **ask)) == expected


def test_times_come_with_the_frames(clip):
    assert [time for time, _ in timed_frames(clip, fps=1, start_s=1.05)] == [1.0, 2.0, 3.0, 4.0]


def test_the_shown_part_belongs_to_the_video_and_arguments_win(clip):
    part = Video(str(clip), start_s=1.0, end_s=2.0)
    assert numbers(frames(part, n=2)) == [10, 19]
    assert numbers(frames(part, n=2, end_s=3.0)) == [10, 29]


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 60), st.integers(0, 40), st.integers(1, 60))
def test_sampling_by_count_is_even_and_keeps_both_ends(total, n, start, length):
    times = [Fraction(i, 10) for i in range(total)]
    end = Fraction(total, 10)
    first, last = start, min(start + length, total) - 1
    if first > last:
        with pytest.raises(DataError, match="shows nothing"):
            choose(times, end, n=n, start_s=start / 10, end_s=(start + length) / 10)
        return
    chosen = choose(times, end, n=n, start_s=start / 10, end_s=(start + length) / 10)
    assert len(chosen) == min(n, last - first + 1)
    assert chosen == sorted(set(chosen))
    if n > 1:
        assert (chosen[0], chosen[-1]) == (first, last)
    gaps = {b - a for a, b in pairwise(chosen)}
    assert max(gaps, default=0) - min(gaps, default=0) <= 1


def test_a_sampling_needs_a_positive_count_or_rate(clip):
    for ask in ({}, {"n": 0}, {"fps": 0}, {"fps": -1}):
        with pytest.raises(ValueError, match="n"):
            frames(clip, **ask)


# --- where they come from --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "codec"), [("a.mkv", "libx264"), ("a.webm", "libvpx-vp9"), ("a.webm", "libvpx"), ("a.ts", "libx264")]
)
def test_containers_and_codecs(tmp_path, name, codec):
    if codec not in av.codecs_available:
        pytest.skip(f"FFmpeg without {codec}")
    path = make_video(tmp_path / name, codec=codec)
    assert numbers(frames(path, n=50)) == list(range(50))
    assert numbers(frames(path, n=3, start_s=1.3, end_s=2)) == [13, 16, 19]


def test_bytes_and_stored_cells(clip):
    data = clip.read_bytes()
    for source in (data, Video({"bytes": data, "path": None}), video_file({"bytes": data, "path": "elsewhere.mp4"})):
        assert numbers(frames(source, n=2)) == [0, 49]
    assert video_file({"bytes": None, "path": str(clip)}) == str(clip)


def test_a_video_column(clip):
    features = datasets.Features({"video": datasets.Video()})
    cells = [{"path": str(clip), "bytes": None}, {"path": None, "bytes": clip.read_bytes()}]
    table = pa.table({"video": cells}, schema=features.arrow_schema)
    found = make_rows(datasets.Dataset(table), what="test")
    assert found.media == {"video": "video"}
    for index in range(2):
        assert numbers(frames(found.full_doc(index)["video"], n=2)) == [0, 49]


def test_frames_that_somebody_has_decoded():
    array = np.stack([np.full((4, 6, 3), STEP * i, np.uint8) for i in range(9)])
    assert numbers(frames(Video(array), n=3)) == [0, 4, 8]
    assert numbers(frames(Video([pil.fromarray(frame) for frame in array]), n=2)) == [0, 8]
    with pytest.raises(DataError, match="have no times"):
        frames(Video(array), fps=1)
    with pytest.raises(DataError, match="Cannot take frames from a dict"):
        frames(Video({"array": array}), n=1)


def test_a_phone_held_upright(clip):
    data = bytearray(clip.read_bytes())
    place = data.find(b"tkhd") + 44
    assert struct.unpack(">9i", data[place : place + 36])[0] == 65536
    data[place : place + 36] = struct.pack(">9i", 0, 65536, 0, -65536, 0, 0, 48 << 16, 0, 1 << 30)
    assert frames(bytes(data), n=1)[0].size == (48, 64)


def test_only_what_is_needed_is_decoded(tmp_path, monkeypatch):
    path = make_video(tmp_path / "long.mp4", n=1000, fps=30, g="25")
    from polymeter.data.video_container import Cursor

    decoded = []
    advance = Cursor._advance
    monkeypatch.setattr(Cursor, "_advance", lambda self: (decoded.append(1), advance(self))[1])
    frames(path, n=4)
    assert len(decoded) < 110


# --- what is wrong ---------------------------------------------------------------------------------------------------


def test_broken_files(clip, tmp_path):
    with pytest.raises(DataError, match=r"'.*none\.mp4' does not exist"):
        frames(tmp_path / "none.mp4", n=1)
    for data in (b"", b"no video at all" * 40, clip.read_bytes()[:2000]):
        with pytest.raises(DataError, match=r"The file is broken, or no video|holds no video"):
            frames(data, n=1)
    (tmp_path / "page.png").write_bytes(b"x")
    with pytest.raises(DataError, match=r"page\.png"):
        frames(tmp_path / "page.png", n=1)
    with pytest.raises(DataError, match=r"shows nothing from 7 s to 5 s.*5 s long"):
        frames(clip, n=1, start_s=7)
    with pytest.raises(DataError, match="There is no video"):
        frames(Video({"type": "video"}), n=1)


def test_a_file_that_is_cut_off_is_not_a_shorter_video(tmp_path):
    path = make_video(tmp_path / "whole.mp4", container={"movflags": "faststart"}, size=(320, 240), g="1", qp="1")
    data = path.read_bytes()
    with pytest.raises(DataError, match=r"cut off: it should last 5\.0 s"):
        frames(data[: len(data) // 2], n=1)


def test_without_the_package_its_extra_is_named(clip, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(PlanError, match=r"\[video\]"):
        frames(clip, n=1)


# --- a look at it ----------------------------------------------------------------------------------------------------


def test_a_strip_shows_a_few_frames(clip, monkeypatch):
    found = strip(Video(str(clip)))
    assert (found.width, found.height, found.duration_s) == (64, 48, 5.0)
    assert found.image.width > 3 * found.image.height
    frame_px = round(64 * found.image.height / 48)
    gap = {found.image.getpixel((frame_px + 2, row)) for row in range(0, found.image.height, 20)}
    assert all(min(colour) > 200 for colour in gap), "frames are apart"
    from polymeter.data import video_strip

    monkeypatch.setattr(video_strip, "_CHEAP_PIXELS", 0)
    assert strip(Video(str(clip))).image.size == found.image.size
    assert strip(Video(str(clip), start_s=0, end_s=0.5)).image.width < 300
