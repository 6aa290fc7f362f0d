"""Writes a bundle: the viewer's own pages of some runs, with links between files instead of addresses.

Writing begins with the pages of the plan and follows their links to the pages that continue a list. A link to anything
that the bundle does not have becomes text.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from polymeter.core.errors import PlanError
from polymeter.core.names.registry import missing_package
from polymeter.report.formatting import count, listing, moment
from polymeter.viewer.browsing import browse
from polymeter.viewer.bundle import filtering
from polymeter.viewer.bundle.beside import FilesBeside
from polymeter.viewer.bundle.places import BundlePage, FileNames, place_of, with_task
from polymeter.viewer.bundle.plan import MOST_COMPARED, BundlePlan, make_plan
from polymeter.viewer.bundle.private import Private
from polymeter.viewer.bundle.rewriting import Surroundings, static_page
from polymeter.viewer.bundle.snapshot import CopiedIndexes, CopiedShelf, made_once
from polymeter.viewer.bundle.target import MARKER, replaced_folder, require_target
from polymeter.viewer.indexes import cache_folder
from polymeter.viewer.site import PageRequest, Query, Services, Viewer, ViewerPage, find_pages, shown

if TYPE_CHECKING:
    from starlette.responses import Response

MOST_SAMPLES = 2_000
"""The samples of a task that are written unless the user sets another limit."""
_MOST_LISTED = 8
_NAVS = {"task": ("Tasks", ""), "comparison": ("Comparisons with more or fewer runs", "Also compared:")}
"""The name of each list of links, and the words in front of it."""
_OF_SERVER = "vendor/htmx/"
"""The script that loads parts of pages: they are in the pages already."""
_MEDIUM = re.compile(r"/run/(?P<run>[^/]+)/media/(?P<name>[^/]+)")
_STATIC = re.compile(r"/static/(?P<name>[\w./-]+)")


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """The content of a bundle.

    Attributes:
        most_samples: The most samples of a task.
        has_media: Whether media are copied.
        has_notes: Whether the notes on samples are shown.
    """

    most_samples: int = MOST_SAMPLES
    has_media: bool = True
    has_notes: bool = True


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was written.

    Attributes:
        folder: Its folder.
        n_runs: The number of its runs.
        n_files: The number of its files.
        n_bytes: Their size.
        n_left_out: The number of samples that the limit left out.
    """

    folder: Path
    n_runs: int
    n_files: int
    n_bytes: int
    n_left_out: int


def write_bundle(
    folders: Sequence[Path],
    services: Services,
    target: Path,
    options: BundleOptions | None = None,
    *,
    journal_dirs: Sequence[Path] = (),
) -> Bundle:
    """Write the pages of the runs below some folders to a folder.

    Args:
        folders: Folders that hold runs, or run folders.
        services: Functions that pages need beside run folders.
        target: The folder to write. An earlier bundle is replaced once the new one is whole.
        options: The content.
        journal_dirs: Folders outside ``folders`` in which journals may lie.

    Raises:
        PlanError: if a package is missing, there is no run, there would be too many files, or ``target`` holds others.
        StorageError: if a file cannot be read or written.
    """
    options = options or BundleOptions()
    try:
        import starlette  # noqa: F401  (pages are its responses; it is named if it is missing)
    except ImportError:
        raise missing_package("starlette", "'polymeter view'", "viewer") from None
    require_target(target)
    shelf = CopiedShelf(folders, journal_dirs)
    if not shelf.runs():
        raise PlanError(
            f"No run was found in {', '.join(map(str, folders))}.",
            hint="Name a run folder, or a folder with run folders: 'polymeter run' creates them in runs/.",
        )
    indexes = CopiedIndexes(cache_folder())
    viewer = Viewer(
        shelf,
        indexes,
        made_once(services),
        find_pages(),
        is_read_only=True,
        is_static=True,
        has_notes=options.has_notes,
        most_samples=options.most_samples,
        most_compared=MOST_COMPARED,
    )
    try:
        plan = make_plan(viewer, options.most_samples)
        with replaced_folder(target) as draft:
            n_files, n_bytes = _Writer(plan, shelf.private, draft, options).write()
    finally:
        indexes.close()
    return Bundle(target, len(plan.runs), n_files, n_bytes, plan.n_left_out)


class _Writer:
    """Writes the pages of a plan to a folder."""

    def __init__(self, plan: BundlePlan, private: Private, folder: Path, options: BundleOptions) -> None:
        self._plan = plan
        self._viewer = plan.viewer
        self._private = private
        self._folder = folder
        self._options = options
        self._names = FileNames()
        self._beside = FilesBeside(plan.viewer, folder, has_media=options.has_media)
        self._routes = [(_pattern(page.path), page) for page in plan.viewer.pages if page.method == "GET"]
        self._waiting: deque[BundlePage] = deque()
        self._met: set[BundlePage] = set()
        self._files: dict[str, str | None] = {}
        self._rows: dict[BundlePage, dict[int, list[str]]] = {}
        self._written = datetime.now(timezone.utc)
        self._runs = {run.key: run for run in plan.runs}
        self._ordered = {frozenset(keys): keys for keys in plan.comparisons}

    def write(self) -> tuple[int, int]:
        """Write everything; returns the number of files and their size."""
        for place in self._plan.first_pages():
            self._meet(place)
        while self._waiting:
            self._write(self._waiting.popleft())
        for first, by_page in self._rows.items():
            self._write_rows(first, [row for _, rows in sorted(by_page.items()) for row in rows])
        content = {
            "kind": "polymeter bundle",
            "schema_version": 1,
            "written": self._written.isoformat(timespec="seconds"),
            "runs": [run.name for run in self._plan.runs],
        }
        (self._folder / MARKER).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        sizes = [entry.stat().st_size for entry in self._folder.rglob("*") if entry.is_file()]
        return len(sizes), sum(sizes)

    def _meet(self, place: BundlePage) -> None:
        if place not in self._met:
            self._met.add(place)
            # The samples of a comparison come right after its whole list, which has read them: on each of its pages the
            # link to the next one is met last.
            is_next = place.kind == "compared sample" or (place.kind == "comparison" and place.number > 1)
            (self._waiting.appendleft if is_next else self._waiting.append)(place)

    def _write(self, place: BundlePage) -> None:
        file = self._names.file(place)
        around = Surroundings(
            lambda address: self._link(address, file),
            lambda address: self._part(address, file),
            self._head(place, file),
            self._top(place, file),
        )
        text = self._private.hidden(static_page(self._page(place), around))
        if place.kind == "samples":
            self._rows.setdefault(replace(place, number=1), {})[place.number] = filtering.rows_of(text)
        path = self._folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))

    def _write_rows(self, first: BundlePage, rows: Sequence[str]) -> None:
        """Write the script with the samples of a list beside its first page."""
        own = browse(self._viewer, self._viewer.run_named(first.runs[0]), first.task, ())
        text = filtering.samples_script(own, rows, self._private)
        path = (self._folder / self._names.file(first)).with_name(filtering.FILE)
        path.write_bytes(text.encode("utf-8", "replace"))

    # --- the viewer's pages -------------------------------------------------------------------------------------------

    def _page(self, place: BundlePage) -> str:
        """The page as the viewer shows it."""
        if place.kind == "comparisons":
            return _text(self._viewer.html("bundle_comparisons.html", **self._comparisons()))
        page = next(page for page in self._viewer.pages if page.path == place.path and page.method == "GET")
        return _text(self._answer(page, {"run": place.runs[0]} if "{run}" in page.path else {}, place.query))

    def _part(self, address: str, file: str) -> str | None:
        """The part of a page that a script loads in the viewer; ``None`` if there is none."""
        answer = self._answer_at(address, is_part=True)
        if answer is None or answer.status_code != 200:
            return None
        return static_page(_text(answer), Surroundings(lambda one: self._link(one, file), lambda _: None))

    def _answer_at(self, address: str, *, is_part: bool = False) -> Response | None:
        """The viewer's answer to an address; ``None`` if it has no such page."""
        parts = urlsplit(address)
        for pattern, page in self._routes:
            if match := pattern.fullmatch(parts.path):
                path = {name: unquote(value) for name, value in match.groupdict().items()}
                return self._answer(page, path, parse_qsl(parts.query), is_part=is_part)
        return None

    def _answer(self, page: ViewerPage, path: dict[str, str], query: Query, *, is_part: bool = False) -> Response:
        return shown(self._viewer, page, PageRequest(path, query, is_part=is_part))

    def _comparisons(self) -> dict[str, Any]:
        """The values of the list of comparisons."""
        listed = [
            {
                "names": listing(self._runs[key].name for key in keys),
                "models": [*dict.fromkeys(self._runs[key].model for key in keys)],
                "n_runs": len(keys),
                "tasks": [(BundlePage("comparison", keys, task).address, self._title(keys, task)) for task in tasks],
            }
            for keys, tasks in self._plan.comparisons.items()
        ]
        return {"comparisons": listed, "refused": self._plan.refused, "n_more": self._plan.n_more}

    # --- links --------------------------------------------------------------------------------------------------------

    def _link(self, address: str, file: str) -> str | None:
        """The link from a file to what an address of the viewer names; ``None`` if the bundle does not have it."""
        path, _, fragment = address.partition("#")
        if path not in self._files:
            self._files[path] = self._file_of(path)
        found = self._files[path]
        if found is None:
            return None
        relative = _relative(found, posixpath.dirname(file) or ".")
        return f"{relative}#{fragment}" if fragment else relative

    def _file_of(self, address: str) -> str | None:
        if static := _STATIC.fullmatch(address):
            return None if static["name"].startswith(_OF_SERVER) else self._beside.static(static["name"])
        if medium := _MEDIUM.fullmatch(address):
            return self._beside.medium(unquote(medium["run"]), unquote(medium["name"]))
        place = self._place(address)
        if place is None or not self._plan.has(place):
            return None
        self._meet(place)
        return self._names.file(place)

    def _place(self, address: str) -> BundlePage | None:
        place = place_of(address)
        if place is None:
            return None
        if place.id:  # the viewer leads from the id of a sample to its index
            answer = self._answer_at(address)
            target = "" if answer is None else answer.headers.get("location", "")
            return place_of(target) if "index=" in target else None
        place = replace(place, runs=self._ordered.get(frozenset(place.runs), place.runs))
        return with_task(place, next(iter(self._plan.tasks(place.runs)), ""))

    # --- what the bundle adds -----------------------------------------------------------------------------------------

    def _head(self, place: BundlePage, file: str) -> str:
        data = f'<script src="{filtering.FILE}" defer></script>\n' if place.kind == "samples" else ""
        style, script = (self._link(f"/static/bundle.{kind}", file) for kind in ("css", "js"))
        return f'<link rel="stylesheet" href="{style}">\n{data}<script src="{script}" defer></script>\n'

    def _top(self, place: BundlePage, file: str) -> str:
        """The notes above a page: its samples that are left out, and links to the same page of other tasks, and of
        more or fewer runs.
        """
        notes = "".join(f'<p class="bundle-note">{html.escape(note)}</p>\n' for note in self._notes(place))
        tasks = self._plan.tasks(place.runs) if place.kind in ("samples", "plots", "comparison") else []
        of_tasks = {task: self._title(place.runs, task) for task in tasks if len(tasks) > 1}
        pages = {BundlePage(place.kind, place.runs, task): title for task, title in of_tasks.items()}
        return (
            f"{notes}{self._nav('task', pages, place, file)}{self._nav('comparison', self._nearby(place), place, file)}"
        )

    def _nearby(self, place: BundlePage) -> dict[BundlePage, str]:
        """The comparisons of a task that have all runs of a comparison and one more, or all but one."""
        if place.kind != "comparison":
            return {}
        own = frozenset(place.runs)
        return {
            BundlePage(place.kind, keys, place.task): listing(self._runs[key].name for key in keys)
            for runs, keys in self._ordered.items()
            if (runs < own or own < runs) and place.task in self._plan.comparisons[keys]
        }

    def _nav(self, what: str, pages: Mapping[BundlePage, str], here: BundlePage, file: str) -> str:
        """Links to pages, each under its title; empty if there are none."""
        if not pages:
            return ""
        items = []
        for page, title in pages.items():
            is_here = ' aria-current="page"' if page.task == here.task and page.runs == here.runs else ""
            items.append(f'<li><a href="{self._link(page.address, file)}"{is_here}>{html.escape(title)}</a></li>')
        listed = f"<ul>{''.join(items)}</ul>"
        if len(pages) > _MOST_LISTED:
            listed = f"<details><summary>{count(len(pages), what)}</summary>{listed}</details>"
        name, before = _NAVS[what]
        before = f'<p class="aside">{before}</p>' if before else ""
        return f'<nav class="bundle-nav" aria-label="{name}">{before}{listed}</nav>\n'

    def _notes(self, place: BundlePage) -> Iterator[str]:
        if place.kind == "runs":
            yield f"A read-only copy, written on {moment(self._written.isoformat())}."
            if not self._options.has_media:
                yield "Media are not included."
            if self._plan.n_left_out:
                yield (
                    f"At most {count(self._options.most_samples, 'sample')} of each task are included: "
                    f"{count(self._plan.n_left_out, 'sample')} are left out."
                )
        elif place.kind == "samples":
            own = self._plan.samples[place.runs[0], place.task]
            if len(own.indices) < own.n_all:
                yield f"The first {len(own.indices):,} of {count(own.n_all, 'sample')} of {own.title} are included."
        elif place.kind == "comparison":
            n_shared = min(len(self._plan.samples[run, place.task].indices) for run in place.runs)
            if n_shared > MOST_COMPARED:
                yield f"The {MOST_COMPARED} samples that differ most are included."

    def _title(self, runs: tuple[str, ...], task: str) -> str:
        return self._plan.samples[runs[0], task].title


# Kept for the life of the process: the result depends on the arguments alone, and only the last ones are held.
@lru_cache(maxsize=4096)
def _relative(file: str, folder: str) -> str:
    """The link to a file from a folder. The files of all pages are linked from each."""
    return quote(posixpath.relpath(file, folder))


def _pattern(path: str) -> re.Pattern[str]:
    """The pattern of the addresses of a page."""
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(path)))


def _text(answer: Response) -> str:
    return bytes(answer.body).decode("utf-8", "replace")
