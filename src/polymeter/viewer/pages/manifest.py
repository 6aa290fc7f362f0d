"""The records in a run's manifest, and the differences to that of another run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.report.run.provenance import Section, provenance
from polymeter.viewer.browsing import other_runs
from polymeter.viewer.overview.records import in_order, machine, measured, settings
from polymeter.viewer.shelf import RunInShort
from polymeter.viewer.site import PageRequest, Viewer, ViewerPage

if TYPE_CHECKING:
    from starlette.responses import Response

_PATH = "/run/{run}/manifest"
_ABSENT = "–"


def show(viewer: Viewer, asked: PageRequest) -> Response:
    """The page."""
    run = viewer.run(asked)
    manifest = viewer.shelf.open(run).read_manifest()
    sections = provenance(manifest)
    against = asked.get("against")
    other = viewer.run_named(against) if against and against != run.key else None
    return viewer.run_html(
        "manifest.html",
        run,
        _PATH,
        heads=[
            ("What was measured", measured(manifest)),
            ("Settings", settings(manifest)),
            ("Machine and versions", machine(manifest)),
        ],
        sections=in_order(sections),
        others=[*other_runs(viewer, run)],
        other=other,
        differences=_differences(sections, _sections(viewer, other)) if other else [],
    )


def _sections(viewer: Viewer, run: RunInShort) -> list[Section]:
    return provenance(viewer.shelf.open(run).read_manifest())


def _differences(own: list[Section], theirs: list[Section]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return the different records of two manifests, by section: label and both values."""
    tables = [
        {section.title: dict(section.pairs) if section.pairs else {"": section.text} for section in sections}
        for sections in (own, theirs)
    ]
    found = []
    for title in dict.fromkeys([*tables[0], *tables[1]]):
        first, second = (table.get(title, {}) for table in tables)
        lines = [
            (label, first.get(label, _ABSENT), second.get(label, _ABSENT))
            for label in dict.fromkeys([*first, *second])
            if first.get(label) != second.get(label)
        ]
        if lines:
            found.append((title, lines))
    return found


PAGES = (ViewerPage(_PATH, show, tab="Manifest", order=40),)
