"""Marks of the content of videos, by which files of frames are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from polymeter.interop.ulmeval.shim.vlmeval.video.frame_files import VideoFiles, content_state, without_unfinished


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for place in ("a.mp4", "star/v0.mp4", "move/v0.mp4", "deep/down/v1.webm", "frames/tv/1.jpg"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(place.encode() * 100_000)
    return tmp_path


@pytest.mark.parametrize("name", ["a", "a.mp4", "./a", "star/v0", "star/v0.mp4", "v1", "down/v1", "frames/tv"])
def test_a_video_is_found_by_every_name_that_benchmarks_have_for_it(name: str, root: Path) -> None:
    assert VideoFiles(root).mark(name, {})


def test_what_is_not_there_has_no_mark(root: Path) -> None:
    files = VideoFiles(root)
    assert files.mark("other", {}) == files.mark_of({"video": "other"}) == files.mark_of({}) == ""


def test_of_one_name_the_row_says_which(root: Path) -> None:
    files = VideoFiles(root)
    star, move = (files.mark("v0.mp4", {"prefix": f"./{place}", "question": "v0?"}) for place in ("star", "move"))
    assert len({star, move, files.mark("v0.mp4", {})}) == 3
    assert files.mark_of({"video": "v0", "video_path": "star/v0.mp4"}) == star


def test_parts_of_a_video_are_kept_apart_where_a_row_is_bound_to_one(root: Path) -> None:
    files = VideoFiles(root)
    parts = [{"video": "a", "bound": True, "start": start, "end": 9.0} for start in (1.0, 2.0)]
    whole = [{"video": "a", "bound": False, "start": start, "end": 9.0} for start in (1.0, 2.0)]
    assert len({files.mark_of(row) for row in parts}) == 2
    assert len({files.mark_of(row) for row in whole}) == 1


@pytest.mark.parametrize("place", [0, 700_000, -1])
def test_another_content_of_the_same_length_is_another_state(place: int, root: Path) -> None:
    file = root / "deep/down/v1.webm"
    before, data = content_state(file), bytearray(file.read_bytes())
    place = len(data) // 2 if place > 0 else place
    data[place] ^= 1
    file.write_bytes(data)
    assert content_state(file) != before


def test_files_that_were_not_written_whole_are_deleted(tmp_path: Path) -> None:
    whole, cut, other = (tmp_path / name for name in ("a.jpg", "b.jpg", "c.png"))
    whole.write_bytes(b"\xff\xd8 \xff\xd9")
    cut.write_bytes(b"\xff\xd8")
    other.write_bytes(b"")
    paths = [str(path) for path in (whole, cut, other, tmp_path / "none.jpg")]
    assert without_unfinished(paths) == paths
    assert (whole.is_file(), cut.is_file(), other.is_file()) == (True, False, True)
