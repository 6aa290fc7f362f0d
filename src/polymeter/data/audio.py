"""Samples of audio: decoding, mixing down, and resampling.

Files are read with ``soundfile`` (the extra ``audio``); formats it does not support (AAC, the audio track of a video)
with PyAV (the extra ``video``) if that is installed. Plain PCM WAV needs neither.
"""

from __future__ import annotations

import io
import struct
import wave
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polymeter.core.content import Audio
from polymeter.core.errors import DataError, MissingPackageError, PolymeterError, boundary
from polymeter.core.names.registry import missing_package
from polymeter.data.fetching.fetch import bytes_named_by_data

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AudioLike = Audio | Path | str | bytes | Mapping[str, Any]
Convert = Callable[["NDArray[np.float32]", int], "NDArray[Any]"]
"""A function from samples of shape ``(channels, n)`` and their rate in Hz to what is kept of them."""
ONLY_FILES = {"protocol_whitelist": "file,crypto,data"}
"""The protocols that FFmpeg may open for a medium: playlists may name addresses, which it would follow."""
_FULL_SCALE = 32768.0
_BLOCK = 1 << 16
"""Samples that are read or written at a time."""
_PCM = 1
"""The code of plain integers among the forms of WAV."""


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
    array, own_rate = decoded_sound(part)
    if not array.size:
        raise DataError(f"The audio {part.describe()} is empty.")
    if mono:
        array = array.mean(axis=0, dtype="float32")
    return resampled(array, own_rate, rate), rate or own_rate


def resampled(array: NDArray[np.float32], own_rate: int, rate: int | None) -> NDArray[np.float32]:
    """Samples of shape ``(n,)`` or ``(channels, n)`` at another rate, see ``samples``; ``None``: at their own."""
    if rate is None or rate == own_rate:
        return array
    from scipy.signal import resample_poly

    made: NDArray[np.float32] = resample_poly(array, rate, own_rate, axis=-1).astype("float32")
    return made


def facts(audio: Audio) -> dict[str, Any] | None:
    """Return what the header of audio states: ``rate`` in Hz, ``channels`` and ``seconds``; ``None`` if it lies
    elsewhere, or has no header that can be read here.
    """
    if audio.is_url:
        return None
    try:
        with boundary(DataError, "Reading the header of an audio file"):
            return _facts(audio.origin())
    except PolymeterError:
        return None


def duration_s(audio: Audio) -> float | None:
    """Return the length of audio in seconds, from its header; ``None`` as in ``facts``."""
    stated = facts(audio)
    return None if stated is None else stated["seconds"]


def _facts(source: Any) -> dict[str, Any]:
    if isinstance(source, Mapping):
        array, rate = _of_array(source["array"], source.get("sampling_rate"), Audio(source))
        return {"rate": rate, "channels": array.shape[0], "seconds": array.shape[1] / rate}
    if hasattr(source, "get_all_samples"):
        stated = source.metadata
        return {
            "rate": stated.sample_rate, "channels": stated.num_channels, "seconds": float(stated.duration_seconds)
        }  # fmt: skip
    import soundfile

    header = soundfile.info(io.BytesIO(source) if isinstance(source, bytes) else str(source))
    return {"rate": header.samplerate, "channels": header.channels, "seconds": float(header.duration)}


def as_int16(array: NDArray[np.float32]) -> NDArray[np.int16]:
    """Samples, clipped to -1 … 1, as 16-bit integers."""
    import numpy as np

    return np.clip(np.round(array * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1).astype("<i2")


def wav_blocks(array: NDArray[np.float32] | NDArray[np.int16], rate: int) -> Iterator[bytes]:
    """A 16-bit WAV file, piece by piece, so that an hour of sound is not held twice.

    Args:
        array: Samples of shape ``(n,)`` or ``(channels, n)``; decimal ones are clipped to -1 … 1.
        rate: Their rate in Hz.
    """
    import numpy as np

    channels = np.atleast_2d(array)
    n_channels, n_samples = channels.shape
    frame = 2 * n_channels
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, _PCM, n_channels, rate, rate * frame, frame, 16)
    n_bytes = frame * n_samples
    yield struct.pack("<4sI4s", b"RIFF", 36 + n_bytes, b"WAVE") + form + struct.pack("<4sI", b"data", n_bytes)
    for start in range(0, n_samples, _BLOCK):
        block = channels[:, start : start + _BLOCK].T
        yield (block if block.dtype.kind == "i" else as_int16(block)).astype("<i2").tobytes()


def wav_bytes(array: NDArray[np.float32] | NDArray[np.int16], rate: int) -> bytes:
    """The same in one piece."""
    return b"".join(wav_blocks(array, rate))


def decoded_sound(part: Audio, data: bytes | None = None, convert: Convert | None = None) -> tuple[NDArray[Any], int]:
    """Samples of shape ``(channels, n)``, and their rate in Hz.

    Args:
        part: The audio.
        data: Its encoded bytes, if they were read already.
        convert: Makes of decoded samples what is kept of them. A file is decoded and converted block by block then.

    Raises:
        DataError: if the audio is missing or broken.
        PlanError: if a package that its format needs is not installed.
    """
    source: Any = part.origin() if data is None else data
    if isinstance(source, Mapping):
        return _converted(*_of_array(source["array"], source.get("sampling_rate"), part), convert)
    if hasattr(source, "get_all_samples"):
        with boundary(DataError, f"Decoding the audio {part.describe()}"):
            decoded = source.get_all_samples()
            return _converted(*_of_array(decoded.data.numpy(), decoded.sample_rate, part), convert)
    data = bytes_named_by_data(str(source)) if isinstance(source, (Path, str)) else source
    if not isinstance(data, bytes):
        raise DataError(
            f"Cannot take samples from a {type(source).__name__}.",
            hint="Give a path, bytes, or an array with its rate.",
        )
    if not data:
        raise DataError(f"The audio {part.describe()} is empty.")
    with boundary(DataError, f"Decoding the audio {part.describe()}", hint="The file is broken, or not audio."):
        return _of_file(data, convert)


def _converted(array: NDArray[np.float32], rate: int, convert: Convert | None) -> tuple[NDArray[Any], int]:
    return (array if convert is None else convert(array, rate)), rate


def _of_array(array: Any, rate: Any, part: Audio) -> tuple[NDArray[np.float32], int]:
    import numpy as np

    channels = np.atleast_2d(np.asarray(array))
    hertz = _hertz(rate, part)
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
    return np.ascontiguousarray(channels, dtype=np.float32), hertz


def _hertz(rate: Any, part: Audio) -> int:
    if not rate:
        raise DataError(f"The audio {part.describe()} has no sampling_rate.")
    try:
        hertz = int(rate)
    except (TypeError, ValueError, OverflowError):
        hertz = 0
    if hertz < 1:
        raise DataError(
            f"The audio {part.describe()} has the sampling_rate {rate!r}.", hint="Give a number of samples per second."
        )
    return hertz


def _of_file(data: bytes, convert: Convert | None) -> tuple[NDArray[Any], int]:
    missing = missing_decoder(data)
    if missing is not None:
        raise missing
    if find_spec("soundfile") is not None:
        import soundfile

        try:
            return _of_soundfile(data, convert)
        except soundfile.LibsndfileError:
            if find_spec("av") is None:
                raise
            return _of_container(data, convert)
    return _converted(*_of_wav(data), convert) if _is_wav(data) else _of_container(data, convert)


def missing_decoder(data: bytes) -> MissingPackageError | None:
    """Return the error for the package that decoding a recording needs and that is not installed; ``None``: it needs no
    other one than those that are.

    Args:
        data: The bytes of its file.
    """
    if find_spec("soundfile") is not None:
        is_missing = _is_container(data) and find_spec("av") is None
        return missing_package("av", "sound in MP4, WebM and AAC files", "video") if is_missing else None
    if not _is_wav(data):
        is_missing = find_spec("av") is None
        return missing_package("soundfile", "audio files other than WAV", "audio") if is_missing else None
    try:
        wave.open(io.BytesIO(data)).close()
    except wave.Error as error:
        return missing_package("soundfile", f"WAV files of another kind than PCM ({error})", "audio")
    except EOFError:  # it is cut off, which decoding reports
        return None
    return None


def _is_wav(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE"


def _is_container(data: bytes) -> bool:
    """Return whether a file is of a kind that only PyAV reads: MP4, WebM, or plain AAC."""
    return data[4:8] == b"ftyp" or data.startswith((b"\x1aE\xdf\xa3", b"\xff\xf1", b"\xff\xf9"))


def _of_soundfile(data: bytes, convert: Convert | None) -> tuple[NDArray[Any], int]:
    import numpy as np
    import soundfile

    with soundfile.SoundFile(io.BytesIO(data)) as file:
        rate = int(file.samplerate)
        if convert is None:
            return np.ascontiguousarray(file.read(dtype="float32", always_2d=True).T), rate
        blocks = [convert(file.read(_BLOCK, dtype="float32", always_2d=True).T, rate)]
        while (block := file.read(_BLOCK, dtype="float32", always_2d=True)).size:
            blocks.append(convert(block.T, rate))
        return np.concatenate(blocks, axis=1), rate


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


def _of_container(data: bytes, convert: Convert | None) -> tuple[NDArray[Any], int]:
    """Any format that FFmpeg supports, also the audio track of a video."""
    import av
    import numpy as np

    with av.open(io.BytesIO(data), options=ONLY_FILES) as container:
        if not container.streams.audio:
            raise DataError("The file holds no audio.")
        decoded = decoded_blocks(container, container.streams.audio[0])
        blocks = [_converted(block.samples, block.rate, convert) for block in decoded]
    if not blocks:
        raise DataError("The file holds no audio.")
    return np.concatenate([array for array, _ in blocks], axis=1), blocks[0][1]


class SoundBlock(NamedTuple):
    """A piece of a track: when it begins, in seconds, if that is known; samples of shape ``(channels, n)``, and their
    rate in Hz.
    """

    time: float | None
    samples: NDArray[np.float32]
    rate: int


def decoded_blocks(container: Any, stream: Any, rate: int | None = None) -> Iterator[SoundBlock]:
    """The sound of a track in PyAV's container from where it stands, block by block.

    Args:
        container: The container.
        stream: The track.
        rate: The rate in Hz to which FFmpeg resamples it; default: its own.
    """
    import av

    resampler = av.AudioResampler(format="fltp", rate=rate)
    for frame in chain(container.decode(stream), (None,)):  # None: what the resampler still holds
        for block in resampler.resample(frame):
            yield SoundBlock(block.time, block.to_ndarray().astype("float32", copy=False), int(block.sample_rate))
