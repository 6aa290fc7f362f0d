"""The record of what a model was shown of one medium. A run keeps it once for each distinct medium.

Everything in it is what happened, not what was wanted: sizes before and after, the frames that were taken, the bytes
that were sent. ``polymeter.data.showing`` makes it where the medium is decoded for a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.content import Modality


@dataclass(frozen=True, slots=True)
class ShownMedium:
    """The record of what was shown of a medium.

    Attributes:
        modality: Its kind.
        source: A short name: file, row and column, or URL.
        rule: The rule that was followed, as plain data: what the task or run states, and the model's own setting for
            the rest.
        before: The medium as it came. Image: ``width``, ``height``, ``format``, ``bytes``. Video: ``width``,
            ``height``, ``duration_s``, ``fps``, ``frames`` (as counted), ``stated_frames`` (as its header says, if that
            is another number). Audio: ``rate`` in Hz, ``channels``, ``seconds``. A key is absent if it is not known.
        sent: The medium as sent. Image: ``width``, ``height``, ``format``, ``bytes``. Video: the same of one frame, and
            ``frames``, ``bytes`` (of all frames), ``sound`` (as of audio) if it was sent, and ``subtitles`` (``show``:
            how, ``cues``: their number, ``digest``) if the rule shows some. Audio: ``rate``, ``channels``, ``seconds``,
            ``format``, ``bytes``, and ``pieces`` if there are several. ``format`` is
            ``pixels`` or ``samples`` if nothing was encoded, and ``bytes`` is absent then.
        digest: Hex digest of what was sent: of RGB pixels, samples, or encoded bytes; empty if it is not known here.
        numbers: Of a video: the numbers of the frames, from 0.
        times: When each appears, in seconds.
        n_wanted: Of a video: how many frames the rule asks for, if there were fewer.
        by: Who chose: ``polymeter``, or who does it in its place (``the wrapper``, ``the endpoint``); only what is
            known is recorded then.
        notes: What a reader should know, each a sentence: a track that is shorter than the frames, a cut recording.
    """

    modality: Modality
    source: str = ""
    rule: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    numbers: tuple[int, ...] = ()
    times: tuple[float, ...] = ()
    n_wanted: int | None = None
    by: str = "polymeter"
    notes: tuple[str, ...] = ()
