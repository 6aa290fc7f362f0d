"""Words for what a model was shown: for the records in a line of samples, and for their summary in ``results.json``.
Terminal, report and viewer use the same words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polymeter.core.content import place_of_key
from polymeter.report.content.view import entry, messages_of, objects, parts_of
from polymeter.report.formatting import clip, count, data_size, duration, one_line
from polymeter.store.shown_media import SHOWN_MEDIA

_KINDS = {"image": "image", "video": "video", "audio": "recording"}
_NOT_ENCODED = {"PIXELS": "as pixels", "SAMPLES": "as samples"}
_LONGEST_NAME = 120
_DIGEST_LENGTH = 8
_BY_US = "polymeter"


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """A medium as the model was shown it, in words.

    Attributes:
        kind: ``image``, ``video`` or ``audio``.
        source: Its name; may be empty.
        brief: The main facts on one line.
        facts: All facts: label and value.
        place: Its place among the media of its kind, from 1; 0 if it is the only one.
    """

    kind: str
    source: str
    brief: str
    facts: tuple[tuple[str, str], ...]
    place: int = 0

    @property
    def line(self) -> str:
        """Name and main facts on one line, with the beginning of the digest."""
        digest = dict(self.facts).get("Digest", "")
        mark = f"; digest {digest[:_DIGEST_LENGTH]}…" if digest else ""
        return f"{f'{self.kind} {self.source}'.strip()}: {self.brief}{mark}"

    @property
    def title(self) -> str:
        """The main facts without the name, for a page that shows the medium above."""
        name = f"{self.kind.capitalize()} {self.place or ''}".rstrip()
        return f"{name} shown as {self.brief}" if self.brief else f"{name} as shown"


def shown_in_sample(sample: Mapping[str, Any]) -> list[ShownFacts]:
    """The distinct media that models were shown in a sample, in the order of its requests; none if that is unknown.

    Args:
        sample: A line of ``samples/<task>.jsonl``.
    """
    names = _names(sample)
    records = _mapping(sample.get(SHOWN_MEDIA)).items()
    found = [shown_facts(record, names.get(key, "")) for key, record in records if isinstance(record, Mapping)]
    kinds = [one.kind for one in found]
    return [
        replace(one, place=kinds[: place + 1].count(one.kind)) if kinds.count(one.kind) > 1 else one
        for place, one in enumerate(found)
    ]


def _names(sample: Mapping[str, Any]) -> dict[str, str]:
    """The names that the dataset gives the files of media, by the digests of the media's records."""
    names: dict[str, str] = {}
    for exchange in objects(sample.get("exchanges")):
        digests = _sequence(entry(exchange, "response").get(SHOWN_MEDIA))
        parts = (part for message in messages_of(exchange) for part in parts_of(message))
        notes = [entry(part, kind) for part in parts for kind in _KINDS if kind in part]
        for digest, note in zip(digests, notes, strict=False):
            if isinstance(digest, str) and isinstance(note.get("name"), str):
                names.setdefault(digest, note["name"])
    return names


def shown_facts(record: Mapping[str, Any], name: str = "") -> ShownFacts:
    """A record of ``core.records.shown_media`` in words.

    Args:
        record: The record as data.
        name: The name of the medium's file, if the dataset gives one; else the record's source names it.
    """
    kind = str(record.get("modality") or "medium")
    before, sent = _mapping(record.get("before")), _mapping(record.get("sent"))
    short = {
        "Frames": _frames(record, before, sent) if kind == "video" else "",
        "Size": _change(_size(before), _size(sent)),
        "Rate": _rate(before, sent, kind),
        "Channels": _change(_counted(before, "channels"), _counted(sent, "channels", "channel")),
        "Duration": _duration(before, sent),
        "Format": _format(before, sent),
        "Pieces": _counted(sent, "pieces", "piece") if _number(sent, "pieces") != 1 else "",
        "Subtitles": _subtitles(sent),
    }
    by = str(record.get("by") or _BY_US)
    sound = _sound(sent) if kind == "video" and by == _BY_US else ""
    told = [text for text in short.values() if text]
    if by != _BY_US:
        told.append(f"chosen by {one_line(by)}")
    brief = "; ".join(filter(None, [", ".join(told), f"sound: {sound}" if sound else ""]))
    source = str(record.get("source") or "")
    source = clip(one_line(name or place_of_key(source) or source), _LONGEST_NAME)
    facts = {"Medium": source, **short, "Sound": sound, "Rule": _settings(record.get("rule"))}
    facts |= {"Digest": one_line(str(record.get("digest") or "")), "Chosen by": one_line(by)}
    facts |= {"Numbers": _listed(record.get("numbers"), ".0f"), "Times": _listed(record.get("times"), ".2f", " s")}
    facts["Notes"] = " ".join(one_line(str(note)) for note in _sequence(record.get("notes")))
    return ShownFacts(one_line(kind), source, brief, tuple((label, text) for label, text in facts.items() if text))


def shown_lines(results: Mapping[str, Any]) -> list[str]:
    """Return what the model was shown in each task of a ``results.json``, one line for each."""
    found = []
    for name, task in results.get("tasks", {}).items():
        parts = [*_summary_parts(_mapping(task.get("shown")))]
        if parts:
            found.append(f"{one_line(str(task.get('alias') or name))}: {'; '.join(parts)}")
    return found


def fewer_frames(task: Mapping[str, Any]) -> str:
    """The number of a task's videos that were shown with fewer frames than their rule asks for, in words; empty if
    there are none.
    """
    videos = _mapping(_mapping(task.get("shown")).get("video"))
    n = videos.get("n_fewer")
    if not n:
        return ""
    verb = "was" if n == 1 else "were"
    return f"{n:,} of {count(int(videos.get('n') or n), 'video')} {verb} shown with fewer frames than asked for"


def without_subtitles(task: Mapping[str, Any]) -> str:
    """The number of a task's videos that were shown without subtitles although its rule shows them, in words; empty if
    there are none.
    """
    videos = _mapping(_mapping(task.get("shown")).get("video"))
    n = videos.get("n_unsubtitled")
    if not n:
        return ""
    verbs = ("has", "was") if n == 1 else ("have", "were")
    return "{:,} of {} {} no subtitles and {} shown without".format(
        n, count(int(videos.get("n") or n), "video"), *verbs
    )


def _summary_parts(shown: Mapping[str, Any]) -> Iterator[str]:
    for kind, noun in _KINDS.items():
        one = _mapping(shown.get(kind))
        if not one:
            continue
        n_fewer, n_scaled = one.get("n_fewer"), one.get("n_scaled")
        told = [
            f"frames: {_range(one.get('frames'))}" + (f" ({count(n_fewer, 'video')} had fewer)" if n_fewer else "")
            if "frames" in one
            else "",
            f"{_range(one.get('width'))} × {_range(one.get('height'))} px"
            if "width" in one and "height" in one
            else "",
            f"{_range(one.get('rate'))} Hz" if "rate" in one else "",
            count(one["channels"]["max"], "channel") if _is_one(one.get("channels")) else "",
            f"{_range(one.get('seconds'))} s" if "seconds" in one else "",
            f"{n_scaled:,} scaled" if n_scaled else "",
            f"{one['n_subtitled']:,} with subtitles" if one.get("n_subtitled") else "",
            f"{one['n_unsubtitled']:,} without subtitles" if one.get("n_unsubtitled") else "",
        ]
        yield f"{count(int(one.get('n') or 0), noun)}, {', '.join(text for text in told if text)}".removesuffix(", ")


def _is_one(ends: Any) -> bool:
    return isinstance(ends, Mapping) and ends.get("min") == ends.get("max")


def _range(ends: Any) -> str:
    low, high = (_plain(_mapping(ends).get(end)) for end in ("min", "max"))
    return low if low == high else f"{low}–{high}"


def _frames(record: Mapping[str, Any], before: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    numbers = _sequence(record.get("numbers"))
    n = len(numbers) or sent.get("frames")
    if n is None:
        return ""
    total, stated, wanted = before.get("frames"), before.get("stated_frames"), record.get("n_wanted")
    text = f"{_plain(n)} of {_plain(total)} frames" if total is not None else count(int(n), "frame")
    rule = _mapping(record.get("rule")).get("rule")
    notes = [
        *([f"rule {one_line(str(rule))}"] if rule else []),
        *([f"{_plain(wanted)} were asked for"] if wanted is not None else []),
        *([f"the header says {_plain(stated)}"] if stated is not None else []),
    ]
    return text + (f" ({', '.join(notes)})" if notes else "")


def _size(of: Mapping[str, Any]) -> str:
    return f"{of['width']}×{of['height']}" if of.get("width") and of.get("height") else ""


def _change(before: str, sent: str) -> str:
    is_other = before and sent and sent.partition(" ")[0] != before.partition(" ")[0]
    return f"{before} → {sent}" if is_other else sent or before


def _counted(of: Mapping[str, Any], name: str, noun: str = "") -> str:
    value = _number(of, name)
    return "" if value is None else count(int(value), noun) if noun else _plain(value)


def _rate(before: Mapping[str, Any], sent: Mapping[str, Any], kind: str) -> str:
    if kind == "video":
        return f"{_plain(before['fps'])} fps" if _number(before, "fps") is not None else ""
    rates = [_plain(value) if (value := _number(of, "rate")) is not None else "" for of in (before, sent)]
    return f"{text} Hz" if (text := _change(*rates)) else ""


def _duration(before: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    if (seconds := _number(before, "duration_s")) is not None:
        return f"{seconds:.1f} s" if seconds < 100 else duration(seconds)
    before_s, sent_s = (_number(of, "seconds") for of in (before, sent))
    return _change("" if before_s is None else f"{before_s:.1f} s", "" if sent_s is None else f"{sent_s:.1f} s")


def _format(before: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    own, form = (one_line(str(of.get("format") or "")).upper() for of in (before, sent))
    if form in _NOT_ENCODED:
        return _NOT_ENCODED[form]
    n_bytes = _number(sent, "bytes")
    named = f"{own} → {form}" if own and form and own != form else form
    return ", ".join([*([named] if named else []), *([data_size(int(n_bytes))] if n_bytes is not None else [])])


def _sound(sent: Mapping[str, Any]) -> str:
    track = _mapping(sent.get("sound"))
    if not track:
        return "none"
    told = [_rate({}, track, "audio"), _counted(track, "channels", "channel"), _duration({}, track)]
    return ", ".join(text for text in told if text)


def _subtitles(sent: Mapping[str, Any]) -> str:
    own = _mapping(sent.get("subtitles"))
    n = _number(own, "cues")
    if n is None:
        return ""
    return f"{count(int(n), 'subtitle')} ({one_line(str(own.get('show')))})" if n else "no subtitles"


def _settings(rule: Any) -> str:
    return ", ".join(f"{name} {_plain(value)}" for name, value in _mapping(rule).items() if value is not None)


def _listed(values: Any, form: str, unit: str = "") -> str:
    """Numbers, separated by commas."""
    told = [format(value, form) for value in _sequence(values) if isinstance(value, (int, float))]
    return f"{', '.join(told)}{unit}" if told else ""


def _plain(value: Any) -> str:
    """A number without needless digits: ``1,800``, ``23.976``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return clip(one_line(str(value)), _LONGEST_NAME)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def _number(of: Mapping[str, Any], name: str) -> float | None:
    value = of.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()
