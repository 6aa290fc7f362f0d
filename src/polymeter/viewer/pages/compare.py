"""Two or three runs: the verdict and its numbers first, then their samples side by side, those that differ first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PolymeterError
from polymeter.core.records.stored_samples import answer_text, error_text, first_messages, media_of, text_of
from polymeter.report.comparison.page import comparison_values
from polymeter.report.comparison.text import value as short_value
from polymeter.report.formatting import clip, listing, number, one_line
from polymeter.report.scales import Scale
from polymeter.report.value_step import value_step
from polymeter.viewer.choosing import MOST_RUNS, Chosen, chosen, pairs
from polymeter.viewer.comparing import ComparedRuns, compared
from polymeter.viewer.filters import PLACES
from polymeter.viewer.indexes import run_state
from polymeter.viewer.pages.sample import shown_blocks
from polymeter.viewer.pages.samples import images_of_sample
from polymeter.viewer.site import ALLOWED, PAIRED_BY, NotFoundError, PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_AT_ONCE = 20
_LONGEST, _LONGEST_HEAD = 600, 140
_ALLOW = re.compile(r"--allow ([a-z,]+)")
_PAIR_BY = re.compile(r"--pair-by ([a-z]+)")
_QUICK = 4_000
"""The most samples of all runs together whose numbers are computed with the page: about 0.3 s. Those of more samples
follow, while the page shows the values of each run.
"""


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the page, or the choice of runs if they do not make a comparison yet."""
    choice = chosen(viewer, asked)
    if len(choice.runs) < 2 or choice.trouble:
        return _choose(viewer, choice)
    own = compared(viewer, asked)
    if not own.is_ready:
        return viewer.html("compare_waiting.html", own=own, here=own.address(), **_chooser(choice))
    order = own.order
    n_pages = max(1, -(-len(order) // _AT_ONCE))
    page = min(max(asked.number("page", 1), 1), n_pages)
    positions = [int(position) for position in order[(page - 1) * _AT_ONCE : page * _AT_ONCE]]
    return viewer.html(
        "compare.html",
        own=own,
        filters=own.filters,
        cards=[_card(own, position, row) for position, row in zip(positions, own.read(positions), strict=True)],
        n_found=len(order),
        outcomes=[(key, words, n, own.address(shown=key)) for key, words, n in own.outcomes()],
        places=[*PLACES],
        page=page,
        n_pages=n_pages,
        before=own.address("", (("page", str(page - 1)),)) if page > 1 else "",
        after=own.address("", (("page", str(page + 1)),)) if page < n_pages else "",
        **_chooser(choice, own),
        **_numbers_at_once(viewer, own),
    )


def summary(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the comparison of the numbers, with intervals and tests, as ``polymeter compare`` prints it."""
    own = compared(viewer, asked)
    numbers = _numbers(viewer, own)
    if asked.is_part:
        return viewer.html("compare_part.html", own=own, **numbers)
    return viewer.html("compare_summary.html", own=own, **numbers, **_chooser(own.choice, own))


def one(viewer: Viewer, asked: PageRequest) -> Response:
    """One sample of all runs, whole, side by side."""
    own = compared(viewer, asked)
    if not own.is_ready:
        return viewer.html("compare_waiting.html", own=own, here=own.address(), **_chooser(own.choice))
    position = own.sides[0].position(asked.number("index"))
    order = own.order
    if position is None or any(places[position] < 0 for places in own.places):
        raise NotFoundError("Not all of the runs have this sample.", hint="Choose one in the list of samples.")
    place = next((int(place) for place in (order == position).nonzero()[0]), None)
    (row,) = own.read([position])
    around = {step: _beside(own, order, place, step) for step in (-1, 1)}
    return viewer.html(
        "compare_sample.html",
        own=own,
        title=_head(row[0]),
        outcome=_outcome(own, position),
        sides=[
            {
                "label": label,
                "value": chip,
                "blocks": shown_blocks(side, sample, f"s{place_of}"),
                "address": side.address("sample", (("index", str(sample["index"])),)),
            }
            for place_of, (side, label, sample, chip) in enumerate(
                zip(own.sides, own.labels, row, _values(own, position), strict=True)
            )
        ],
        place=place,
        n_found=len(order),
        before=around[-1],
        after=around[1],
    )


def _choose(viewer: Viewer, choice: Chosen) -> Response:
    """Show the choice of runs: with the reason if the chosen ones cannot be compared, and with pairs that can."""
    runs = choice.every
    if choice.runs:  # pairs of the first chosen run, the newest first
        first = choice.runs[0]
        found = [pair for other in runs if other != first for pair in pairs((other, first))]
    else:
        found = [*pairs(runs)]
    return viewer.html(
        "compare_choose.html",
        code=400 if len(choice.runs) > MOST_RUNS else 200,
        reason=choice.trouble,
        pairs=found[:12],
        first=choice.labels[0] if choice.runs else "",
        **_chooser(choice),
    )


def _chooser(choice: Chosen, own: ComparedRuns | None = None) -> dict[str, Any]:
    """Return the values of ``compare_chooser.html``."""
    return {
        "slots": choice.slots,
        "tasks": own.tasks if own is not None else [(task, task) for task in choice.tasks if len(choice.runs) > 1],
        "task": own.task if own is not None else choice.task,
        "allow": choice.allow,
        "allowed": ALLOWED,
        "pair_by": choice.pair_by,
        "paired_by": PAIRED_BY,
    }


def _numbers_at_once(viewer: Viewer, own: ComparedRuns) -> dict[str, Any]:
    """Return the numbers if that is quick; else the value of each run, which is in its results already."""
    is_quick = sum(side.run.n_planned for side in own.sides) <= _QUICK
    if is_quick or viewer.remembers(_numbers_key(own)):
        return {"is_computed": True, **_numbers(viewer, own)}
    return {"is_computed": False, "trouble": "", "known": [*_known(own)]}


def _numbers(viewer: Viewer, own: ComparedRuns) -> dict[str, Any]:
    paths, allow, pair_by = [side.folder.path for side in own.sides], own.choice.allow, own.choice.pair_by
    try:
        document = viewer.remember(_numbers_key(own), lambda: viewer.services.compare(paths, allow, pair_by))
    except PolymeterError as error:
        hint = error.hint or ""
        return {
            "trouble": error.what,
            "hint": hint,
            "permit": _permit(own, hint),
            "pair": _pair(own, f"{error.what} {hint}"),
        }
    return {"trouble": "", "hint": "", "permit": None, "pair": None, **comparison_values(document, own.labels)}


def _pair(own: ComparedRuns, error: str) -> tuple[str, str] | None:
    """Return what an error suggests to pair samples by, and the address of the comparison that does."""
    found = _PAIR_BY.search(error)
    return (found[1], own.address("", [("pair", found[1])])) if found and found[1] in PAIRED_BY else None


def _permit(own: ComparedRuns, hint: str) -> tuple[str, str] | None:
    """Return the differences that an error suggests to allow, and the address of the comparison that allows them."""
    found = _ALLOW.search(hint)
    asked = [what for what in (found[1].split(",") if found else ()) if what in ALLOWED]
    if not asked:
        return None
    return listing(asked), own.address("", [("allow", what) for what in asked])


def _numbers_key(own: ComparedRuns) -> tuple[Any, ...]:
    states = tuple(run_state(side.folder, own.task) for side in own.sides)
    return ("compare", *(side.folder.path for side in own.sides), states, *own.choice.allow, own.choice.pair_by)


def _known(own: ComparedRuns) -> Iterator[dict[str, str]]:
    """Return the first value of the task in each run, from its results."""
    for side, label in zip(own.sides, own.labels, strict=True):
        result: Mapping[str, Any] = next(iter(side.of_task.get("results") or ()), {})
        ends = result.get("interval")
        yield {
            "label": label,
            "metric": one_line(str(result.get("metric") or "")),
            "value": short_value(result.get("value")),
            "interval": f"{short_value(ends[0])} to {short_value(ends[1])}" if ends else "",
        }


def _beside(own: ComparedRuns, order: Any, place: int | None, step: int) -> str:
    if place is None or not 0 <= place + step < len(order):
        return ""
    (index,) = own.sides[0].indices([int(order[place + step])])
    return own.address("/sample", (("index", str(index)),))


def _card(own: ComparedRuns, position: int, row: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a sample as one card: the question once, and the answer of each run."""
    first = row[0]
    prompt = text_of(first_messages(first))
    head = _head(first)
    images = [*images_of_sample(own.sides[0], first, generated=False)]
    best = own.best(position)
    return {
        **head,
        "address": own.address("/sample", (("index", str(first["index"])),)),
        # A head that holds the whole prompt needs no copy below it.
        "prompt": "" if one_line(prompt) in ("", head["head"]) else clip(prompt, _LONGEST),
        "target": None if first["target"] is None else clip(str(first["target"]), _LONGEST),
        "images": images[:2],
        "outcome": _outcome(own, position),
        "sides": [
            {
                "label": label,
                "answer": clip(answer_text(sample) or "", _LONGEST),
                "error": clip(error_text(sample), _LONGEST),
                "value": chip,
                "is_best": is_best,
                "images": [*images_of_sample(side, sample, given=False)][:2],
            }
            for side, label, sample, chip, is_best in zip(
                own.sides, own.labels, row, _values(own, position), best, strict=True
            )
        ],
    }


def _head(sample: Mapping[str, Any]) -> dict[str, str]:
    """Return the head of a sample: its question, else its file, else its id; and the file and id beside it."""
    messages = first_messages(sample)
    asked = [text_of([message]) for message in messages if message.get("role") == "user"]
    question = one_line(next((text for text in reversed(asked) if text.strip()), ""))
    file = next((one_line(str(note["name"])) for _, note in media_of(messages) if note.get("name")), "")
    name = one_line(str(sample["id"]))
    return {
        "head": clip(question or file or f"Sample {name}", _LONGEST_HEAD),
        "file": clip(file, 60) if question else "",
        "name": clip(name, 80),
    }


def _values(own: ComparedRuns, position: int) -> list[tuple[str, int | None]]:
    """Return the value of a sample in each run as text, with its step on the colour scale."""
    main = own.sides[0].main
    shown: list[tuple[str, int | None]] = []
    for value in map(float, own.values[:, position]):
        if main is None or math.isnan(value):
            shown.append(("no score", None))
            continue
        scale = Scale(main.low, main.high) if main.low < main.high else None
        shown.append((number(value), value_step(value, scale, is_lower_better=main.is_lower_better)))
    return shown


def _outcome(own: ComparedRuns, position: int) -> tuple[str, str]:
    """Return the outcome of a sample in words, and its tone: that of the last run against the first."""
    values = own.values[:, position]
    missing = [label for label, value in zip(own.labels, values, strict=True) if math.isnan(value)]
    if missing:
        return f"no score in {' and '.join(missing)}", ""
    winner = next((place for place, is_best in enumerate(own.best(position)) if is_best), None)
    if winner == 0 and len(values) == 2:
        return f"worse in {own.labels[1]}", "loss"
    if winner is not None:
        return f"better in {own.labels[winner]}", "gain" if winner else "loss"
    return ("equal", "") if len({*map(float, values)}) == 1 else ("shared best", "")


PAGES = (
    ViewerPage("/compare", show, menu="Compare", order=30),
    ViewerPage("/compare/summary", summary),
    ViewerPage("/compare/sample", one),
)
