"""Differences of what two runs showed their models of the same samples, by the records in their journals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from polymeter.analysis.comparison.runs import ComparedRun
from polymeter.report.formatting import clip, count, one_line
from polymeter.store.reading.outcomes import SampleOutcome, read_shown

_DIGEST_LENGTH = 8
_LONGEST_VALUE = 60
_NOUNS = {"image": "image", "video": "frame", "audio": "audio"}
_OF_AUDIO = (("rate", "rates", " Hz"), ("channels", "channels", ""), ("seconds", "durations", " s"))
_OF_MODELS: Mapping[str, tuple[str, frozenset[str]]] = {
    "image sizes": ("image", frozenset({"max_side", "min_pixels", "max_pixels"})),
    "frame sizes": ("video", frozenset({"min_pixels", "max_pixels", "total_pixels"})),
    "audio rates": ("audio", frozenset({"rate"})),
    "audio channels": ("audio", frozenset({"channels"})),
}
"""Differences of what models have settings of their own for, with the settings of rules that state it."""
Record = Mapping[str, Any]


def shown_differences(
    first: ComparedRun,
    other: ComparedRun,
    task: str,
    one: Mapping[str, SampleOutcome],
    two: Mapping[str, SampleOutcome],
    shared: Sequence[str],
) -> Iterator[tuple[str, bool]]:
    """Yield differences of the media of the first requests in a task: sentences, and whether each makes a comparison
    misleading.

    The source of a medium does not matter, and neither does the rule by which the same was shown. Digests are compared
    if both media were sent in the same form. What only one run records is not different but unknown. Where somebody
    else than Polymeter chose, the settings are compared that both records have.

    Args:
        first: A run.
        other: The other run.
        task: A task of both.
        one: The samples of the first run by id.
        two: The samples of the other.
        shared: The ids of samples that both have.
    """
    both = [name for name in shared if one[name].shown and two[name].shown]
    n_unknown = [
        sum(bool(beside[name].shown) and not outcomes[name].shown for name in shared)
        for outcomes, beside in ((one, two), (two, one))
    ]
    differing = [name for name in both if one[name].shown != two[name].shown]
    records, others = (
        read_shown(
            run.folder,
            task,
            {digest for name in differing for digest in outcomes[name].shown if digest},
            is_by_file=run.is_by_file,
        )
        for run, outcomes in ((first, one), (other, two))
    )
    found: dict[str, tuple[str, int]] = {}
    forms: dict[str, tuple[str, int]] = {}
    for name in differing:
        media = [
            (records.get(own or ""), others.get(its or ""))
            for own, its in zip(one[name].shown, two[name].shown, strict=False)
        ]
        pairs = [(own, its) for own, its in media if own is not None and its is not None]
        told = dict(pair for own, its in reversed(pairs) for pair in _differences(own, its))
        _count(told, name, found)
        _count({} if told else dict(form for pair in pairs for form in _forms(*pair)), name, forms)
        for place in (0, 1) if not told else ():
            n_unknown[place] += any(_is_unknown(pair[place]) and not _is_unknown(pair[1 - place]) for pair in pairs)
    for run, n in zip((first, other), n_unknown, strict=True):
        if n:
            which = count(n, "sample")
            yield (
                f"{task}: unknown for {which} if both runs were shown the same: {run.name} has no record of it.",
                False,
            )
    for kinds, is_refused in ((found, True), (forms, False)):
        for what, (how, n) in kinds.items():
            yield (
                f"{task}: {what} {how}; {n:,} of {count(len(both), 'sample')}.",
                is_refused and _is_misleading(what, first.tasks[task], other.tasks[task]),
            )


def _is_misleading(what: str, *tasks: Mapping[str, Any]) -> bool:
    """Return whether a difference is more than one of the models' own sizes or rates: those belong to the models that
    are compared, unless a task or its run states them.
    """
    modality, settings = _OF_MODELS.get(what, ("", frozenset()))
    return not settings or any(not settings.isdisjoint(task.get("showing", {}).get(modality, ())) for task in tasks)


def _count(told: Mapping[str, str], sample: str, kinds: dict[str, tuple[str, int]]) -> None:
    """Count a sample for each kind of difference that it has; the first sample of a kind is its example."""
    for what, values in told.items():
        how, n = kinds.get(what, (f"differ ({values}), first in {one_line(sample)}", 0))
        kinds[what] = how, n + 1


def _differences(one: Record, two: Record) -> Iterator[tuple[str, str]]:
    """Yield the differences of what was shown of a medium: what differs, and both values."""
    found = [*_facts(one, two), *_rules(one, two)]
    yield from found
    digests = [str(record.get("digest") or "") for record in (one, two)]
    if not found and all(digests) and digests[0] != digests[1] and not [*_forms(one, two)]:
        what = "samples of the sound" if one.get("modality") == "audio" else "pixels"
        yield what, " against ".join(f"digest {digest[:_DIGEST_LENGTH]}…" for digest in digests)


def _facts(one: Record, two: Record) -> Iterator[tuple[str, str]]:
    kind = str(one.get("modality"))
    if kind != two.get("modality"):
        yield "kinds of media", f"{kind} against {two.get('modality')}"
        return
    sent, its = one.get("sent") or {}, two.get("sent") or {}
    if kind == "audio":
        yield from _audio(sent, its)
        return
    if kind == "video":
        yield from _frames(one, two)
        track, its_track = (record.get("sound") or {} for record in (sent, its))
        if bool(track) != bool(its_track):
            yield "sounds of videos", " against ".join("sent" if one else "not sent" for one in (track, its_track))
        else:
            yield from _audio(track, its_track)
        yield from _subtitles(sent.get("subtitles") or {}, its.get("subtitles") or {})
    sizes = [(size.get("width"), size.get("height")) for size in (sent, its)]
    if None not in (*sizes[0], *sizes[1]) and sizes[0] != sizes[1]:
        yield f"{_NOUNS[kind]} sizes", " against ".join(f"{width}×{height}" for width, height in sizes)


def _frames(one: Record, two: Record) -> Iterator[tuple[str, str]]:
    counts = [len(record.get("numbers") or ()) or (record.get("sent") or {}).get("frames") for record in (one, two)]
    if None in counts:
        return
    if counts[0] != counts[1]:
        yield "frames", f"{counts[0]:,} against {counts[1]:,}"
        return
    for name, what in (("numbers", "numbers of frames"), ("times", "times of frames")):
        values = [record.get(name) for record in (one, two)]
        if all(values) and values[0] != values[1]:
            yield what, " against ".join(clip(", ".join(map(str, value or ())), _LONGEST_VALUE) for value in values)
            return


def _lasts_as_long(sent: Record, its: Record) -> bool:
    """Return whether durations differ by no more than a sample, as they do at other rates."""
    rate = float(min(sent.get("rate") or 1, its.get("rate") or 1))
    return abs(float(sent["seconds"]) - float(its["seconds"])) * rate <= 1


def _audio(sent: Record, its: Record) -> Iterator[tuple[str, str]]:
    for name, what, unit in _OF_AUDIO:
        values = [record.get(name) for record in (sent, its)]
        if None not in values and values[0] != values[1] and not (name == "seconds" and _lasts_as_long(sent, its)):
            yield f"audio {what}", f"{values[0]:,} against {values[1]:,}{unit}"


def _subtitles(own: Record, its: Record) -> Iterator[tuple[str, str]]:
    """Yield the difference of the subtitles of a video. A rule that shows some and finds none is like one without."""
    told = [f"{one['cues']:,} {one_line(str(one.get('show')))}" if one.get("cues") else "none" for one in (own, its)]
    if told[0] != told[1]:
        yield "subtitles", " against ".join(told)
    elif own.get("digest") != its.get("digest"):
        digests = (str(one.get("digest") or "")[:_DIGEST_LENGTH] for one in (own, its))
        yield "texts of subtitles", " against ".join(f"digest {each}…" for each in digests)


def _is_unknown(record: Record) -> bool:
    """Return whether a record says only who showed a medium: no sizes, no frames, no digest."""
    return not (record.get("digest") or record.get("numbers") or record.get("sent"))


def _rules(one: Record, two: Record) -> Iterator[tuple[str, str]]:
    """Yield the difference of what both records state as a setting, where not Polymeter alone chose."""
    if one.get("by") is None and two.get("by") is None:
        return
    rule, its = one.get("rule") or {}, two.get("rule") or {}
    names = [name for name in rule if name in its and rule[name] != its[name]]
    if names:
        values = (", ".join(f"{name} {one_line(str(stated[name]))}" for name in names) for stated in (rule, its))
        yield "settings", " against ".join(clip(value, _LONGEST_VALUE) for value in values)


def _forms(one: Record, two: Record) -> Iterator[tuple[str, str]]:
    """Yield different forms in which the same was sent, such as pixels and JPEG: models of one kind need another. A
    setting that one of two endpoints, or of two wrappers, states may be the other's own.
    """
    forms = [(record.get("sent") or {}).get("format") for record in (one, two)]
    if all(forms) and forms[0] != forms[1]:
        yield "formats of media", " against ".join(one_line(str(form)) for form in forms)
    rule, its = one.get("rule") or {}, two.get("rule") or {}
    if one.get("by") is not None and one.get("by") == two.get("by") and rule.keys() != its.keys():
        yield "stated settings", " against ".join(", ".join(sorted(stated)) or "none" for stated in (rule, its))
