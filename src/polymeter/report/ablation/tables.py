"""Tables and sentences of ablations: on a terminal, and as Markdown and CSV.

Works on the document of ``polymeter.analysis.ablation.ablating``, so that a stored one can be shown as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.text.spreadsheets import csv_lines
from polymeter.report.comparison.text import interval, p_value, signed, value
from polymeter.report.formatting import DASH, count, one_line
from polymeter.report.grids import Heading, latex_table, markdown_table, terminal_table
from polymeter.report.render import at_least, escaped

if TYPE_CHECKING:
    from rich.console import Console

Score = Mapping[str, Any]
Table = tuple[str, list[Heading], list[list[str]]]
"""Its caption, headings and rows."""
WORTH, LEAKAGE = "What each part of the prompts is worth", "What leaks without media"
_SURE = {"helps", "hurts", "raises", "lowers"}
_CSV = (
    *("kind", "name", "metric", "filter", "is_main", "how", "n", "with", "without", "gain"),
    *("p_value", "p_corrected", "p_method", "verdict", "chance", "n_unchanged", "n_only_with", "n_only_without"),
)


def print_ablation(console: Console, document: Mapping[str, Any]) -> None:
    """Print the tables, their sentences, and what could not be done."""
    from rich.text import Text

    for _, headings, rows in tables(document):
        table, needed = terminal_table(headings, rows)
        with at_least(console, needed):
            console.print(table)
    for line in sentences(document):
        console.print(Text(line, style="bold"), soft_wrap=True)
    for line in troubles(document):
        console.print(Text(line, style="yellow"), soft_wrap=True)
    for line in legend(document):
        console.print(Text(line, style="dim"), soft_wrap=True)


def to_markdown(document: Mapping[str, Any]) -> str:
    """The tables as Markdown, with their sentences."""
    blocks = [markdown_table(headings, rows) for _, headings, rows in tables(document)]
    told = (*sentences(document), *troubles(document), *legend(document))
    return "\n\n".join([*blocks, "".join(f"- {escaped(line)}\n" for line in told)])


def to_latex(document: Mapping[str, Any]) -> str:
    """The tables as LaTeX, for the package booktabs; their sentences as comments."""
    told = "".join(f"% {line}\n" for line in (*sentences(document), *troubles(document), *legend(document)))
    return "\n\n".join([*(latex_table(headings, rows) for _, headings, rows in tables(document)), told])


def to_csv(document: Mapping[str, Any]) -> str:
    """All numbers as CSV: one line for each metric of each task and ablation."""
    rows = ([*(score[name] for name in _CSV), *(score["interval"] or ("", ""))] for score in document["scores"])
    return "".join(csv_lines([[*_CSV, "interval_low", "interval_high"], *rows]))


def tables(document: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the table of what each part is worth, and that of the leakage if it is known."""
    shown = [score for score in document["scores"] if _is_shown(score)]
    if shown:
        yield WORTH, *_worth(shown)
    leaks = [score for score in document["leakage"] if _is_shown(score)]
    if leaks:
        yield LEAKAGE, *_leakage(leaks)


def sentences(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the numbers without media say, one sentence for each task."""
    for score in document["scores"]:
        if _is_shown(score) and score["is_blind"]:
            yield _sentence(score)
    for task, own in document["blind"].items():
        n = document["n_samples"].get(task, 0)
        for how, ids in own.items():
            score = _score_of(document, task, how)
            if score is not None and ids:
                share = f", {len(ids) / n:.0%}".replace("%", " %") if n else ""
                yield (
                    f"{_task_of(score)}: {len(ids):,} of {count(score['n'], 'sample')}{share} are answered right "
                    f"{score['words']}."
                )


def troubles(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was not done or not compared, and why."""
    for one in document["runs"]:
        if one["status"] == "refused":
            yield f"{one['how']} was not run: {one_line(one['reason'])}"
        elif one["status"] == "unscored":
            yield f"{one['how']}: no sample has a score: {one_line(one['reason'])}"
        elif one["status"] != "complete":
            first, _, rest = one["reason"].partition("\n")
            reason = f": {one_line(first).rstrip('.')}" if first else ""
            same = "The same command with a higher cap" if "a higher cap" in rest else "The same command"
            yield f"{one['how']} has not ended (status {one['status']}){reason}. {same} continues it."
        for why in one["skipped"].values():
            yield f"{one['how']}: {one_line(why)}"
    for note in document["notes"]:
        yield one_line(note)
    for score in document["scores"]:
        if _is_shown(score) and score["n_unchanged"]:
            same = f"{score['n_unchanged']:,} of {count(score['n'], 'sample')} have no such part"
            yield f"{_task_of(score)}: {same}, and were asked the same ({score['how']})."


def legend(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the meaning of the columns."""
    shown = [score for score in document["scores"] if _is_shown(score)]
    if not shown:
        return
    yield (
        "gain: the score with the part less the score without it, over the same samples, with a 95 % interval; without "
        "media it is the multi-modal gain of MMStar (arXiv 2403.20330)."
    )
    size = max(score["family"] for score in shown)
    corrected = f", corrected for {size} tests (Holm)" if size > 1 else ""
    yield f"p: how likely so large a gain would be if the part made no difference{corrected}."
    if document["leakage"]:
        name = one_line(str(document["llm"]["name"]))
        yield f"leakage: the score without media less that of the language model alone ({name}), at least 0."
    elif any(score["is_blind"] for score in shown):
        yield "leakage: unknown without a run of the language model alone (--llm RUN)."


def label(score: Score) -> str:
    """Return the metric of a number, with the filter that answers went through."""
    name = one_line(str(score["metric"]))
    return name if score["filter"] in ("", "none") else f"{name}, {one_line(str(score['filter']))}"


def _is_shown(score: Score) -> bool:
    return bool(score["is_main"]) and score["kind"] != "subset"


def _task_of(score: Score) -> str:
    """The name of the task, which can be typed."""
    return one_line(str(score["name"]))


def _score_of(document: Mapping[str, Any], task: str, how: str) -> Score | None:
    found = (one for one in document["scores"] if _is_shown(one) and (one["name"], one["how"]) == (task, how))
    return next(found, None)


def _sentence(score: Score) -> str:
    head = f"{_task_of(score)}: {label(score)} is {value(score['with'])} with the whole prompt"
    if score["gain"] is None:
        return f"{_task_of(score)}: cannot tell; no sample has a score both ways."
    between = "" if score["interval"] is None else f"95 % interval {interval(score)}"
    p = "" if score["p_corrected"] is None else f"p {p_value(score['p_corrected']).replace('<', '< ')}"
    brackets = f" ({'; '.join(filter(None, (between, p)))})" if between or p else ""
    verdict = "" if score["verdict"] in _SURE else " No difference is shown."
    guess = "" if score["chance"] is None else f"; guessing gets {value(score['chance'])}"
    return (
        f"{head} and {value(score['without'])} {score['words']}{guess}: the gain is {signed(score['gain'])}{brackets}."
        f"{verdict}"
    )


def _worth(shown: Sequence[Score]) -> tuple[list[Heading], list[list[str]]]:
    has_chance = any(score["chance"] is not None for score in shown)
    headings = [
        Heading("task", is_number=False),
        Heading("metric", is_number=False),
        Heading("n"),
        Heading("with"),
        Heading("ablation"),
        Heading("without"),
        *([Heading("guessing")] if has_chance else []),
        Heading("gain"),
        Heading("95 % interval"),
        Heading("p"),
    ]
    rows = [
        [
            _task_of(score),
            label(score),
            f"{score['n']:,}",
            value(score["with"]),
            str(score["how"]),
            value(score["without"]),
            *([value(score["chance"])] if has_chance else []),
            signed(score["gain"]),
            interval(score),
            p_value(score["p_corrected"]),
        ]
        for score in sorted(shown, key=lambda one: _order(shown, one))
    ]
    return headings, rows


def _order(shown: Sequence[Score], score: Score) -> int:
    """Sort by task first: its ablations stand together."""
    return next(place for place, one in enumerate(shown) if one["name"] == score["name"])


def _leakage(leaks: Sequence[Score]) -> tuple[list[Heading], list[list[str]]]:
    headings = [
        Heading("task", is_number=False),
        Heading("metric", is_number=False),
        Heading("n"),
        Heading("language model"),
        Heading("ablation"),
        Heading("without"),
        Heading("leakage"),
        Heading("difference, 95 %"),
        Heading("p"),
    ]
    rows = [
        [
            _task_of(score),
            label(score),
            f"{score['n']:,}",
            value(score["llm"]),
            str(score["how"]),
            value(score["without"]),
            DASH if score["leakage"] is None else value(score["leakage"]),
            interval(score),
            p_value(score["p_corrected"]),
        ]
        for score in leaks
    ]
    return headings, rows
