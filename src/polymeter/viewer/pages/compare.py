"""Two or three runs sample by sample, those that differ first, below the comparison of their numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PolymeterError
from polymeter.core.records.stored_samples import answer_text, error_text, first_messages, text_of
from polymeter.report.comparison.page import comparison_values
from polymeter.report.formatting import clip, number, one_line
from polymeter.viewer.comparing import SHOWN, ComparedRuns, compared
from polymeter.viewer.filters import PLACES
from polymeter.viewer.indexes import run_state
from polymeter.viewer.pages.sample import shown_blocks
from polymeter.viewer.pages.samples import images_of_sample
from polymeter.viewer.site import ALLOWED, NotFoundError, PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_AT_ONCE = 20
_LONGEST = 600


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the page. A script requests the comparison of the numbers, because it may take a few seconds."""
    if not asked.all("run"):
        return viewer.html("compare_choose.html", runs=[run for run in viewer.shelf.runs() if not run.trouble])
    own = compared(viewer, asked)
    if not own.is_ready:
        return viewer.html("compare_waiting.html", own=own, here=own.address())
    order = own.order()
    n_pages = max(1, -(-len(order) // _AT_ONCE))
    page = min(max(asked.number("page", 1), 1), n_pages)
    positions = [int(position) for position in order[(page - 1) * _AT_ONCE : page * _AT_ONCE]]
    return viewer.html(
        "compare.html",
        own=own,
        filters=own.filters,
        cards=[_card(own, position, row) for position, row in zip(positions, own.read(positions), strict=True)],
        n_found=len(order),
        n_all=own.n_in_all(),
        shown=[*SHOWN.items(), *((f"won:{key}", f"Better: {_name(own, key)} ({n:,})") for key, n in own.won().items())],
        places=[*PLACES],
        page=page,
        n_pages=n_pages,
        before=own.address("", (("page", str(page - 1)),)) if page > 1 else "",
        after=own.address("", (("page", str(page + 1)),)) if page < n_pages else "",
    )


def summary(viewer: Viewer, asked: PageRequest) -> Response:
    """Show the comparison of the numbers, with intervals and tests, as ``polymeter compare`` prints it."""
    own = compared(viewer, asked)
    allow = [what for what in ALLOWED if what in asked.all("allow")]
    folders = [side.folder for side in own.sides]
    paths = [folder.path for folder in folders]
    states = tuple(run_state(folder, own.task) for folder in folders)
    told: dict[str, Any] = {"own": own, "allow": allow, "allowed": ALLOWED, "trouble": "", "hint": ""}
    try:
        document = viewer.remember(("compare", *paths, states, *allow), lambda: viewer.services.compare(paths, allow))
        told |= comparison_values(document)
    except PolymeterError as error:
        told |= {"trouble": error.what, "hint": error.hint or ""}
    return viewer.html("compare_part.html" if asked.is_part else "compare_summary.html", **told)


def one(viewer: Viewer, asked: PageRequest) -> Response:
    """One sample of all runs, whole, side by side."""
    own = compared(viewer, asked)
    if not own.is_ready:
        return viewer.html("compare_waiting.html", own=own, here=own.address())
    position = own.sides[0].position(asked.number("index"))
    order = own.order()
    if position is None or any(places[position] < 0 for places in own.places):
        raise NotFoundError("Not all of the runs have this sample.", hint="Choose one in the list of samples.")
    place = next((int(place) for place in (order == position).nonzero()[0]), None)
    (row,) = own.read([position])
    around = {step: _beside(own, order, place, step) for step in (-1, 1)}
    return viewer.html(
        "compare_sample.html",
        own=own,
        name=one_line(str(row[0]["id"])),
        sides=[
            {
                "run": side.run,
                "blocks": shown_blocks(side, sample, f"s{number}"),
                "address": side.address("sample", (("index", str(sample["index"])),)),
            }
            for number, (side, sample) in enumerate(zip(own.sides, row, strict=True))
        ],
        place=place,
        n_found=len(order),
        before=around[-1],
        after=around[1],
    )


def _beside(own: ComparedRuns, order: Any, place: int | None, step: int) -> str:
    if place is None or not 0 <= place + step < len(order):
        return ""
    (index,) = own.sides[0].indices([int(order[place + step])])
    return own.address("/sample", (("index", str(index)),))


def _card(own: ComparedRuns, position: int, row: list[Any]) -> dict[str, Any]:
    """Return a sample as one card: the prompt once, and the answer of each run."""
    first = row[0]
    values = [float(value) for value in own.values[:, position]]
    known = [value for value in values if not math.isnan(value)]
    main = own.sides[0].main
    best = None
    if main is not None and len({*known}) > 1:
        best = min(known) if main.is_lower_better else max(known)
    images = [*images_of_sample(own.sides[0], first, generated=False)]
    return {
        "name": clip(one_line(str(first["id"])), 80),
        "address": own.address("/sample", (("index", str(first["index"])),)),
        "prompt": clip(text_of(first_messages(first)), _LONGEST),
        "target": None if first["target"] is None else clip(str(first["target"]), _LONGEST),
        "images": images[:2],
        "sides": [
            {
                "name": side.run.name,
                "answer": clip(answer_text(sample) or "", _LONGEST),
                "error": clip(error_text(sample), _LONGEST),
                "value": "–" if math.isnan(value) else number(value),
                "is_best": best is not None and value == best,
                "images": [*images_of_sample(side, sample, given=False)][:2],
            }
            for side, sample, value in zip(own.sides, row, values, strict=True)
        ],
    }


def _name(own: ComparedRuns, key: str) -> str:
    return next(side.run.name for side in own.sides if side.run.key == key)


PAGES = (
    ViewerPage("/compare", show, menu="Compare", order=30),
    ViewerPage("/compare/summary", summary),
    ViewerPage("/compare/sample", one),
)
