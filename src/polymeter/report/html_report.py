"""The HTML report: one file with the table, the provenance and the samples of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from polymeter.report.choose import Choice, choose
from polymeter.report.columns import page_columns
from polymeter.report.extract import image_files, sample_data, script_json
from polymeter.report.failures import failures_of
from polymeter.report.formatting import clean, count
from polymeter.report.images import EmbeddedImages, LoadMedia, embed
from polymeter.report.page import MAX_BYTES, TEXT_SHARE, environment, make_page
from polymeter.report.provenance import headline, provenance
from polymeter.report.scales import MainMetric, bars, main_metric, sample_scale
from polymeter.report.table import footnotes, table_lines, title_of

SAMPLES_PER_TASK = 100
_FRAME_BYTES = 80_000
"""Room kept for everything but samples and images: the template, style, scripts, table and provenance."""
_STYLES = ("base.css", "table.css", "samples.css", "detail.css")
_SCRIPTS = ("dom.js", "diff.js", "exchange.js", "drawn.js", "answer.js", "detail.js", "samples.js")


@dataclass(frozen=True, slots=True)
class _Shown:
    """One task in the report: its facts, the samples shown, and the priority of each (0 the highest)."""

    task: dict[str, Any]
    samples: list[dict[str, Any]]
    ranks: list[int]


def make_html_report(
    manifest: Mapping[str, Any],
    results: Mapping[str, Any],
    samples: Callable[[str], Iterable[Mapping[str, Any]]],
    media: LoadMedia,
    *,
    samples_per_task: int = SAMPLES_PER_TASK,
    max_bytes: int = MAX_BYTES,
) -> str:
    """The report of a run as one self-contained HTML file. The same run gives the same report.

    Args:
        manifest: Content of ``run.json``.
        results: Content of ``results.json``.
        samples: The samples of a task, in order, as in ``samples/<task>.jsonl``. Read once, never held.
        media: Bytes and MIME type of a media file; ``None`` if there is no such file.
        samples_per_task: The number of samples of each task to show.
        max_bytes: Upper limit of the report's size; texts take at most half of it, images the remainder.
    """
    shown = _show_tasks(results, samples, samples_per_task, int(max_bytes * TEXT_SHARE))
    data = script_json({"tasks": [one.task for one in shown], "samples": [s for one in shown for s in one.samples]})
    image_budget = max(max_bytes - len(data.encode("utf-8", "replace")) - _FRAME_BYTES, 0)
    images = embed(_images_by_priority(shown), media, image_budget)
    lines = table_lines(results)
    head = headline(manifest, results)
    return make_page(
        "report.html",
        title=head.model,
        styles=_STYLES,
        scripts=_SCRIPTS,
        data=data,
        images=images.uris,
        head=head,
        rows=[*zip(lines, bars(lines), strict=True)],
        columns=page_columns(lines),
        footnotes=footnotes(results),
        failures=failures_of(results),
        provenance=provenance(manifest),
        statement=_statement(shown, images, is_partial=results.get("status") == "partial"),
        has_samples=any(one.samples for one in shown),
    )


def get_ready() -> None:
    """Import and compile what the page and the printed table are drawn with, while a run waits for something else."""
    for module in ("rich.console", "rich.table"):
        import_module(module)
    for template in ("page.html", "report.html", "table.html"):
        environment().get_template(template)


def _show_tasks(
    results: Mapping[str, Any], samples: Callable[[str], Iterable[Mapping[str, Any]]], limit: int, budget: int
) -> list[_Shown]:
    names = list(results.get("tasks", {}))
    shown: list[_Shown] = []
    for number, name in enumerate(names):
        share = budget // (len(names) - number)
        one, size = _show_task(results, name, number, samples(name), limit, share)
        shown.append(one)
        budget = max(budget - size, 0)
    return shown


def _show_task(
    results: Mapping[str, Any], name: str, number: int, samples: Iterable[Mapping[str, Any]], limit: int, budget: int
) -> tuple[_Shown, int]:
    task = results["tasks"][name]
    main: MainMetric | None = None

    def goodness(sample: Mapping[str, Any]) -> float | None:
        nonlocal main
        main = main or main_metric(task, sample)
        return main.goodness(sample) if main else None

    choice = choose(samples, limit, goodness)
    values = [v for s in choice.samples if main is not None and (v := main.value(s)) is not None]
    scale = sample_scale(values, main.typical, main.bounds) if main else None
    cut = {rank: sample_data(s, number, main, scale) for rank, s in zip(choice.ranks, choice.samples, strict=True)}
    kept: set[int] = set()
    size = 0
    for rank in sorted(cut):
        size += len(script_json(cut[rank]).encode("utf-8", "replace"))
        if size > budget and kept:
            break
        kept.add(rank)
    ranks = [rank for rank in choice.ranks if rank in kept]
    facts = {
        "name": name,
        "title": title_of(results, "task", name),
        "metric": clean(main.metric) if main else None,
        "lower": bool(main and main.is_lower_better),
        "shown": len(ranks),
        "total": choice.n_total,
        **_failures(choice, kept),
    }
    return _Shown(facts, [cut[rank] for rank in ranks], ranks), min(size, budget)


def _failures(choice: Choice, kept: set[int]) -> dict[str, int]:
    pairs = zip(choice.ranks, choice.samples, strict=True)
    return {
        "failed": choice.n_failed,
        "failed_shown": sum(s.get("status") != "ok" for rank, s in pairs if rank in kept),
    }


def _images_by_priority(shown: list[_Shown]) -> Iterator[str]:
    """File names: those of every task's sample of the highest priority, then those of the next."""
    ranked = [
        (rank, number, s) for number, one in enumerate(shown) for rank, s in zip(one.ranks, one.samples, strict=True)
    ]
    for _, _, sample in sorted(ranked, key=lambda entry: entry[:2]):
        yield from image_files(sample)


def _statement(shown: list[_Shown], images: EmbeddedImages, *, is_partial: bool) -> list[str]:
    n_shown, n_total = (sum(one.task[key] for one in shown) for key in ("shown", "total"))
    n_failed, n_failed_shown = (sum(one.task[key] for one in shown) for key in ("failed", "failed_shown"))
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
        sentences = [
            f"{n_shown:,} of {n_total:,} samples{ended} are in this report: {chosen}, and an even spread of the "
            f"others. All are in {place} of the run folder."
        ]
    if images.n_smaller:
        sentences.append(f"{count(images.n_smaller, 'image')} scaled down to keep the report small.")
    if images.n_left_out:
        sentences.append(f"{count(images.n_left_out, 'image')} left out to keep the report small; see media/.")
    if images.n_missing:
        sentences.append(f"{count(images.n_missing, 'image')} could not be read from media/.")
    return sentences
