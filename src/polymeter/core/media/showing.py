"""Rules for showing a medium to a model: which frames of a video, how many pixels, how much of a recording.

A task states it, options of a run win over the task, and what neither states is the model's own setting. The rules are
part of a medium (``Image.rule``, ``Video.rule``, ``Audio.rule``), and so of the identity of every request with it.
``polymeter.data.showing`` applies them; models get what it gives. Nothing here reads a medium.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from polymeter.core.errors import PlanError, did_you_mean

FrameRule = Literal["even", "cut", "inner", "rate", "dense_end"]
"""The choice of a video's frames; see ``VideoRule``."""
Timestamps = Literal["none", "text", "prefix"]
Track = Literal["none", "track"]
SubtitleMode = Literal["none", "whole", "at_frames", "interleaved"]
NoSubtitles = Literal["error", "none"]
ImageFormat = Literal["as_is", "png", "jpeg:95"]
Long = Literal["error", "cut", "chunk"]

SHOWING_VERSION = 1
"""Part of the identity of a medium with a rule. It grows when the same rule shows something else."""


@dataclass(frozen=True, slots=True)
class VideoRule:
    """A rule for showing a video. ``None``: as the model does it.

    Attributes:
        rule: How frames are chosen, of the ``N`` of the video or of its stated part. ``n`` is the number to choose:
            ``frames``, or what the rate gives, at most ``max_frames``, rounded down to ``multiple_of``, at least that.

            * ``even``: numbers ``round(i * (N - 1) / (n - 1))``, halves up: the first and the last are included.
            * ``cut``: lmms-eval's: ``numpy.linspace(0, N - 1, n, dtype=int)``, cut down to integers, each once.
            * ``inner``: VLMEvalKit's by count: ``int(i * N / (n + 1))`` for ``i = 1 … n``: neither the first nor the
              last.
            * ``rate``: VLMEvalKit's by rate: ``int(i * own rate / fps)`` for ``i = 0 … int(seconds * fps) - 1``.
            * ``dense_end``: the last frame, and more of the end than of the beginning:
              ``N - 1 - round((N - 1) * (1 - i / (n - 1)) ** 2)``, moved to the front where frames would be equal.
        frames: Number of frames.
        fps: Frames per second; with ``frames``: by rate, unless that gives more than ``frames``.
        max_frames: The most frames, however their number comes about.
        min_pixels: The fewest pixels of a frame: smaller ones are scaled up, in proportion.
        max_pixels: The most pixels of a frame: larger ones are scaled down, in proportion.
        total_pixels: The most pixels of all frames together.
        multiple_of: The number of frames is a multiple of this.
        timestamps: Whether models without times of their own get the time of each frame: as a ``text`` before it, or in
            one line as a ``prefix`` of all.
        audio: Whether the sound of the video is shown, too (``track``).
        subtitles: Whether its subtitles are shown: all behind the video (``whole``), there those alone that are on
            screen at a shown frame, as Video-MME is measured (``at_frames``), or all, each between the frames around
            the middle of its time (``interleaved``).
        subtitles_from: The source of the subtitles of a row: a column with the path of an SRT or WebVTT file, or with
            its text, or a path with columns in it (``subs/{{video}}.srt``). A row without a value has no subtitles.
        subtitles_missing: Whether a path without a file fails its sample (``error``, the default), or means that the
            video has no subtitles (``none``).
    """

    rule: FrameRule | None = None
    frames: int | None = None
    fps: float | None = None
    max_frames: int | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    total_pixels: int | None = None
    multiple_of: int | None = None
    timestamps: Timestamps | None = None
    audio: Track | None = None
    subtitles: SubtitleMode | None = None
    subtitles_from: str | None = None
    subtitles_missing: NoSubtitles | None = None

    @property
    def shows_subtitles(self) -> bool:
        """True if subtitles are shown, as far as a video has some."""
        return self.subtitles not in (None, "none")


@dataclass(frozen=True, slots=True)
class ImageRule:
    """A rule for showing an image. ``None``: as the model does it.

    Attributes:
        max_side: The longest side in pixels.
        min_pixels: The fewest pixels: a smaller image is scaled up, in proportion.
        max_pixels: The most pixels: a larger image is scaled down, in proportion.
        format: The format in which it is sent, and which its pixels have passed through.
    """

    max_side: int | None = None
    min_pixels: int | None = None
    max_pixels: int | None = None
    format: ImageFormat | None = None


@dataclass(frozen=True, slots=True)
class AudioRule:
    """A rule for playing a recording. ``None``: as the model does it.

    Attributes:
        rate: Samples per second.
        channels: Number of channels.
        max_seconds: The longest recording.
        long: What happens to a longer one: the sample fails (``error``), the rest is not heard (``cut``), or it is sent
            as several recordings, each at most so long (``chunk``).
    """

    rate: int | None = None
    channels: int | None = None
    max_seconds: float | None = None
    long: Long | None = None


MediaRule = VideoRule | ImageRule | AudioRule


@dataclass(frozen=True, slots=True)
class Showing:
    """The rules of a task or a run, by modality. ``None``: none is stated."""

    video: VideoRule | None = None
    image: ImageRule | None = None
    audio: AudioRule | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) is not None for each in fields(self))

    def of(self, modality: str) -> Any:
        """The rule of a modality; ``None``: none is stated."""
        return getattr(self, modality, None)

    def under(self, other: Showing) -> Showing:
        """These rules, with every setting that ``other`` states in place of theirs."""
        return Showing(*(merged(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)))

    def stated(self) -> dict[str, dict[str, Any]]:
        """The settings that are stated, as plain data, by modality."""
        rules = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: stated(rule) for name, rule in rules if rule is not None}


NOTHING_STATED = Showing()
_RULES: dict[str, type[VideoRule] | type[ImageRule] | type[AudioRule]] = {
    "video": VideoRule,
    "image": ImageRule,
    "audio": AudioRule,
}
_WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("video", "rule"): get_args(FrameRule),
    ("video", "timestamps"): get_args(Timestamps),
    ("video", "audio"): get_args(Track),
    ("video", "subtitles"): get_args(SubtitleMode),
    ("video", "subtitles_missing"): get_args(NoSubtitles),
    ("image", "format"): get_args(ImageFormat),
    ("audio", "long"): get_args(Long),
}
_SOURCES = frozenset({"subtitles_from"})
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_OF_SUBTITLES = frozenset({"subtitles", "subtitles_from", "subtitles_missing"})
_NOT_CONTENT = frozenset({"subtitles_from", "subtitles_missing"})
_DECIMAL = frozenset({"fps", "max_seconds"})
_COUNTS = frozenset({"frames", "fps"})
_LEAST_DECIMAL = 1e-6
_MOST = {
    "frames": 1_000_000,
    "fps": 1_000,
    "max_frames": 1_000_000,
    "multiple_of": 1_000_000,
    "min_pixels": 100_000_000,
    "rate": 768_000,
    "channels": 64,
    "max_seconds": 10_000_000,
}
"""Far above what any medium has, and still within memory where a rule repeats frames or scales them up."""


def stated(rule: MediaRule) -> dict[str, Any]:
    """The settings of a rule that are stated, as plain data."""
    values = ((each.name, getattr(rule, each.name)) for each in fields(rule))
    return {name: value for name, value in values if value is not None}


def stated_of_content(rule: MediaRule) -> dict[str, Any]:
    """The same, without the settings that only lead to content, which is identified by itself."""
    return {name: value for name, value in stated(rule).items() if name not in _NOT_CONTENT}


def source_columns(source: str) -> tuple[str, ...]:
    """The columns that ``subtitles_from`` names."""
    return tuple(_PLACEHOLDER.findall(source)) if "{{" in source else (source,)


def filled_source(source: str, cells: Mapping[str, str]) -> str:
    """A path with columns in it, with their values in place of their names."""
    return _PLACEHOLDER.sub(lambda match: cells[match[1]], source)


def with_subtitles_decided(showing: Showing, where: str, *, may_have_some: bool) -> Showing:
    """Rules in which settings of subtitles stand only if subtitles are shown.

    Args:
        showing: The rules of a task under those of its run.
        where: Where they are written, for errors.
        may_have_some: Whether the task shows videos, or itself states where subtitles are. Others have none, whatever
            the run states for all its tasks.

    Raises:
        PlanError: if subtitles are to be shown, and nothing states where they are.
    """
    rule = showing.video
    if rule is None or _OF_SUBTITLES.isdisjoint(stated(rule)):
        return showing
    if not (rule.shows_subtitles and may_have_some):
        kept = replace(rule, **dict.fromkeys(_OF_SUBTITLES))
        return replace(showing, video=kept if stated(kept) else None)
    if rule.subtitles_from is None:
        raise PlanError(
            f"video.subtitles is {rule.subtitles!r}, and nothing states where the subtitles are.",
            where=where,
            hint="Name a column or a path, for example subtitles_from: subtitle_path, or write subtitles: none.",
        )
    return showing


def settings_of(modality: str) -> frozenset[str]:
    """The names of the settings that a rule for a modality has; none if there are no rules for it."""
    made = _RULES.get(modality)
    return frozenset() if made is None else frozenset(each.name for each in fields(made))


def words_of(modality: str, setting: str) -> tuple[str, ...]:
    """The words that a setting can be; none if it is a number or a text."""
    return _WORDS.get((modality, setting), ())


def read_showing(written: Mapping[str, Any], where: str) -> Showing:
    """Read the rules that somebody wrote: ``{"video": {"frames": 8}, "image": …, "audio": …}``; other keys are not
    looked at.

    Args:
        written: Configuration of a task, or of a run.
        where: Where it is written, for errors.

    Raises:
        PlanError: if a setting is unknown, has a value that it cannot have, or contradicts another one.
    """
    return Showing(**{name: _read(name, written[name], where) for name in _RULES if written.get(name) is not None})


def check_showing(written: Mapping[str, Any], where: Callable[[str], str]) -> None:
    """Check the rules among the values of a file.

    Args:
        written: The values.
        where: Gives the place of a key.

    Raises:
        PlanError: as for ``read_showing``.
    """
    for name in _RULES:
        if written.get(name) is not None:
            read_showing({name: written[name]}, where(name))


def _read(modality: str, written: Any, where: str) -> Any:
    made = _RULES[modality]
    if not isinstance(written, Mapping):
        raise PlanError(
            f"{modality}: expected settings, not {written!r}.",
            where=where,
            hint=f"Write for example {modality}: {{{_EXAMPLES[modality]}}}.",
        )
    known = [each.name for each in fields(made)]
    for name in written:
        if name not in known:
            hint = did_you_mean(str(name), known, n=1) or f"It has {', '.join(known)}."
            raise PlanError(f"{modality} has no setting {name!r}.", where=where, hint=hint)
    rule = made(**{name: _value(modality, name, value, where) for name, value in written.items() if value is not None})
    for problem in _contradictions(rule):
        raise PlanError(f"{modality}: {problem}", where=where)
    return rule if stated(rule) else None


_EXAMPLES = {"video": "rule: even, frames: 8", "image": "max_side: 1024", "audio": "rate: 16000"}


def _value(modality: str, name: str, value: Any, where: str) -> Any:
    words = _WORDS.get((modality, name))
    if words is not None:
        if value not in words:
            raise PlanError(f"{modality}.{name} is {value!r}.", where=where, hint=f"It is one of {', '.join(words)}.")
        return value
    if name in _SOURCES:
        return _source(f"{modality}.{name}", value, where)
    is_decimal = name in _DECIMAL
    is_number = isinstance(value, (int, float) if is_decimal else int) and not isinstance(value, bool)
    least, most = _LEAST_DECIMAL if is_decimal else 1, _MOST.get(name, float("inf"))
    if not is_number or not least <= value <= most:
        kind = "a number" if is_decimal else "a whole number"
        limit = f", at most {most:,}" if name in _MOST else ""
        raise PlanError(f"{modality}.{name} is {value!r}.", where=where, hint=f"Give {kind} above 0{limit}.")
    return value


def _source(setting: str, value: Any, where: str) -> str:
    """A column, or a path with columns in it."""
    hint = 'Name a column, or write a path with columns in it: "subs/{{video}}.srt".'
    if not isinstance(value, str) or not value.strip():
        raise PlanError(f"{setting} is {value!r}.", where=where, hint=hint)
    rest = _PLACEHOLDER.sub("", value)
    is_template = "{{" in value or "}}" in value
    if is_template and (not all(source_columns(value)) or any(mark in rest for mark in ("{{", "}}", "{%"))):
        raise PlanError(f"{setting} is {value!r}, which is no path with columns in it.", where=where, hint=hint)
    return value


def _contradictions(rule: MediaRule) -> Iterator[str]:
    low, high = getattr(rule, "min_pixels", None), getattr(rule, "max_pixels", None)
    if low is not None and high is not None and low > high:
        yield f"min_pixels is {low}, more than max_pixels, {high}."
    if isinstance(rule, AudioRule) and rule.long in ("cut", "chunk") and rule.max_seconds is None:
        yield f"long: {rule.long} needs max_seconds."
    if not isinstance(rule, VideoRule):
        return
    if rule.rule == "rate" and rule.fps is None:
        yield "rule: rate needs fps."
    if rule.rule in ("cut", "inner", "dense_end") and rule.frames is None and rule.fps is None:
        yield f"rule: {rule.rule} needs frames."
    if rule.multiple_of and rule.max_frames and rule.multiple_of > rule.max_frames:
        yield f"multiple_of is {rule.multiple_of}, more than max_frames, {rule.max_frames}."
    if rule.multiple_of and rule.frames and rule.multiple_of > rule.frames:
        yield f"multiple_of is {rule.multiple_of}, more than frames, {rule.frames}."


def merged(rule: MediaRule | None, winner: MediaRule | None) -> Any:
    """A rule, with every setting that ``winner`` states in place of its own. The number of frames and their rate are
    one choice: who states either of them takes neither from the other.
    """
    if rule is None or winner is None:
        return winner if rule is None else rule
    kept, won = stated(rule), stated(winner)
    if not _COUNTS.isdisjoint(won):
        kept = {name: value for name, value in kept.items() if name not in _COUNTS}
    return type(rule)(**{**kept, **won})
