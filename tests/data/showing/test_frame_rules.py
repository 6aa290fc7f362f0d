"""Frames of each rule are those of the tool that it is named for, by pixels, whatever the container says."""

from fractions import Fraction

import numpy as np
import pytest

from polymeter.core.content import Video
from polymeter.core.media.showing import VideoRule
from polymeter.data.showing import shown_video

av = pytest.importorskip("av")
from tests.helpers.drawn_videos import draw  # noqa: E402  (it needs PyAV)

QUARTERS = {90: 3, 180: 2, 270: 1}
N_QUICK, N_ALL = 36, 200


def every_frame(path, rotation):
    """All frames of a file as a plain loop decodes them, upright, and the rate: the one that the container states,
    unless its time stamps say otherwise.
    """
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        rate, unit = Fraction(stream.average_rate), stream.time_base
    arrays = [np.rot90(frame.to_ndarray(format="rgb24"), QUARTERS.get(rotation, 0)) for frame in frames]
    seconds = (frames[-1].pts - frames[0].pts + frames[-1].duration) * unit
    return arrays, rate if abs(len(arrays) / rate - seconds) < 1 / rate else len(arrays) / seconds


def lmms_eval_numbers(n_frames, n, fps, rate):
    if fps is not None:
        n = min(n, int(n_frames / rate * fps))
    return [int(number) for number in np.linspace(0, n_frames - 1, max(1, min(n, n_frames)), dtype=int)]


def vlmevalkit_numbers(n_frames, n=None, fps=None, rate=None):
    if fps is None:
        step = n_frames / (n + 1)
        return [int(i * step) for i in range(1, n + 1)]
    rate = float(rate)
    return [int(i * (rate / fps)) for i in range(int(n_frames / rate * fps))] or [0]


def asked(n_frames, rate):
    """Rules, and the numbers that the named tool would take."""
    for n in (1, 2, 8, 33):
        yield VideoRule(rule="cut", frames=n), lmms_eval_numbers(n_frames, n, None, rate)
        yield VideoRule(rule="inner", frames=n), vlmevalkit_numbers(n_frames, n)
        even = [i * Fraction(n_frames - 1, max(1, n - 1)) for i in range(n)] if n > 1 else [(n_frames - 1) // 2]
        halves_up = [int(number + Fraction(1, 2)) for number in even]
        yield VideoRule(rule="even", frames=n), halves_up if n < n_frames else list(range(n_frames))
    for fps in (0.7, 2.0, 6.0):
        yield VideoRule(rule="cut", frames=16, fps=fps), lmms_eval_numbers(n_frames, 16, fps, rate)
        yield VideoRule(rule="rate", fps=fps), vlmevalkit_numbers(n_frames, fps=fps, rate=rate)


def check(folder, seed, most):
    drawn = draw(folder, seed, most=most)
    frames, rate = every_frame(drawn.path, drawn.rotation)
    assert len(frames) == drawn.n_frames
    for rule, numbers in asked(drawn.n_frames, rate):
        video = Video(str(drawn.path), rule=rule)
        shown = shown_video(video, VideoRule(frames=8))
        assert list(video.sent.numbers) == numbers, (drawn, rule, rate)
        assert video.sent.before["frames"] == drawn.n_frames
        for number, image in zip(numbers, shown.frames, strict=True):
            np.testing.assert_array_equal(np.asarray(image), frames[number], err_msg=f"{drawn} {rule} {number}")


@pytest.mark.parametrize("seed", range(N_QUICK))
def test_frames_are_those_of_the_named_tool(tmp_path, seed):
    check(tmp_path, seed, most=120)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_QUICK, N_ALL))
def test_frames_of_more_videos(tmp_path, seed):
    check(tmp_path, seed, most=10_000 if seed == 60 else 3_000)
