"""Samples of audio: decoding, mixing down, and resampling.

Files are read with ``soundfile`` (the extra ``audio``); formats it does not support (AAC, the audio track of a video)
with PyAV (the extra ``video``) if that is installed. Plain PCM WAV needs neither.
"""

from __future__ import annotations

import io
import wave
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Audio
from polymeter.core.errors import DataError, PolymeterError, boundary
from polymeter.core.names.registry import missing_package
from polymeter.data.fetching.fetch import bytes_named_by_data

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AudioLike = Audio | Path | str | bytes | Mapping[str, Any]
ONLY_FILES = {"protocol_whitelist": "file,crypto,data"}
"""The protocols that FFmpeg may open for a medium: playlists may name addresses, which it would follow."""
_FULL_SCALE = 32768.0


def samples(audio: AudioLike, *, rate: int | None = None, mono: bool = True) -> tuple[NDArray[np.float32], int]:
    """The samples of audio and their rate.

    Integer samples are divided by their full scale, so that all lie between -1 and 1. Several channels are mixed down
    by their mean. Resampling is done by ``scipy.signal.resample_poly`` (polyphase, with its default Kaiser window),
    after mixing down; ``n`` samples become ``ceil(n * rate / original rate)``.

    Args:
        audio: A part, a path, encoded bytes, ``{"array", "sampling_rate"}`` (an array of shape ``(n,)``,
            ``(channels, n)`` or ``(n, channels)``: the shorter dimension is the channels), or a decoder of
            ``datasets``.
        rate: The desired rate in Hz; default: the original one.
        mono: Whether to mix several channels down.

    Returns:
        Samples of shape ``(n,)``, or ``(channels, n)`` if ``mono`` is off, and their rate in Hz.

    Raises:
        DataError: if the audio is missing, empty or broken.
        PlanError: if a package that its format needs is not installed.
        ValueError: if the rate is not positive.
    """
    if rate is not None and rate < 1:
        raise ValueError("The rate must be positive.")
    part = audio if isinstance(audio, Audio) else Audio(audio)
    array, own_rate = _decoded_sound(part)
    if not array.size:
        raise DataError(f"The audio {part.describe()} is empty.")
    if mono:
        array = array.mean(axis=0, dtype="float32")
    if rate is not None and rate != own_rate:
        from scipy.signal import resample_poly

        array, own_rate = resample_poly(array, rate, own_rate, axis=-1).astype("float32"), rate
    return array, own_rate


def duration_s(audio: Audio) -> float | None:
    """Return the length of audio in seconds, from its header; ``None`` if it lies elsewhere, or has no header that can
    be read here.
    """
    if audio.is_url:
        return None
    try:
        with boundary(DataError, "Reading the header of an audio file"):
            return _duration_s(audio.origin())
    except PolymeterError:
        return None


def _duration_s(source: Any) -> float:
    if isinstance(source, Mapping):
        array, rate = _of_array(source["array"], source.get("sampling_rate"), Audio(source))
        return float(array.shape[1] / rate)
    if hasattr(source, "get_all_samples"):
        return float(source.metadata.duration_seconds)
    import soundfile

    return float(soundfile.info(io.BytesIO(source) if isinstance(source, bytes) else str(source)).duration)


def wav_bytes(array: NDArray[np.float32], rate: int) -> bytes:
    """Samples of shape ``(n,)`` or ``(channels, n)``, clipped to -1 … 1, as a 16-bit WAV file."""
    import numpy as np

    channels = np.atleast_2d(array)
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(channels.shape[0])
        file.setsampwidth(2)
        file.setframerate(rate)
        scaled = np.clip(np.round(channels.T * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1)
        file.writeframes(scaled.astype("<i2").tobytes())
    return buffer.getvalue()


def _decoded_sound(part: Audio) -> tuple[NDArray[np.float32], int]:
    """Samples of shape ``(channels, n)``, and their rate."""
    source = part.origin()
    if isinstance(source, Mapping):
        return _of_array(source["array"], source.get("sampling_rate"), part)
    if hasattr(source, "get_all_samples"):
        with boundary(DataError, f"Decoding the audio {part.describe()}"):
            decoded = source.get_all_samples()
            return _of_array(decoded.data.numpy(), decoded.sample_rate, part)
    data: Any = source
    if isinstance(source, (Path, str)):
        data = bytes_named_by_data(str(source))
    if not isinstance(data, bytes):
        raise DataError(
            f"Cannot take samples from a {type(data).__name__}.", hint="Give a path, bytes, or an array with its rate."
        )
    if not data:
        raise DataError(f"The audio {part.describe()} is empty.")
    with boundary(DataError, f"Decoding the audio {part.describe()}", hint="The file is broken, or not audio."):
        return _of_file(data)


def _of_array(array: Any, rate: Any, part: Audio) -> tuple[NDArray[np.float32], int]:
    import numpy as np

    channels = np.atleast_2d(np.asarray(array))
    if not rate:
        raise DataError(f"The audio {part.describe()} has no sampling_rate.")
    if channels.ndim != 2 or channels.dtype.kind not in "iuf":
        raise DataError(
            f"The samples of {part.describe()} have shape {channels.shape} and type {channels.dtype}.",
            hint="Give numbers in one or two dimensions.",
        )
    if channels.shape[0] > channels.shape[1]:
        channels = channels.T
    if channels.dtype.kind in "iu":
        info = np.iinfo(channels.dtype)
        # Unsigned samples oscillate around the middle of their range, signed ones around 0.
        middle = (info.max + 1) / 2 if channels.dtype.kind == "u" else 0.0
        channels = (channels - middle) / (middle or float(info.max) + 1)
    return np.ascontiguousarray(channels, dtype=np.float32), int(rate)


def _of_file(data: bytes) -> tuple[NDArray[np.float32], int]:
    import numpy as np

    if find_spec("soundfile") is not None:
        import soundfile

        try:
            array, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
        except soundfile.LibsndfileError:
            if find_spec("av") is None:
                raise
            return _of_container(data)
        return np.ascontiguousarray(array.T), int(rate)
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        try:
            return _of_wav(data)
        except wave.Error as error:
            raise missing_package("soundfile", f"WAV files of another kind than PCM ({error})", "audio") from None
    if find_spec("av") is not None:
        return _of_container(data)
    raise missing_package("soundfile", "audio files other than WAV", "audio")


def _of_wav(data: bytes) -> tuple[NDArray[np.float32], int]:
    """Plain PCM, read with the standard library alone."""
    import numpy as np

    with wave.open(io.BytesIO(data)) as file:
        width, n_channels, rate = file.getsampwidth(), file.getnchannels(), file.getframerate()
        raw = file.readframes(file.getnframes())
    # A file that was cut off may end inside a sample.
    raw = raw[: len(raw) - len(raw) % (width * n_channels)]
    if width == 1:
        values = (np.frombuffer(raw, np.uint8).astype(np.float32) - 128) / 128
    elif width == 3:
        # NumPy has no 24-bit integers: they become the upper three bytes of 32-bit ones.
        padded = np.zeros((len(raw) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        values = padded.view("<i4").reshape(-1).astype(np.float64) / 2**31
    else:
        values = np.frombuffer(raw, f"<i{width}").astype(np.float64) / 2 ** (8 * width - 1)
    return np.ascontiguousarray(values.reshape(-1, n_channels).T, dtype=np.float32), rate


def _of_container(data: bytes) -> tuple[NDArray[np.float32], int]:
    """Any format that FFmpeg supports, also the audio track of a video."""
    import av
    import numpy as np

    with av.open(io.BytesIO(data), options=ONLY_FILES) as container:
        if not container.streams.audio:
            raise DataError("The file holds no audio.")
        stream = container.streams.audio[0]
        resampler = av.AudioResampler(format="fltp")
        pieces = [piece.to_ndarray() for frame in container.decode(stream) for piece in resampler.resample(frame)]
        pieces.extend(piece.to_ndarray() for piece in resampler.resample(None))
        rate = stream.codec_context.sample_rate
    if not pieces:
        raise DataError("The file holds no audio.")
    return np.concatenate(pieces, axis=1).astype(np.float32, copy=False), int(rate)
