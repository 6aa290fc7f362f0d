"""Videos as models are shown them: parts, sizes, sound, what is recorded, and bad input."""

import io
import struct
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as pil

from polymeter.core.content import Video
from polymeter.core.errors import DataError
from polymeter.core.media.showing import AudioRule, VideoRule, merged
from polymeter.data.audio import wav_bytes
from polymeter.data.showing import shown_video
from polymeter.data.showing.rules import choose_frames, segment_of

av = pytest.importorskip("av")
from tests.helpers.drawn_videos import encode, number_of, picture  # noqa: E402  (it needs PyAV)

OWN = VideoRule(frames=8)
SIZE = (64, 48)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Five seconds, ten frames a second, frames out of order, and four seconds of sound."""
    path = tmp_path_factory.mktemp("shown") / "clip.mp4"
    return str(encode(path, 50, Fraction(10), SIZE, options={"g": "7", "bf": "3"}, sound_s=4.0))


def shown_numbers(shown):
    return [number_of(frame) for frame in shown.frames]


# --- rules -----------------------------------------------------------------------------------------------------------


def chosen(rule, count=100, rate=10, **part):
    times = [Fraction(number, rate) for number in range(count)]
    return choose_frames(segment_of(times, Fraction(count, rate), **part), rule)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (VideoRule(rule="cut", frames=4), [0, 33, 66, 99]),
        (VideoRule(rule="cut", frames=1), [0]),
        (VideoRule(rule="inner", frames=3), [25, 50, 75]),
        (VideoRule(rule="rate", fps=0.5), [0, 20, 40, 60, 80]),
        (VideoRule(rule="rate", fps=0.01), [0]),
        (VideoRule(rule="rate", fps=1, max_frames=4), [0, 25, 50, 75]),
        (VideoRule(rule="rate", fps=0.7, multiple_of=2), [0, 16, 33, 50, 66, 83]),
        (VideoRule(rule="even", fps=0.7, multiple_of=2), [0, 20, 40, 59, 79, 99]),
        (VideoRule(fps=2, frames=3), [0, 50, 99]),
        (VideoRule(fps=2, max_frames=3), [0, 50, 99]),
        (VideoRule(rule="dense_end", frames=5), [0, 43, 74, 93, 99]),
        (VideoRule(rule="dense_end", frames=1), [99]),
        (VideoRule(frames=7, multiple_of=4), [0, 33, 66, 99]),
        (VideoRule(frames=2, multiple_of=4), [0, 33, 66, 99]),
    ],
)
def test_numbers_of_each_rule(rule, expected):
    assert chosen(rule).numbers == expected


def test_a_part_of_a_video_counts_as_a_whole_one():
    part = {"start_s": 2.0, "end_s": 4.0}
    assert chosen(VideoRule(rule="cut", frames=4), **part).numbers == [20, 26, 32, 39]
    assert chosen(VideoRule(rule="inner", frames=3), **part).numbers == [25, 30, 35]
    assert chosen(VideoRule(rule="rate", fps=2), **part).numbers == [20, 25, 30, 35]
    assert chosen(VideoRule(rule="dense_end", frames=2), **part).numbers == [20, 39]


def test_too_few_frames_are_counted():
    few = {"count": 5}
    for rule in ("even", "cut", "dense_end"):
        found = chosen(VideoRule(rule=rule, frames=8), **few)
        assert (found.numbers, found.n_wanted, found.has_fewer) == ([0, 1, 2, 3, 4], 8, True)
        assert chosen(VideoRule(rule=rule, frames=8, multiple_of=2), **few).numbers[-1] == 4
        assert len(chosen(VideoRule(rule=rule, frames=8, multiple_of=2), **few).numbers) == 4
        assert chosen(VideoRule(rule=rule, frames=2, multiple_of=2), count=1).numbers == [0]
    repeated = chosen(VideoRule(rule="inner", frames=8), **few)
    assert (repeated.numbers, repeated.has_fewer) == ([0, 1, 1, 2, 2, 3, 3, 4], True)
    assert not chosen(VideoRule(rule="inner", frames=5), **few).has_fewer


@settings(deadline=None)
@given(
    st.sampled_from(["even", "cut", "inner", "rate", "dense_end"]),
    st.integers(1, 300),
    st.integers(1, 40),
    st.one_of(st.none(), st.floats(0.05, 30)),
    st.integers(1, 4),
)
def test_numbers_ascend_within_the_video(rule, count, n, fps, multiple):
    if rule == "rate" and fps is None:
        fps = 1.0
    found = chosen(VideoRule(rule=rule, frames=n, fps=fps, multiple_of=multiple), count=count)
    assert found.numbers == sorted(found.numbers)
    assert found.numbers[0] >= 0
    assert found.numbers[-1] < count
    assert found.n_wanted % multiple == 0
    if rule in ("cut", "dense_end"):
        assert (
            len(set(found.numbers)) == len(found.numbers) == min(found.n_wanted, count - count % multiple or count)
            or found.n_wanted <= count
        )
    if rule in ("inner", "rate"):
        assert len(found.numbers) == found.n_wanted


def test_a_number_and_a_rate_are_one_choice():
    own = VideoRule(frames=8, max_pixels=1000)
    assert merged(own, VideoRule(rule="rate", fps=1)) == VideoRule(rule="rate", fps=1, max_pixels=1000)
    assert merged(VideoRule(fps=2, max_frames=768), VideoRule(frames=4)) == VideoRule(frames=4, max_frames=768)
    assert merged(own, VideoRule(rule="cut")) == VideoRule(rule="cut", frames=8, max_pixels=1000)


# --- what is shown and recorded --------------------------------------------------------------------------------------


def test_the_record_says_what_was_shown(clip):
    video = Video(clip, rule=VideoRule(rule="cut", frames=3))
    shown = shown_video(video, OWN)
    assert shown_numbers(shown) == [0, 24, 49]
    assert (shown.times, shown.sound) == ([0.0, 2.4, 4.9], None)
    sent = video.sent
    assert (sent.source, sent.rule, sent.n_wanted, sent.notes) == (clip, {"rule": "cut", "frames": 3}, None, ())
    assert sent.before == {"width": 64, "height": 48, "duration_s": 5.0, "fps": 10.0, "frames": 50}
    assert sent.sent == {"width": 64, "height": 48, "frames": 3, "format": "pixels"}
    assert (sent.numbers, sent.times) == ((0, 24, 49), (0.0, 2.4, 4.9))
    again, other = Video(clip, rule=video.rule), Video(clip, rule=VideoRule(rule="cut", frames=2))
    shown_video(again, OWN)
    shown_video(other, OWN)
    assert again.sent.digest == sent.digest != other.sent.digest


def test_frames_are_scaled_in_proportion(clip):
    video = Video(clip, rule=VideoRule(frames=4, total_pixels=4 * 768))
    assert {frame.size for frame in shown_video(video, OWN).frames} == {(32, 24)}
    assert (video.sent.before["width"], video.sent.sent["width"], video.sent.sent["height"]) == (64, 32, 24)
    video = Video(clip, rule=VideoRule(min_pixels=4 * 64 * 48))
    assert shown_video(video, OWN).frames[0].size == (128, 96)
    assert shown_video(Video(clip), VideoRule(frames=2, max_pixels=768)).frames[0].size == (32, 24)


def test_a_limit_below_one_pixel_a_frame_leaves_one(clip):
    shown = shown_video(Video(clip, rule=VideoRule(frames=4, total_pixels=3)), OWN)
    assert [frame.size for frame in shown.frames] == [(1, 1)] * 4


def test_only_one_frame_is_held_at_its_own_size(clip, monkeypatch):
    from polymeter.data.showing import videos

    sizes = []
    scaled = videos.scaled
    monkeypatch.setattr(videos, "scaled", lambda image, size: (sizes.append(image.size), scaled(image, size))[1])
    shown = shown_video(Video(clip), VideoRule(frames=20, max_pixels=300))
    assert sizes == [SIZE] * 20
    assert {frame.size for frame in shown.frames} == {(20, 15)}


def test_fewer_frames_than_asked_for_are_recorded(clip):
    video = Video(clip, start_s=1.0, end_s=1.3)
    assert shown_numbers(shown_video(video, OWN)) == [10, 11, 12]
    assert video.sent.n_wanted == 8
    video = Video(clip, start_s=1.0, end_s=1.3, rule=VideoRule(rule="inner", frames=6))
    assert shown_numbers(shown_video(video, OWN)) == [10, 10, 11, 11, 12, 12]
    assert video.sent.n_wanted == 6
    assert "some are shown repeatedly" in video.sent.notes[0]


def test_frames_shown_another_number_of_times_have_another_digest(clip):
    videos = [
        Video(clip, start_s=1.0, end_s=1.3, rule=VideoRule(rule="inner", frames=frames)) for frames in (5, 7, 8, 5)
    ]
    for video in videos:
        shown_video(video, OWN)
    assert {number for video in videos for number in video.sent.numbers} == {10, 11, 12}
    assert len({video.sent.digest for video in videos}) == 3


def test_frames_that_somebody_has_decoded():
    frames = [pil.fromarray(picture(number, SIZE)) for number in range(9)]
    video = Video(frames, rule=VideoRule(rule="inner", frames=2))
    assert shown_numbers(shown_video(video, OWN)) == [3, 6]
    assert (video.sent.before, video.sent.times) == ({"width": 64, "height": 48, "frames": 9}, ())
    with pytest.raises(DataError, match="have no times"):
        shown_video(Video(frames, rule=VideoRule(fps=1)), OWN)
    with pytest.raises(DataError, match="has no frames"):
        shown_video(Video([]), OWN)


# --- its sound -------------------------------------------------------------------------------------------------------


def test_the_track_comes_in_time_with_the_frames(clip):
    video = Video(clip, rule=VideoRule(audio="track"))
    sound = shown_video(video, OWN).sound
    assert sound.rate == 16000
    assert abs(sound.samples.shape[0] / sound.rate - 4) < 0.1
    assert video.sent.notes == (
        f"Its sound ends after {sound.samples.shape[0] / 16000:.2f} s, its frames after 5.00 s.",
    )
    assert video.sent.sent["sound"]["channels"] == 1
    part = shown_video(Video(clip, start_s=1.0, end_s=2.0, rule=video.rule), OWN).sound
    assert part.samples.shape == (16000,)
    np.testing.assert_allclose(part.samples, sound.samples[16000:32000], atol=0.02)
    heard = Video(clip, rule=video.rule)
    half = shown_video(heard, OWN, AudioRule(rate=8000, channels=2)).sound
    assert (half.samples.shape, half.rate) == ((2, -(-sound.samples.shape[0] // 2)), 8000)
    assert {"rate": 8000, "channels": 2}.items() <= heard.sent.sent["sound"].items()
    late = Video(clip, start_s=4.5, rule=video.rule)
    assert shown_video(late, OWN).sound is None
    assert late.sent.notes == ("Its sound ends before this part.",)


def test_silence_stands_before_a_track_that_begins_later(tmp_path):
    path = tmp_path / "late.mkv"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        track = file.add_stream("pcm_s16le", rate=16000, layout="mono")
        for number in range(30):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(picture(number, SIZE), format="rgb24")))
        file.mux(stream.encode())
        block = av.AudioFrame.from_ndarray(np.full((1, 16000), 8000, np.int16), format="s16", layout="mono")
        block.sample_rate, block.pts = 16000, 16000
        file.mux(track.encode(block))
        file.mux(track.encode())
    sound = shown_video(Video(str(path)), VideoRule(frames=2, audio="track")).sound
    assert sound.samples.shape == (32000,)
    assert not sound.samples[:16000].any()
    assert sound.samples[16000:].all()


@pytest.fixture
def long(tmp_path):
    """A minute with a track of 48 kHz in two channels: a tone, and silence."""
    seconds, rate = 60, 48_000
    with av.open(str(tmp_path / "long.mkv"), "w") as file:
        stream = file.add_stream("mpeg4", rate=1)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        track = file.add_stream("pcm_s16le", rate=rate, layout="stereo")
        for second in range(seconds):
            file.mux(stream.encode(av.VideoFrame(*SIZE, "yuv420p")))
            tone = np.sin(np.arange(second * rate, (second + 1) * rate) * 2 * np.pi * 440 / rate) * 16_000
            both = np.stack([tone, np.zeros(rate)], axis=1).astype("i2").reshape(1, -1)
            block = av.AudioFrame.from_ndarray(both, format="s16", layout="stereo")
            block.sample_rate, block.pts = rate, second * rate
            file.mux(track.encode(block))
        file.mux(stream.encode())
        file.mux(track.encode())
    return str(tmp_path / "long.mkv")


def peak_of(show):
    """What a function returns, and the most memory that Python and NumPy held in it."""
    tracemalloc.start()
    try:
        return show(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_of_a_track_only_the_shown_samples_are_held(long):
    rule = VideoRule(frames=1, audio="track")
    shown, peak = peak_of(lambda: shown_video(Video(long, rule=rule), OWN, AudioRule(rate=16_000, channels=1)))
    samples = shown.sound.samples
    assert (samples.shape, samples.dtype) == ((960_000,), np.float32)
    assert peak < 1.7 * samples.nbytes
    tone = np.sin(np.arange(960_000) * 2 * np.pi * 440 / 16_000) * 16_000 / 32_768 / 2  # the mean with silence
    np.testing.assert_allclose(samples[1000:-1000], tone[1000:-1000], atol=0.003)


def test_of_a_track_for_a_file_16_bits_are_held(long):
    rule = VideoRule(frames=1, audio="track")
    shown, peak = peak_of(lambda: shown_video(Video(long, rule=rule), OWN, as_integers=True))
    samples = shown.sound.samples
    assert (samples.shape, samples.dtype) == ((2, 2_880_000), np.int16)
    assert peak < 1.5 * samples.nbytes
    exact = shown_video(Video(long, rule=rule), OWN).sound
    assert wav_bytes(exact.samples, exact.rate) == wav_bytes(samples, shown.sound.rate)


def test_a_video_without_a_track_is_noted(tmp_path):
    video = Video(str(encode(tmp_path / "a.mp4", 5, Fraction(10), SIZE)), rule=VideoRule(audio="track"))
    assert shown_video(video, OWN).sound is None
    assert video.sent.notes == ("It has no sound.",)
    assert "sound" not in video.sent.sent


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [{"start_s": float("nan")}, {"end_s": float("nan")}, {"start_s": float("inf")}])
def test_a_part_without_a_moment_is_named(clip, part):
    with pytest.raises(DataError, match=r"has no moment at (nan|inf) s") as caught:
        shown_video(Video(clip, **part), OWN)
    assert "broken" not in (caught.value.hint or "")


def test_a_video_of_one_frame(tmp_path):
    path = str(encode(tmp_path / "one.mp4", 1, Fraction(25), SIZE))
    for rule in ("even", "cut", "dense_end"):
        video = Video(path, rule=VideoRule(rule=rule, frames=4))
        assert shown_numbers(shown_video(video, OWN)) == [0]
        assert video.sent.n_wanted == 4
    assert shown_numbers(shown_video(Video(path), VideoRule(rule="rate", fps=1))) == [0]


def test_a_file_that_states_no_duration(tmp_path):
    buffer = io.BytesIO()
    whole = encode(tmp_path / "a.mkv", 20, Fraction(10), SIZE)
    with av.open(str(whole)) as source, av.open(buffer, "w", format="matroska", options={"live": "1"}) as file:
        stream = file.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(video=0):
            if packet.size:
                packet.stream = stream
                file.mux(packet)
    with av.open(io.BytesIO(buffer.getvalue())) as container:
        assert container.duration is None
    video = Video(buffer.getvalue(), rule=VideoRule(rule="cut", frames=3))
    assert shown_numbers(shown_video(video, OWN)) == [0, 9, 19]
    assert video.sent.before["duration_s"] == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("ending", ["mp4", "mkv"])
def test_a_file_that_is_cut_off_is_an_error(tmp_path, ending):
    options = {"movflags": "faststart"} if ending == "mp4" else {}
    path = encode(tmp_path / f"a.{ending}", 60, Fraction(10), SIZE, options={"g": "10"}, container=options)
    data = path.read_bytes()
    with pytest.raises(DataError, match=r"cut off: it should last 6\.0 s"):
        shown_video(Video(data[: len(data) * 6 // 10]), OWN)


def test_a_file_that_is_broken_in_the_middle_is_an_error(tmp_path):
    path = encode(tmp_path / "a.mp4", 60, Fraction(10), SIZE, options={"g": "10"}, container={"movflags": "faststart"})
    data = path.read_bytes()
    middle = len(data) // 2
    broken = data[:middle] + bytes(800) + data[middle + 800 :]
    with pytest.raises(DataError, match="broken"):
        shown_video(Video(broken), VideoRule(frames=60))
    video = Video(broken, start_s=0, end_s=1.0)
    assert shown_numbers(shown_video(video, VideoRule(frames=10))) == list(range(10))


def test_a_header_that_states_another_length_is_not_believed(tmp_path):
    path = encode(tmp_path / "a.avi", 40, Fraction(10), SIZE, "mpeg4")
    data = bytearray(path.read_bytes())
    for place, count in ((data.find(b"avih") + 24, 400), (data.find(b"strh") + 40, 400)):
        data[place : place + 4] = struct.pack("<I", count)
    video = Video(bytes(data), rule=VideoRule(rule="cut", frames=3))
    assert shown_numbers(shown_video(video, OWN)) == [0, 19, 39]
    assert (video.sent.before["frames"], video.sent.before["stated_frames"]) == (40, 400)


def test_a_program_stream_is_decoded_from_its_beginning(tmp_path):
    path = encode(tmp_path / "a.mpg", 60, Fraction(25), (128, 96), "mpeg2video", {"bf": "2"})
    for numbers in ([3, 58], list(range(60))):
        rule = VideoRule(frames=len(numbers))
        part = Video(str(path), start_s=numbers[0] / 25, end_s=(numbers[-1] + 1) / 25)
        assert shown_numbers(shown_video(part, rule))[-1] == numbers[-1]
