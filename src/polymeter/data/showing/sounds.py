"""Recordings, and the tracks of videos, as models hear them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Audio, Video
from polymeter.core.errors import DataError, boundary
from polymeter.core.media.showing import AudioRule, stated
from polymeter.core.media.sources import sniff_audio_mime
from polymeter.core.records.shown_media import ShownMedium
from polymeter.data.audio import SoundBlock, as_int16, decoded_sound, facts, resampled, wav_blocks
from polymeter.data.showing.digests import new_sent_digest, sent_digest
from polymeter.data.showing.opened import OpenedVideo
from polymeter.data.showing.rules import Segment, effective

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SOUND_TYPES = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""The types of recordings that nearly every endpoint accepts, and their names."""
_JITTER_S = 0.1
"""Time stamps that are rounded to milliseconds make no holes."""


@dataclass(frozen=True, slots=True)
class ShownSound:
    """Samples of shape ``(n,)`` (one channel) or ``(channels, n)``, between -1 and 1 or 16-bit integers, and their rate
    in Hz.
    """

    samples: NDArray[np.float32] | NDArray[np.int16]
    rate: int


def shown_audio(audio: Audio, own: AudioRule) -> list[ShownSound]:
    """A recording as a model hears it: one sound, or several if the rule cuts it into chunks.

    Several channels are mixed down by their mean, and one is repeated, if another number is asked for. Resampling is
    that of ``polymeter.data.audio.samples``.

    Args:
        audio: The recording; its rule wins over ``own``.
        own: The model's settings.

    Raises:
        DataError: if it cannot be read, is empty, or is longer than the rule allows.
        PlanError: if a package that its format needs is not installed.
    """
    rule = effective(own, audio.rule)
    before, sounds, notes = _heard(audio, rule)
    hashed = new_sent_digest()
    for sound in sounds:
        hashed.update(f"{sound.rate}:{sound.samples.shape}:".encode())
        hashed.update(sound.samples.tobytes())
    _record(audio, rule, before, facts_of(sounds), hashed.hexdigest(), notes)
    return sounds


@dataclass(frozen=True, slots=True)
class SoundFile:
    """An encoded recording, as it is sent.

    Attributes:
        mime: Its MIME type.
        blocks: Returns its bytes, piece by piece.
    """

    mime: str
    blocks: Callable[[], Iterable[bytes]] = field(repr=False)

    @property
    def data(self) -> bytes:
        """All its bytes."""
        return b"".join(self.blocks())


def as_wav(sound: ShownSound) -> SoundFile:
    """A sound as a 16-bit WAV file, which is written when it is read."""
    return SoundFile("audio/wav", lambda: wav_blocks(sound.samples, sound.rate))


def encoded_audio(audio: Audio, own: AudioRule) -> list[SoundFile]:
    """A recording as an endpoint is sent it: one file, or several if the rule cuts it into chunks. A WAV or MP3 is
    sent unchanged if the rule changes nothing; others are 16-bit WAV.

    Args:
        audio: The recording; its rule wins over ``own``.
        own: The model's settings.

    Raises:
        DataError: if it cannot be read, is empty, or is longer than the rule allows.
        PlanError: if a package that its format needs is not installed.
    """
    rule = effective(own, audio.rule)
    data = audio.original_bytes()
    mime = sniff_audio_mime(data) if data is not None else None
    if data is not None and mime in SOUND_TYPES and not stated(rule):
        before = facts(audio) or {}
        sent = {**before, "format": SOUND_TYPES[mime], "bytes": len(data)}
        _record(audio, rule, before, sent, sent_digest(data), ())
        return [SoundFile(mime, lambda: (data,))]
    before, sounds, notes = _heard(audio, rule, data, as_integers=True)
    is_kept = mime in SOUND_TYPES and not notes and facts_of(sounds) == {**before, "format": "samples"}
    if data is not None and mime is not None and is_kept:
        made, word = [SoundFile(mime, lambda: (data,))], SOUND_TYPES[mime]
    else:
        made, word = [as_wav(sound) for sound in sounds], "wav"
    hashed, n_bytes = new_sent_digest(), 0
    for block in chain.from_iterable(file.blocks() for file in made):
        hashed.update(block)
        n_bytes += len(block)
    sent = {**facts_of(sounds), "format": word, "bytes": n_bytes}
    _record(audio, rule, before, sent, hashed.hexdigest(), notes)
    return made


def track_of(
    video: Video, opened: OpenedVideo, segment: Segment, heard: AudioRule, *, as_integers: bool = False
) -> ShownSound | None:
    """The sound of a part of a video, in time with the frames: silence stands before a track that begins later than the
    part. ``None``: it has none. It is resampled by FFmpeg, mixed and converted block by block: only the result is held.

    Args:
        video: The video.
        opened: The same, open.
        segment: The part.
        heard: The rate and the number of channels of the sound, if they are stated.
        as_integers: Whether the samples are 16-bit integers, for a file.

    Raises:
        DataError: if the track is broken.
    """
    if opened.track is None:
        return None
    begin, end = float(opened.begin + segment.start), float(opened.begin + segment.stop)
    track = _Track(begin, end, heard.channels, as_integers=as_integers)
    with boundary(DataError, f"Decoding the sound of {video.describe()}"):
        for block in opened.track(track.begin_s, heard.rate):
            if track.is_full(block):
                break
            track.add(block)
    return track.sound()


class _Track:
    """A part of a track, put together block by block, each at its time. Holes are filled with silence."""

    def __init__(self, begin_s: float, end_s: float, channels: int | None, *, as_integers: bool) -> None:
        self.begin_s = begin_s
        self._seconds = end_s - begin_s
        self._channels = channels
        self._type = "<i2" if as_integers else "<f4"
        self._data = bytearray()  # grows in place
        self._n_there = 0
        self._rate = 0

    def is_full(self, block: SoundBlock) -> bool:
        """Return whether a block lies behind the part."""
        return self._place(block) >= self._n_wanted(block)

    def add(self, block: SoundBlock) -> None:
        """Add what of a block lies in the part."""
        import numpy as np

        place = self._place(block)
        samples = block.samples[:, max(0, self._n_there - place) : max(0, self._n_wanted(block) - place)]
        if not samples.shape[1]:
            return
        self._channels = self._channels or len(samples)
        samples = _with_channels(samples, self._channels)
        made = as_int16(samples) if self._type == "<i2" else samples
        if place > self._n_there:
            self._data += bytes((place - self._n_there) * self._channels * made.itemsize)
        self._data += np.ascontiguousarray(made.T, dtype=self._type).tobytes()
        self._n_there = max(place, self._n_there) + samples.shape[1]
        self._rate = block.rate

    def sound(self) -> ShownSound | None:
        """The samples up to the end of the track; ``None``: nothing of it lies in the part."""
        import numpy as np

        if not self._data:
            return None
        samples = np.frombuffer(self._data, self._type).reshape(-1, self._channels or 1).T
        return ShownSound(samples[0] if len(samples) == 1 else samples, self._rate)

    def _n_wanted(self, block: SoundBlock) -> int:
        return max(1, round(self._seconds * block.rate))

    def _place(self, block: SoundBlock) -> int:
        """The number of a block's first sample in the part; below 0 if it begins before it."""
        if block.time is None:
            return self._n_there
        place = round((block.time - self.begin_s) * block.rate)
        is_next = bool(self._data) and abs(place - self._n_there) < _JITTER_S * block.rate
        return self._n_there if is_next else place


def facts_of(sounds: Sequence[ShownSound]) -> dict[str, Any]:
    """The part of a record for sounds that were sent as samples."""
    first = sounds[0]
    n_samples = sum(sound.samples.shape[-1] for sound in sounds)
    channels = 1 if first.samples.ndim == 1 else first.samples.shape[0]
    facts = {"rate": first.rate, "channels": channels, "seconds": n_samples / first.rate, "format": "samples"}
    return facts if len(sounds) == 1 else {**facts, "pieces": len(sounds)}


def _heard(
    audio: Audio, rule: AudioRule, data: bytes | None = None, *, as_integers: bool = False
) -> tuple[dict[str, Any], list[ShownSound], tuple[str, ...]]:
    """The recording as it came, the sounds of it, and notes.

    Args:
        audio: The recording.
        rule: What is heard of it.
        data: Its encoded bytes, if they were read already.
        as_integers: Whether the samples are 16-bit integers, for a file.
    """
    n_channels = 0

    def kept(block: NDArray[np.float32], own_rate: int) -> NDArray[Any]:
        """The channels that are heard, as integers unless they are resampled: of an hour little else is held."""
        nonlocal n_channels
        n_channels = n_channels or block.shape[0]
        mixed = _with_channels(block, rule.channels)
        return as_int16(mixed) if as_integers and rule.rate in (None, own_rate) else mixed

    array, own_rate = decoded_sound(audio, data, kept if as_integers else None)
    if not array.size:
        raise DataError(f"The audio {audio.describe()} is empty.")
    before = {"rate": own_rate, "channels": n_channels or array.shape[0], "seconds": array.shape[1] / own_rate}
    if array.dtype.kind != "i":
        array = resampled(array if as_integers else _with_channels(array, rule.channels), own_rate, rule.rate)
        array = as_int16(array) if as_integers else array
    rate = rule.rate or own_rate
    pieces, notes = _pieces(array, rate, rule, audio)
    return before, [ShownSound(piece[0] if len(piece) == 1 else piece, rate) for piece in pieces], notes


def _with_channels(array: NDArray[np.float32], channels: int | None) -> NDArray[np.float32]:
    import numpy as np

    if channels is None or channels == array.shape[0]:
        return array
    mixed = array.mean(axis=0, dtype="float32", keepdims=True)
    return np.repeat(mixed, channels, axis=0)


def _pieces(
    array: NDArray[Any], rate: int, rule: AudioRule, audio: Audio
) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    n_samples = array.shape[1]
    most = n_samples if rule.max_seconds is None else max(1, int(rule.max_seconds * rate))
    if n_samples <= most:
        return [array], ()
    seconds = n_samples / rate
    if rule.long == "cut":
        return [array[:, :most]], (f"It lasts {seconds:.2f} s, and was cut off after {most / rate:.2f} s.",)
    if rule.long == "chunk":
        pieces = [array[:, start : start + most] for start in range(0, n_samples, most)]
        return pieces, (f"It lasts {seconds:.2f} s, and was sent in {len(pieces)} pieces.",)
    raise DataError(
        f"The audio {audio.describe()} lasts {seconds:.2f} s, longer than {rule.max_seconds:g} s.",
        hint="Set long: cut or long: chunk, or a larger max_seconds.",
    )


def _record(
    audio: Audio, rule: AudioRule, before: dict[str, Any], sent: dict[str, Any], made: str, notes: tuple[str, ...]
) -> None:
    audio.record_sent(
        ShownMedium("audio", audio.describe(), stated(rule), before=before, sent=sent, digest=made, notes=notes)
    )
