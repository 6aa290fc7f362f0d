"""The HTML report: one file with the table, the provenance and the samples of a run, made in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from importlib import import_module
from tempfile import SpooledTemporaryFile
from typing import Any, Literal

from polymeter.report.columns import page_columns
from polymeter.report.formatting import clean, count
from polymeter.report.images import Embedded, LoadMedia, PageMedia, thumbnail_pool
from polymeter.report.page import FramedPage, environment, writable
from polymeter.report.run.choose import order_of
from polymeter.report.run.extract import script_json
from polymeter.report.run.failures import failures_of
from polymeter.report.run.fitting import Fitting, TaskSamples, fit
from polymeter.report.run.provenance import headline, provenance
from polymeter.report.run.report_title import report_title
from polymeter.report.run.usage_table import usage_table
from polymeter.report.scales import MainMetric, axis, bars, metrics_of, score_label
from polymeter.report.shown_text import shown_lines
from polymeter.report.table import footnotes, table_lines, title_of

MAX_BYTES = 20_000_000
"""The size limit of a report without a requested number of samples."""
_FRAME_SPARE = 4_000
"""Room for the sentences that are written after the samples are selected."""
_IN_MEMORY = 1 << 25
_PIECE = 1 << 20
_AT_ONCE = 16
_WRITTEN_AT_ONCE = 64
"""Samples that reach the temporary file in one call of it."""
_STYLES = ("base.css", "table.css", "report.css", "samples.css", "detail.css")
_SCRIPTS = (
    *("dom.js", "diff.js", "exchange.js", "question.js", "drawn.js", "answer.js", "conversation.js", "detail.js"),
    *("filters.js", "samples.js"),
)

Wanted = int | Literal["all"] | None
"""The number of samples of each task in a report; ``None``: as many as fit."""


def make_html_report(
    manifest: Mapping[str, Any],
    results: Mapping[str, Any],
    samples: Callable[[str], Sequence[Mapping[str, Any]]],
    media: LoadMedia,
    *,
    wanted: Wanted = None,
    max_bytes: int = MAX_BYTES,
) -> str:
    """The report of a run as one text; see ``html_report``."""

    def size(name: str) -> int | None:
        found = media(name)
        return None if found is None else len(found[0])

    files = PageMedia(media, size)
    return "".join(html_report(manifest, results, samples, files, wanted=wanted, max_bytes=max_bytes))


def html_report(
    manifest: Mapping[str, Any],
    results: Mapping[str, Any],
    samples: Callable[[str], Sequence[Mapping[str, Any]]],
    media: PageMedia,
    *,
    wanted: Wanted = None,
    max_bytes: int = MAX_BYTES,
) -> Iterator[str]:
    """The report of a run as one self-contained HTML file, in pieces. The same run gives the same report.

    Neither all samples nor all media are in memory at a time: the data of large reports is put into temporary files.

    Args:
        manifest: Content of ``run.json``.
        results: Content of ``results.json``.
        samples: The samples of a task, in order, as in ``samples/<task>.jsonl``; none held.
        media: The run's media.
        wanted: The number of samples of each task to show, of any size; default: as many as fit into ``max_bytes``.
        max_bytes: The size of the whole file. With ``wanted``, from this size on images are scaled down.
    """
    names = list(results.get("tasks", {}))
    tasks = [
        TaskSamples(number, own, order_of(results["tasks"][name], own))
        for number, (name, own) in enumerate((name, samples(name)) for name in names)
    ]
    frame = _frame(manifest, results, [], has_samples=True)
    taken = sum(len(piece.encode("utf-8", "replace")) for piece in frame.pieces([], [])) + _FRAME_SPARE
    # The facts of tasks, as long as they can be.
    taken += len(script_json([_facts(results, task, name, []) for task, name in zip(tasks, names, strict=True)]))
    shown = fit(tasks, media, max(max_bytes - taken, 0)) if wanted is None else _explicit(tasks, wanted)
    with (
        SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8") as data,
        SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8") as pictures,
    ):
        facts = [
            _facts(results, task, name, places) for task, name, places in zip(tasks, names, shown.places, strict=True)
        ]
        data.write(f'{{"tasks":{script_json(facts)},"samples":[')
        files, clips, n_bytes = _write_samples(data, tasks, shown)
        data.write("]}")
        if wanted is not None:
            shown.is_smaller = n_bytes + sum(map(media.uri_size, files)) + taken > max_bytes
        room = max_bytes - taken - n_bytes
        counts = _write_media(pictures, files, clips, media, shown, room)
        limit = max_bytes if wanted is None else None
        statement = _statement(facts, counts, limit, is_partial=results.get("status") == "partial")
        page = _frame(manifest, results, statement, has_samples=any(shown.places))
        yield from page.pieces(_pieces(data), _pieces(pictures))


def get_ready() -> None:
    """Import and compile what the page and the printed table are drawn with, while a run waits for something else."""
    for module in ("rich.console", "rich.table"):
        import_module(module)
    for template in ("page.html", "report.html", "table.html", "bar.html", "usage.html"):
        environment().get_template(template)


def _frame(
    manifest: Mapping[str, Any], results: Mapping[str, Any], statement: Sequence[str], *, has_samples: bool
) -> FramedPage:
    """The page without its samples and their media."""
    lines = table_lines(results)
    head = headline(manifest, results)
    title = report_title(manifest, head.model, lines)
    values = {
        "head": head,
        "heading": title,
        "rows": [*zip(lines, bars(lines), strict=True)],
        "columns": page_columns(lines),
        "footnotes": footnotes(results),
        "shown": shown_lines(results),
        "failures": failures_of(results),
        "usage": usage_table(manifest, results),
        "provenance": provenance(manifest),
        "statement": statement,
        "has_samples": has_samples,
    }
    return FramedPage("report.html", title.with_day, _STYLES, _SCRIPTS, values=values)


def _explicit(tasks: Sequence[TaskSamples], wanted: int | Literal["all"]) -> Fitting:
    most = None if wanted == "all" else wanted
    return Fitting([sorted(task.order.places[:most]) for task in tasks])


def _facts(results: Mapping[str, Any], task: TaskSamples, name: str, places: Sequence[int]) -> dict[str, Any]:
    """Return the data on a task for the page's script."""
    main = task.order.main
    return {
        "name": name,
        "title": title_of(results, "task", name),
        "metric": clean(main.label) if main else None,
        "scales": {clean(one.label): _scale(one, task) for one in metrics_of(results["tasks"][name])},
        "lower": {clean(label): is_lower for label, is_lower in _directions(results["tasks"][name])},
        "columns": [*_subset_columns(results["tasks"][name])],
        "is_lower_better": bool(main and main.is_lower_better),
        "shown": len(places),
        "total": len(task.order.places),
        "failed": task.order.n_failed,
        "failed_shown": sum(task.order.failed[place] for place in places),
    }


def _directions(task: Mapping[str, Any]) -> Iterator[tuple[str, bool | None]]:
    """The metrics of a task: whether a lower value is better; ``None``: neither is."""
    for result in task.get("results", ()):
        if not result.get("subset"):
            is_higher_better = result.get("higher_is_better")
            label = score_label(str(result["metric"]), str(result.get("filter")))
            yield label, None if is_higher_better is None else not is_higher_better


def _subset_columns(task: Mapping[str, Any]) -> dict[str, None]:
    """The columns of the dataset whose values name subsets, as tables have them."""
    paths: Iterator[Sequence[Any]] = (result.get("subset") or () for result in task.get("results", ()))
    return dict.fromkeys(str(path[0]) for path in paths if len(path) == 2)


def _scale(metric: MainMetric, task: TaskSamples) -> list[float] | None:
    """Return the ends of a metric's axis, as for the same sample in the viewer; ``None``: it has none."""
    found = axis(metric.bounds, task.order.extents.get(metric.label, ()))
    return None if found is None else [found.low, found.high]


def _write_samples(file: Any, tasks: Sequence[TaskSamples], shown: Fitting) -> tuple[list[str], list[str], int]:
    """Write the shown samples as JSON, separated by commas; return the names of their media and of their videos, each
    once, and the number of bytes.
    """
    names: dict[str, None] = {}
    clips: dict[str, None] = {}
    n_bytes = 0
    texts: list[str] = []
    comma = ""
    for task, places in zip(tasks, shown.places, strict=True):
        for place in places:
            cut = shown.cuts.get((task.number, place)) or task.cut(place)
            if cut.files:
                names.update(dict.fromkeys(cut.files))
            clips.update(dict.fromkeys(cut.clips))
            texts.append(cut.text)
            n_bytes += cut.n_bytes
            if len(texts) == _WRITTEN_AT_ONCE:
                file.write(comma + writable(",".join(texts)))
                comma, texts = ",", []
    if texts:
        file.write(comma + writable(",".join(texts)))
    return [*names], [*clips], n_bytes


@dataclass(slots=True)
class _SampleCounts:
    """The counts of the media."""

    smaller: int = 0
    missing: int = 0
    left_out: int = 0


def _write_media(
    file: Any, names: Sequence[str], clips: Sequence[str], media: PageMedia, shown: Fitting, room: int
) -> _SampleCounts:
    """Write the media of the samples shown as a JSON object, and of their videos those that the rest of the room holds:
    without them, their frames are shown.
    """
    counts = _SampleCounts(left_out=len(shown.left_out))
    comma = "{"
    for name, one in _embedded([name for name in names if name not in shown.left_out], media, shown):
        if one is None:
            counts.missing += 1
            continue
        counts.smaller += one.size is not None
        text = f"{comma}{script_json(name)}:{one.json()}"
        room -= len(text)
        file.write(text)
        comma = ","
    for name in clips:
        n_bytes = media.uri_size(name)
        clip = media.whole(name) if 0 < n_bytes <= room else None
        if clip is not None:
            room -= n_bytes
            file.write(f"{comma}{script_json(name)}:{clip.json()}")
            comma = ","
    file.write("{}" if comma == "{" else "}")
    return counts


def _embedded(names: Sequence[str], media: PageMedia, shown: Fitting) -> Iterator[tuple[str, Embedded | None]]:
    """Each name with its medium; a few are in memory at a time, besides those that are scaled down already."""
    if not shown.is_smaller:
        yield from ((name, media.whole(name)) for name in names)
    elif shown.thumbnails:
        yield from ((name, shown.thumbnails[name]) for name in names)
    else:
        context = copy_context()
        with thumbnail_pool() as pool:
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                yield from zip(some, pool.map(lambda name: context.copy().run(media.small, name), some), strict=True)


def _pieces(file: Any) -> Iterator[str]:
    file.seek(0)
    while piece := file.read(_PIECE):
        yield piece


def _statement(
    facts: Sequence[Mapping[str, Any]], media: _SampleCounts, max_bytes: int | None, *, is_partial: bool
) -> list[str]:
    n_shown, n_total = (sum(one[key] for one in facts) for key in ("shown", "total"))
    n_failed, n_failed_shown = (sum(one[key] for one in facts) for key in ("failed", "failed_shown"))
    place = "journal.db" if is_partial else "samples/*.jsonl"
    ended = " that have ended" if is_partial else ""
    if n_shown == n_total:
        sentences = [f"All {count(n_total, 'sample')}{ended} are in this report and in {place} of the run folder."]
    else:
        failed = (
            f"{n_failed_shown:,} of the {n_failed:,} without a score"
            if n_failed_shown < n_failed
            else "all without a score"
        )
        chosen = f"{failed}, the worst" if n_failed else "the worst"
        why = f", as many as fit {max_bytes / 1e6:g} MB" if max_bytes is not None else ""
        sentences = [
            f"{n_shown:,} of {n_total:,} samples{ended} are in this report{why}: first {chosen}, and an even spread of "
            f"the others. All are in {place} of the run folder, and in polymeter view."
        ]
    if media.smaller:
        sentences.append(f"{count(media.smaller, 'image')} scaled down to keep the report small.")
    if media.left_out:
        sentences.append(f"{count(media.left_out, 'image')} left out to keep the report small; see media/.")
    if media.missing:
        sentences.append(f"{count(media.missing, 'image')} could not be read from media/.")
    return sentences
