"""Samples of sounds: files, arrays, channels, rates, and what is wrong with them."""

import io
import sys
import wave
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest

from polymeter.core.content import Audio
from polymeter.core.errors import DataError, PlanError
from polymeter.data import audio as module
from polymeter.data import make_rows
from polymeter.data.audio import duration_s, samples, wav_bytes

RATE = 16_000
TONE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)).astype(np.float32)


def wav(values, rate=RATE, width=2):
    """A PCM file of any width; ``values`` of shape ``(channels, n)`` between -1 and 1."""
    values = np.atleast_2d(values).T
    whole = np.clip(np.round(values * 2 ** (8 * width - 1)), -(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1)
    if width == 1:
        raw = (whole + 128).astype(np.uint8).tobytes()
    elif width == 3:
        raw = whole.astype("<i4").reshape(-1, 1).view(np.uint8)[:, :3].tobytes()
    else:
        raw = whole.astype(f"<i{width}").tobytes()
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(values.shape[1])
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(raw)
    return buffer.getvalue()


@pytest.fixture(params=["soundfile", "standard library"])
def reader(request, monkeypatch):
    """Each reader of WAV files in turn."""
    if request.param == "standard library":
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    else:
        pytest.importorskip("soundfile")
    return request.param


@pytest.mark.parametrize(("width", "tolerance"), [(1, 2**-7), (2, 2**-15), (3, 2**-20), (4, 2**-20)])
def test_pcm_files_of_every_width(reader, width, tolerance):
    found, rate = samples(wav(TONE, width=width))
    assert (found.dtype, found.shape, rate) == (np.float32, (RATE,), RATE)
    np.testing.assert_allclose(found, TONE, atol=tolerance)


def test_channels_are_kept_or_mixed_down_by_their_mean(reader, tmp_path):
    (tmp_path / "two.wav").write_bytes(wav([TONE, np.zeros_like(TONE)]))
    both, _ = samples(tmp_path / "two.wav", mono=False)
    assert both.shape == (2, RATE)
    np.testing.assert_allclose(samples(str(tmp_path / "two.wav"))[0], TONE / 2, atol=1e-4)


@pytest.mark.parametrize("rate", [8_000, 22_050, 44_100])
def test_resampling_is_polyphase(rate):
    from scipy.signal import resample_poly

    found, got = samples({"array": TONE, "sampling_rate": RATE}, rate=rate)
    assert (got, found.dtype, len(found)) == (rate, np.float32, -(-RATE * rate // RATE))
    np.testing.assert_allclose(found, resample_poly(TONE.astype(float), rate, RATE), atol=1e-5)
    expected = 0.5 * np.sin(2 * np.pi * 440 * np.arange(len(found)) / rate)
    np.testing.assert_allclose(found[200:-200], expected[200:-200], atol=2e-3)
    assert samples({"array": TONE, "sampling_rate": RATE}, rate=RATE)[1] == RATE


def test_arrays_of_any_type_and_shape():
    whole = np.array([[0, 16384, -32768], [0, 0, 0]], np.int16)
    for array in (whole, whole.T):
        found, _ = samples(
            {"array": array if array is whole else np.repeat(array, 1, axis=0), "sampling_rate": 8}, mono=False
        )
        np.testing.assert_array_equal(found[0], [0, 0.5, -1])
    assert samples(Audio({"array": [0.0, 0.25], "sampling_rate": 4}))[0].tolist() == [0.0, 0.25]
    assert samples({"array": np.array([128, 255, 0], np.uint8), "sampling_rate": 4})[0].tolist() == [0, 127 / 128, -1]


def test_cells_of_a_dataset():
    features = datasets.Features({"sound": datasets.Audio(sampling_rate=8_000)})
    table = pa.table({"sound": [{"bytes": wav([TONE, TONE]), "path": "x.wav"}]}, schema=features.arrow_schema)
    data = datasets.Dataset(table)
    found = make_rows(data, what="test").full_doc(0)["sound"]
    assert (found["sampling_rate"], found["path"], found["array"].shape) == (8_000, "x.wav", (8_000,))


def test_a_wav_file_made_here_reads_back():
    np.testing.assert_allclose(samples(wav_bytes(np.stack([TONE, -TONE]), RATE), mono=False)[0][1], -TONE, atol=2**-15)
    assert samples(wav_bytes(np.array([2.0, -2.0], np.float32), 8))[0].tolist() == [1 - 2**-15, -1.0]


def test_the_sound_of_a_video_and_of_compressed_files(tmp_path):
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "a.m4a"), "w", format="ipod") as file:
        stream = file.add_stream("aac", rate=RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(TONE[None], format="fltp", layout="mono")
        frame.sample_rate = RATE
        file.mux(stream.encode(frame))
        file.mux(stream.encode())
    found, rate = samples(tmp_path / "a.m4a")
    assert rate == RATE
    assert abs(np.sqrt(np.mean(found**2)) - np.sqrt(np.mean(TONE**2))) < 0.02


def test_broken_sounds(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"'.*none.wav' does not exist"):
        samples(tmp_path / "none.wav")
    for data in (b"RIFF no sound", b"xyz" * 100):
        with pytest.raises(DataError, match="The file is broken, or not audio"):
            samples(data)
    for nothing in (b"", wav(np.zeros(0))):
        with pytest.raises(DataError, match="empty"):
            samples(nothing)
    with pytest.raises(DataError, match="no sampling_rate"):
        samples({"array": TONE})
    with pytest.raises(DataError, match="no audio in"):
        samples({"type": "audio"})
    with pytest.raises(DataError, match=r"shape \(1, 1, 2\)"):
        samples({"array": [[[1, 2]]], "sampling_rate": 1})
    with pytest.raises(ValueError, match="positive"):
        samples(wav(TONE), rate=0)
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(PlanError, match=r"\[audio\]"):
        samples(b"fLaC" + bytes(50))


def test_how_long_a_sound_lasts_is_read_from_its_header(tmp_path):
    pytest.importorskip("soundfile")
    data = wav_bytes(np.zeros(4000, np.float32), 8000)
    path = tmp_path / "a.wav"
    path.write_bytes(data)
    array = {"array": np.zeros((2, 4000)), "sampling_rate": 8000}
    assert [duration_s(Audio(source)) for source in (data, path, str(path), array)] == [0.5] * 4


@pytest.mark.parametrize(
    "source",
    [b"no sound", b"", "https://example.org/a.wav", Path("gone.wav"), {"array": [0.0], "sampling_rate": None}, 3],
)
def test_how_long_a_sound_lasts_may_be_unknown(source):
    assert duration_s(Audio(source)) is None
