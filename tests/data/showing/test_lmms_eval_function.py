"""Frames of ``cut`` are those of lmms-eval's own functions, where its file is there: ``LMMS_LOAD_VIDEO`` names it
(``lmms_eval/models/model_utils/load_video.py`` of its wheel, which needs PyAV and NumPy alone).
"""

import importlib.util
import os

import numpy as np
import pytest

from polymeter.core.content import Video
from polymeter.core.media.showing import VideoRule
from polymeter.data.showing import shown_video

av = pytest.importorskip("av")
from tests.helpers.drawn_videos import draw  # noqa: E402  (it needs PyAV)

FILE = os.environ.get("LMMS_LOAD_VIDEO", "")
QUARTERS = {90: 3, 180: 2, 270: 1}
if not FILE:
    pytest.skip("LMMS_LOAD_VIDEO names no file", allow_module_level=True)


@pytest.fixture(scope="module")
def lmms_eval():
    spec = importlib.util.spec_from_file_location("lmms_load_video", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(200))
@pytest.mark.parametrize("n", [1, 8, 33])
def test_frames_are_those_of_lmms_eval(lmms_eval, tmp_path, seed, n):
    drawn = draw(tmp_path, seed, most=1_000)
    if drawn.has_true_count:
        theirs = lmms_eval.read_video(str(drawn.path), num_frm=n)
    elif n > 1:  # without a true count read_video shows every frame; this function counts them, and adds the last one
        with av.open(str(drawn.path)) as container:
            frames = lmms_eval.load_video_packet(container, n)
            theirs = [frame.to_ndarray(format="rgb24") for frame in frames]
    else:
        pytest.skip("lmms-eval has no function that shows one frame of such a file")
    shown = shown_video(Video(str(drawn.path), rule=VideoRule(rule="cut", frames=n)), VideoRule())
    upright = [np.rot90(frame, QUARTERS.get(drawn.rotation, 0)) for frame in theirs]
    assert len(shown.frames) == len(upright)
    for ours, frame in zip(shown.frames, upright, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), frame)
