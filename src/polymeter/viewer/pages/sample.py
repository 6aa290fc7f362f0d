"""One sample with everything that is known about it, and links to the previous and next one that pass the filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from polymeter.core.errors import PlanError
from polymeter.core.text.json_text import json_text
from polymeter.report.content import Block, BlockView, RunMedia, blocks, heading
from polymeter.report.formatting import one_line
from polymeter.store.exports.export import read_some
from polymeter.viewer.browsing import Browsed, browsed
from polymeter.viewer.pages.media import address_of
from polymeter.viewer.pages.samples import AT_ONCE
from polymeter.viewer.pages.verdicts import form
from polymeter.viewer.site import NotFoundError, PageRequest, Viewer, ViewerPage, see

if TYPE_CHECKING:
    from starlette.responses import Response

_PATH = "/run/{run}/sample"
_SAMPLES = "/run/{run}/samples"


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page. A sample is named by its index, or by its id, which leads to the address with the index."""
    own = browsed(viewer, asked)
    if own.found.index is None:
        return viewer.run_html("waiting.html", own.run, _SAMPLES, own=own, here=own.address("samples"))
    if asked.get("id"):
        return see(own.address("sample", (("index", str(_index_of(own, asked.get("id")))),)))
    index = asked.number("index")
    position, read = own.position(index), _read(own, index)
    if not read or position is None:
        raise NotFoundError(
            f"No sample number {index} has ended in {own.title}.", hint="Choose one in the list of samples."
        )
    sample = read[0]
    name = str(sample["id"])
    view = replace(sample_view(own, sample), is_headed=True)
    here = own.address("sample", (("index", str(index)),))
    return viewer.run_html(
        "sample.html",
        own.run,
        _SAMPLES,
        own=own,
        sample=sample,
        name=one_line(name),
        heading=heading(view),
        notes=own.notes_on(name),
        verdicts=form(own, sample),
        blind=own.blind.get(name, ()),
        here=here,
        blocks=blocks(view),
        **_steps(own, position),
    )


def raw(viewer: Viewer, asked: PageRequest) -> Response:
    """The sample as it is stored, as a JSON file: texts that are too long for a page are whole in it."""
    from starlette.responses import Response

    own = browsed(viewer, asked)
    index = asked.number("index")
    read = read_some(own.folder, own.task, [index]) if own.found.index is None else _read(own, index)
    if not read:
        raise NotFoundError(
            f"No sample number {index} has ended in {own.title}.", hint="Choose one in the list of samples."
        )
    text = json_text(read[0], indent=2) + "\n"
    headers = {"content-disposition": f'attachment; filename="sample-{index}.json"', "cache-control": "no-store"}
    return Response(text.encode("utf-8", "replace"), media_type="application/json", headers=headers)


def _read(own: Browsed, index: int) -> list[dict[str, Any]]:
    position = own.position(index)
    return [] if position is None else own.read([position])


def shown_blocks(own: Browsed, sample: Mapping[str, Any], key: str = "") -> list[Block]:
    """Return the blocks of a sample that stands beside others.

    Args:
        own: Its task in its run.
        sample: The sample.
        key: A word that distinguishes it from others on the same page.
    """
    return blocks(sample_view(own, sample, key))


def sample_view(own: Browsed, sample: Mapping[str, Any], key: str = "") -> BlockView:
    """Return the data of a sample's blocks; arguments as for ``shown_blocks``."""
    media = RunMedia(own.folder.media, lambda name: address_of(own.run.key, name))
    extents = {} if own.found.index is None else own.found.index.facts["metrics"]
    return BlockView(own.task, sample, media, own.of_task, own.folder.read_manifest(), key, extents)


def _index_of(own: Browsed, name: str) -> int:
    assert own.found.index is not None
    place = pc.index(own.found.index.texts("id"), name).as_py()
    if place < 0:
        raise NotFoundError(f"No sample {name!r} has ended in {own.title}.", hint="Choose one in the list of samples.")
    return own.indices([place])[0]


def _steps(own: Browsed, position: int) -> dict[str, Any]:
    """Return the place of the sample among those that pass the filters, and the links to its neighbours."""
    try:
        selection = own.selection()
    except PlanError:  # such as a run that was deleted, to which a filter compares
        return {"place": None, "n_found": 0, "before": "", "after": "", "page": 1}
    place = selection.place_of(position)
    around: dict[int, str] = {}
    if place is not None:
        for step in (-1, 1):
            if 0 <= place + step < len(selection):
                beside = own.indices([int(selection.positions[place + step])])[0]
                around[step] = own.address("sample", (("index", str(beside)),))
    return {
        "place": place,
        "n_found": len(selection),
        "before": around.get(-1, ""),
        "after": around.get(1, ""),
        "page": 1 if place is None else place // AT_ONCE + 1,
    }


PAGES = (ViewerPage(_PATH, show), ViewerPage(f"{_PATH}.json", raw))
