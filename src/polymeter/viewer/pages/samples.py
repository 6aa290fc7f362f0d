"""The samples of a task: filters, and one page of rows from the journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from polymeter.core.records.stored_samples import (
    answer_text,
    error_text,
    first_messages,
    images_of,
    media_of,
    named,
    text_of,
)
from polymeter.report.formatting import clip, count, number, one_line
from polymeter.store.media import media_path
from polymeter.viewer.browsing import Browsed, browsed, other_runs
from polymeter.viewer.filters import PLACES, SORTS, STATES, found_in
from polymeter.viewer.pages.media import address_of
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

PATH = "/run/{run}/samples"
AT_ONCE = 50
"""Samples on one page."""
_GIST = 160
_MOST_LISTED = 200
_MOST_SHOWN_FIELDS = 6


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    own = browsed(viewer, asked)
    if own.found.index is None:
        return viewer.run_html("waiting.html", own.run, PATH, own=own, here=own.address("samples"))
    selection = own.selection()
    n_pages = max(1, -(-len(selection) // AT_ONCE))
    page = min(max(asked.number("page", 1), 1), n_pages)
    start = (page - 1) * AT_ONCE
    positions = [int(position) for position in selection.positions[start : start + AT_ONCE]]
    samples = own.read(positions)
    return viewer.run_html(
        "samples.html",
        own.run,
        PATH,
        own=own,
        filters=own.filters,
        rows=[_row(own, sample) for sample in samples],
        n_found=len(selection),
        start=start,
        page=page,
        n_pages=n_pages,
        before=own.address("samples", (("page", str(page - 1)),)) if page > 1 else "",
        after=own.address("samples", (("page", str(page + 1)),)) if page < n_pages else "",
        chips=[(said, own.address("samples", query=rest)) for said, rest in own.filters.chips()],
        exports=[(kind, own.address(f"export.{kind}")) for kind in ("csv", "parquet", "jsonl")],
        here=own.address("samples"),
        **_choices(viewer, own),
    )


def _choices(viewer: Viewer, own: Browsed) -> Mapping[str, Any]:
    """Return the values that the filters offer."""
    index = own.found.index
    assert index is not None
    fields = sorted(index.fields.items(), key=lambda entry: len(entry[1]))[:_MOST_SHOWN_FIELDS]
    chosen = {name for name, _ in own.filters.categories}
    fields += [(name, counts) for name, counts in index.fields.items() if name in chosen and name not in dict(fields)]
    return {
        "states": [state for state in STATES if state in ("failed", "unscored") or own.main is not None],
        "statuses": index.statuses,
        "subsets": found_in(index.subsets, _MOST_LISTED),
        "fields": [(name, found_in(counts, _MOST_LISTED)) for name, counts in fields],
        "metrics": index.metrics,
        "places": [*PLACES],
        "sorts": SORTS,
        "others": [*other_runs(viewer, own.run, own.task)] if own.main is not None else [],
    }


def _row(own: Browsed, sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample as one line of the list."""
    messages = first_messages(sample)
    notes, drawn = own.notes_on(str(sample["id"])), images_of(sample)
    return {
        "index": int(sample["index"]),
        "id": one_line(str(sample["id"])),
        "address": own.address("sample", (("index", str(sample["index"])),)),
        "subset": "/".join(one_line(str(part)) for part in sample["subset"] or ()),
        "status": sample["status"],
        "error": clip(one_line(error_text(sample)), _GIST),
        "prompt": _gist(text_of(messages)),
        "answer": _gist(answer_text(sample)) or (count(len(drawn), "image") if drawn else ""),
        "target": _gist(sample["target"]),
        "scores": [*_scores(own, sample)],
        "images": [*images_of_sample(own, sample)][:1],
        "tags": [*dict.fromkeys(tag for note in notes for tag in note.tags)],
        "n_notes": len(notes),
    }


def _scores(own: Browsed, sample: Mapping[str, Any]) -> Iterator[tuple[str, str, bool | None]]:
    """The first few numbers of a sample: name, value, and whether it is right."""
    for score in sample["scores"][:3]:
        name = named(str(score["metric"]), str(score["filter"]))
        value = score["value"].get("score") if isinstance(score["value"], Mapping) else score["value"]
        is_right = None
        main = own.main
        if main is not None and main.name in (name, f"{name}/score") and isinstance(value, (int, float)):
            is_right = value < main.middle if main.is_lower_better else value > main.middle
        yield one_line(name), clip(number(value), 24), is_right


def images_of_sample(
    own: Browsed, sample: Mapping[str, Any], *, given: bool = True, generated: bool = True
) -> Iterator[str]:
    """The addresses of a sample's images, those that the model made before those that it was given."""
    names = [*images_of(sample)] if generated else []
    if given:
        noted = media_of(first_messages(sample))
        names += [str(note["file"]) for kind, note in noted if kind != "audio" and note.get("file")]
    for name in names:
        if media_path(own.folder.media, name).exists():
            yield address_of(own.run.key, name)


def _gist(text: Any) -> str:
    return "" if text is None else clip(one_line(str(text)[: 4 * _GIST]), _GIST)


PAGES = (ViewerPage(PATH, show, tab="Samples", order=20),)
