"""``import decord`` of a guest, where the package is not installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from polymeter.core.errors import DataError
from polymeter.guests import contained, load_file
from polymeter.guests.loading import search_path
from polymeter.guests.reading.needed_packages import is_installed, packages_behind
from polymeter.guests.served import packages
from polymeter.guests.served.decord import VideoReader
from tests.helpers.drawn_videos import encode, number_of

pytestmark = pytest.mark.skipif(search_path.is_findable("decord"), reason="the package itself is installed")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("videos") / "a.mp4"
    return str(encode(path, 40, 20, (64, 48), options={"g": "8", "bf": "2"}))


def test_a_guest_imports_it_in_every_form_and_nobody_else_does(tmp_path: Path) -> None:
    file = tmp_path / "reads.py"
    file.write_text(
        "import decord\nfrom decord import VideoReader, cpu\nimport decord.bridge\n"
        "from decord.bridge import set_bridge\n"
        "def late():\n    import decord as other\n"
        "    return other is decord and decord.bridge.set_bridge is set_bridge\n"
    )
    with contained():
        module = load_file(file)
    assert module.late()
    assert module.VideoReader is module.decord.VideoReader is VideoReader
    assert not is_installed("decord")
    assert packages_behind([file]) == ()
    with pytest.raises(ModuleNotFoundError, match=r"no module 'decord\.nothing'"):
        packages.served_package("decord.nothing", ())


def test_frames_have_the_numbers_of_their_order_of_display(video: str) -> None:
    reader = VideoReader(video, num_threads=1)
    assert (len(reader), reader.get_avg_fps(), reader[0].shape) == (40, 20.0, (48, 64, 3))
    for place in (3, 17, 18, 39, 2, np.int64(8)):
        assert number_of(reader[place].asnumpy()) == place
    assert number_of(reader[-1]) == 39
    assert [number_of(frame) for frame in reader.get_batch([30, 4, 4]).asnumpy()] == [30, 4, 4]
    assert [number_of(frame) for frame in reader[10:20:4]] == [10, 14, 18]
    assert [number_of(frame) for frame in reader] == list(range(40))
    reader.seek(5)
    reader.skip_frames(2)
    assert number_of(reader.next()) == 7
    assert reader.get_key_indices()[0] == 0
    assert reader.get_frame_timestamp(2).tolist() == pytest.approx([0.1, 0.15])
    assert reader.get_frame_timestamp([0, 39]).shape == (2, 2)


def test_frames_can_be_scaled(video: str) -> None:
    assert VideoReader(video, width=32, height=16)[0].shape == (16, 32, 3)


def test_what_is_not_there_is_named(video: str, tmp_path: Path) -> None:
    with pytest.raises(IndexError, match="40 frames"):
        VideoReader(video)[40]
    with pytest.raises(DataError, match="does not exist"):
        VideoReader(tmp_path / "none.mp4")
    (tmp_path / "broken.mp4").write_bytes(b"none")
    with pytest.raises(DataError, match=r"."):
        VideoReader(tmp_path / "broken.mp4")
