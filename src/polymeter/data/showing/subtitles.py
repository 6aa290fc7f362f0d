"""Subtitles of a video, as a task shows them: SRT and WebVTT, whole or between the frames.

``shown_subtitles`` makes the texts that stand beside the frames of a video. Markup is removed; positions and styles are
not shown. JSON, in which some benchmarks have the times of lines or words, is not read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from polymeter.core.content import Video, is_subtitle_text
from polymeter.core.errors import DataError
from polymeter.core.media.sources import digest, on_disk

_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{2})(?:[.,](\d{1,3}))?"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s.*)?")
_MARKUP = re.compile(r"<[^>\n]*>|\{\\[^}\n]*\}")
_BLOCKS_THAT_SHOW_NOTHING = ("WEBVTT", "NOTE", "STYLE", "REGION")


@dataclass(frozen=True, slots=True)
class Subtitle:
    """A text that is on screen from ``start_s`` up to but not including ``end_s``, in seconds of the video."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True, slots=True)
class ShownSubtitles:
    """The subtitles that stand beside the frames of a video.

    Attributes:
        before: The text before the first frame; empty: none.
        after: The texts after each frame; empty where none stands. If they are not interleaved, they stand after the
            last.
        facts: What a record states of them: ``show`` (the mode), ``cues`` (their number), and ``digest`` (hex, of their
            times and texts) if there are some; empty if the rule shows none.
        notes: What a reader of the record should know.
    """

    before: str = ""
    after: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


NO_SUBTITLES = ShownSubtitles()
_LEAD = "Subtitles of the video:"
_NONE, _NONE_HERE = "It has no subtitles.", "It has no subtitles in this part."
_NONE_AT_FRAMES = "None of its subtitles is on screen at a shown frame."


def shown_subtitles(video: Video, times: Sequence[float] | None, n_frames: int = 1) -> ShownSubtitles:
    """The subtitles of a video as its rule shows them. Each text ends with a line break: what follows it may be text.

    Args:
        video: The video.
        times: When each of its frames appears, in seconds, ascending; ``None``: that is not known.
        n_frames: The number of frames.

    Raises:
        DataError: if they cannot be read, or shall stand between frames whose times are not known.
    """
    rule = video.rule
    if rule is None or not rule.shows_subtitles:
        return NO_SUBTITLES
    if video.subtitles is None:
        return ShownSubtitles(facts={"show": rule.subtitles, "cues": 0}, notes=(_NONE,))
    if rule.subtitles != "whole" and times is None:
        raise DataError(
            f"The frames of {video.describe()} have no times, so that its subtitles cannot be shown by them.",
            hint="Give the video as a file, or show them with subtitles: whole.",
        )
    cues = within(read_subtitles(video.subtitles), video.start_s, video.end_s)
    missing = _NONE_HERE
    if cues and times is not None and rule.subtitles == "at_frames":
        cues, missing = on_screen(cues, times), _NONE_AT_FRAMES
    facts: dict[str, Any] = {"show": rule.subtitles, "cues": len(cues)}
    if cues:
        facts["digest"] = digest(repr([(cue.start_s, cue.end_s, cue.text) for cue in cues]).encode())
    else:
        return ShownSubtitles(facts=facts, notes=(missing,))
    if rule.subtitles != "interleaved" or times is None:
        text = f"{_LEAD}\n{whole(cues)}\n"
        return ShownSubtitles(after=(*[""] * (n_frames - 1), text), facts=facts)
    before, *after = (f"{text}\n" if text else "" for text in interleaved(cues, times))
    return ShownSubtitles(before, tuple(after), facts)


def read_subtitles(source: Path | str) -> list[Subtitle]:
    """Read subtitles, in order of time.

    Args:
        source: A file, or the text of one. A string with a line break is a text.

    Returns:
        Lines that have a text, each with the lines of its cue joined by blanks.

    Raises:
        DataError: if the file does not exist, is not UTF-8 text, or holds no cue although it holds text.
    """
    is_text = is_subtitle_text(source)
    text = str(source) if is_text else subtitle_text(Path(on_disk(str(source))))
    where = "" if is_text else str(source)
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    blocks = [block for block in re.split(r"\n[ \t]*\n", lines) if block.strip()]
    cues = [cue for block in blocks for cue in _cues(block.strip("\n").split("\n"), where)]
    has_words = any(not block.lstrip().startswith(_BLOCKS_THAT_SHOW_NOTHING) for block in blocks)
    if has_words and not any("-->" in block for block in blocks):
        raise DataError(
            "The subtitles have no times.", where=where, hint="Give SRT or WebVTT: 00:00:01,000 --> 00:00:02,000."
        )
    return sorted(cues, key=lambda cue: (cue.start_s, cue.end_s))


def within(subtitles: Iterable[Subtitle], start_s: float | None, end_s: float | None) -> list[Subtitle]:
    """The subtitles that are on screen in a part of the video, in seconds; ``None``: from its beginning, to its end."""
    first = 0.0 if start_s is None else start_s
    last = float("inf") if end_s is None else end_s
    return [cue for cue in subtitles if cue.end_s > first and cue.start_s < last]


def on_screen(subtitles: Iterable[Subtitle], times: Sequence[float]) -> list[Subtitle]:
    """The subtitles that are on screen at one of some times in seconds, each once."""
    return [cue for cue in subtitles if any(cue.start_s <= time < cue.end_s for time in times)]


def whole(subtitles: Iterable[Subtitle], separator: str = "\n") -> str:
    """All texts one after the other. Equal texts in a row stand there once."""
    return separator.join(_without_repeats(cue.text for cue in subtitles))


def interleaved(subtitles: Sequence[Subtitle], times: Sequence[float]) -> list[str]:
    """The texts that stand between frames: a text follows the last frame that appears by the middle of its time.
    LongVideoBench (arXiv:2407.15754) places texts so, and leaves out those that are on screen at no frame.

    Args:
        subtitles: In order of time.
        times: When each frame appears, in seconds, ascending.

    Returns:
        One more text than there are frames: what stands before the first one, and after each. Empty where none does.
    """
    texts: list[list[str]] = [[] for _ in range(len(times) + 1)]
    for cue in subtitles:
        middle = (cue.start_s + cue.end_s) / 2
        texts[sum(1 for time in times if time <= middle)].append(cue.text)
    return ["\n".join(_without_repeats(each)) for each in texts]


def _without_repeats(texts: Iterable[str]) -> Iterator[str]:
    last = None
    for text in texts:
        if text != last:
            yield text
        last = text


def subtitle_text(path: Path) -> str:
    """The text of a file of subtitles.

    Raises:
        DataError: if the file does not exist, or is not UTF-8 text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(
            f"The file of subtitles {str(path)[:200]!r} does not exist.",
            hint="Check the path in the row. If such videos have no subtitles: subtitles_missing: none.",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"Cannot read the subtitles: {error}.", where=str(path), hint="Save them as UTF-8.") from error


def _cues(lines: Sequence[str], where: str) -> Iterator[Subtitle]:
    """The cue of a block of lines. Some files have several, without the empty line between them."""
    places = [number for number, line in enumerate(lines) if "-->" in line]
    for place, following in pairwise([*places, len(lines)]):
        found = _CUE.fullmatch(lines[place])
        if found is None:
            raise DataError(f"The time of a subtitle is {lines[place].strip()[:80]!r}.", where=where)
        body = list(lines[place + 1 : following])
        if following < len(lines) and body and body[-1].strip().isdigit():
            body.pop()  # the number of the next cue
        start_s, end_s = _seconds(found.groups()[:4]), _seconds(found.groups()[4:])
        text = " ".join(html.unescape(_MARKUP.sub("", line)).strip() for line in body if line.strip())
        if text and end_s > start_s:
            yield Subtitle(start_s, end_s, text)


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = parts
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction or 0}")
