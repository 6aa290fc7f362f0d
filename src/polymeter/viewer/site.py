"""The web application: finds the pages, fills templates, and turns errors into pages with advice. A page is one file in
``pages/`` with a tuple ``PAGES``. It is found by its place, and has an entry in the navigation if it asks for one.
Pages are plain functions that run on worker threads; each opens what it reads and closes it again, so that the server's
memory does not grow with the runs that were looked at.
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

from polymeter.core.errors import PlanError, PolymeterError, StorageError
from polymeter.report.formatting import clean, clip, count, duration, latency, moment, number, one_line
from polymeter.store.folder import RunFolder
from polymeter.viewer.found_words import marked
from polymeter.viewer.indexes import Indexes
from polymeter.viewer.notes import Note, read_notes
from polymeter.viewer.shelf import RunInShort, Shelf

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_OF_REPORTS = (
    "base.css", "table.css", "content.css", "content.js", "comparison.css", "leaderboard.css", "leaderboard.js"
)  # fmt: skip
_LARGEST_FORM = 256 * 1024
_STYLE_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_MOST_REMEMBERED = 8
_LONGEST_NAME = 60
_TO_WRITE = "Start 'polymeter view' without --read-only to write notes."
Query = Sequence[tuple[str, str]]
ALLOWED = ("samples", "data", "task", "prompts", "shown", "judge", "unfinished")
"""The differences that a user may allow between compared or ranked runs."""
PAIRED_BY = ("id", "prompt", "order")
"""Properties that compared samples may share."""


@dataclass(frozen=True, slots=True)
class Services:
    """Functions for contents that a run folder alone does not have. Each raises ``PolymeterError``.

    Attributes:
        partial: The results of a run's journal so far, in the form of ``results.json``.
        compare: The document of a comparison, from run folders, the allowed differences and what pairs samples.
        paired_names: The names under which samples are compared, by id, of each run but the first: from run folders, a
            task and what pairs samples.
        leaderboard: The document of a leaderboard, from run folders and the allowed differences.
    """

    partial: Callable[[RunFolder], Mapping[str, Any]]
    compare: Callable[[Sequence[Path], Sequence[str], str], Mapping[str, Any]]
    paired_names: Callable[[Sequence[Path], str, str], Sequence[Mapping[str, str]]]
    leaderboard: Callable[[Sequence[Path], Sequence[str]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A browser's request: the parts of the path, the query and, if something was posted, the form."""

    path: Mapping[str, str]
    query: Query
    form: Query = ()
    is_part: bool = False
    """True if a script asks for a part of a page."""

    def get(self, name: str, default: str = "") -> str:
        """The last value of a name in the query."""
        return next((value for key, value in reversed(self.query) if key == name), default)

    def all(self, name: str) -> list[str]:
        """All values of a name in the query that are not empty."""
        return [value for key, value in self.query if key == name and value]

    def number(self, name: str, default: int = 0) -> int:
        """A whole number of the query that is not negative."""
        text = self.get(name)
        return min(int(text), 2**62) if text.isascii() and text.isdigit() and len(text) < 20 else default

    def posted(self, name: str) -> str:
        """A value of the form."""
        return next((value for key, value in self.form if key == name), "")


@dataclass(frozen=True, slots=True)
class ViewerPage:
    """A page.

    Attributes:
        path: Its address, with parameters in braces as Starlette writes them.
        show: Makes it.
        method: ``GET`` or ``POST``.
        menu: Its name in the navigation of the whole site; empty: none.
        tab: Its name among the tabs of a run; empty: none.
        order: Its place among them.
    """

    path: str
    show: Callable[[Viewer, PageRequest], Response]
    method: str = "GET"
    menu: str = ""
    tab: str = ""
    order: int = 50


class NotFoundError(PlanError):
    """The run, task or sample of an address does not exist."""


class RunNotFoundError(NotFoundError):
    """The run of an address does not exist."""


class NotReadyError(PlanError):
    """The samples of a run are still being read."""

    def __init__(self, run: str) -> None:
        super().__init__(f"The samples of {run} are still being read.", hint="Reload the page in a moment.")


_CODES = (
    (RunNotFoundError, 404, "Run not found"),
    (NotFoundError, 404, "Not found"),
    (NotReadyError, 503, "Not ready yet"),
    (PlanError, 400, "Cannot show this page"),
    (PolymeterError, 500, "Cannot show this page"),
)
"""The HTTP status and the heading of each error: a plan error is the request's fault."""


@dataclass(slots=True)
class Viewer:
    """Everything that pages are made with.

    Attributes:
        shelf: The runs.
        indexes: The indexes of their samples.
        services: Functions of other packages.
        pages: All pages.
        is_read_only: Whether nothing can be written: forms for writing are not shown, and what is posted is refused.
        is_static: Whether the pages are written to files, so that nothing can be asked of a server.
        has_notes: Whether the notes on samples are shown.
        most_samples: The most samples of a task that are shown; ``None``: all.
        most_compared: The most samples of a comparison that are shown; ``None``: all.
    """

    shelf: Shelf
    indexes: Indexes
    services: Services
    pages: Sequence[ViewerPage]
    is_read_only: bool = False
    is_static: bool = False
    has_notes: bool = True
    most_samples: int | None = None
    most_compared: int | None = None
    _remembered: OrderedDict[tuple[Any, ...], Any] = field(default_factory=OrderedDict)

    def remember(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return a value that takes long to make: the last few are kept.

        Args:
            key: Everything that it depends on.
            make: Makes it.
        """
        if key not in self._remembered:
            made = make()
            while len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
            self._remembered[key] = made
        return self._remembered[key]

    def remembers(self, key: tuple[Any, ...]) -> bool:
        """Return whether a value is kept under a key of ``remember``."""
        return key in self._remembered

    def run(self, asked: PageRequest) -> RunInShort:
        """The run that an address names.

        Raises:
            NotFoundError: if there is none.
            StorageError: if it cannot be read.
        """
        return self.run_named(asked.path["run"])

    def run_named(self, key: str) -> RunInShort:
        """The run with a key; errors as for ``run``."""
        try:
            run = self.shelf.run(key)
        except LookupError:
            raise RunNotFoundError(
                f"The viewed folder has no run {key!r}.",
                hint="Choose one in the list of all runs.",
            ) from None
        if run.trouble:
            raise StorageError(run.trouble, where=str(run.path))
        return run

    def results(self, run: RunInShort, folder: RunFolder) -> Mapping[str, Any]:
        """The results of a run: its file once it is complete, else the partial results."""
        if run.status == "complete" and folder.results.exists():
            return folder.read_results()
        if self.is_static:  # a file cannot be loaded again in a moment
            return self.services.partial(folder)
        partial = self.indexes.partial(folder, lambda: self.services.partial(folder))
        return _without_numbers(folder) if partial is None else partial

    def notes(self, run: RunInShort) -> list[Note]:
        """The notes on a run's samples, as far as they are shown; errors as for ``read_notes``."""
        return read_notes(run.path) if self.has_notes else []

    def html(self, template: str, /, *, code: int = 200, **values: Any) -> Response:
        """A page from a template."""
        from starlette.responses import Response

        menu = sorted((page for page in self.pages if page.menu), key=lambda page: page.order)
        modes = {"is_read_only": self.is_read_only or self.is_static, "is_static": self.is_static}
        text = environment().get_template(template).render(menu=menu, **modes, **values)
        # A lone surrogate in a model's answer cannot be written as UTF-8.
        return Response(
            text.encode("utf-8", "replace"),
            code,
            media_type="text/html",
            headers={"cache-control": "private, no-cache"},
        )

    def run_html(self, template: str, run: RunInShort, path: str, /, **values: Any) -> Response:
        """A page of a run, with its tabs; ``path`` is that of the tab."""
        tabs = sorted((page for page in self.pages if page.tab), key=lambda page: page.order)
        listed = [(page.tab, page.path.replace("{run}", run.key), page.path == path) for page in tabs]
        return self.html(template, run=run, tabs=listed, **values)


def _without_numbers(folder: RunFolder) -> Mapping[str, Any]:
    """Show a page instead of results while they are made."""
    tasks: dict[str, Any] = {
        str(task["name"]): {
            "alias": str(task.get("alias") or ""),
            "n_samples": task.get("n_samples") or 0,
            "results": [],
        }
        for task in folder.read_manifest()["tasks"]
    }
    note = "The partial results are being computed from many samples. Reload the page in a moment."
    return {"status": "", "tasks": tasks, "groups": {}, "notes": [note]}


def see(address: str) -> Response:
    """Lead the browser elsewhere after a form."""
    from starlette.responses import Response

    return Response(status_code=303, headers={"location": quote(address, safe="/?#=&%+,;:@~-._")})


def address(path: str, query: Query = ()) -> str:
    """An address of this site. Parameters without a value are left out."""
    told = urlencode([(name, value) for name, value in query if value != ""], errors="replace")
    return f"{quote(path)}{'?' if told else ''}{told}"


def find_pages() -> list[ViewerPage]:
    """The pages of all modules in ``pages/``, and the parts of pages that these ask for."""
    package = importlib.import_module("polymeter.viewer.pages")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return [page for module in modules for page in module.PAGES]


def make_site(viewer: Viewer) -> Starlette:
    """The application, without its guard."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    routes = [Route(page.path, _endpoint(viewer, page), methods=[page.method]) for page in viewer.pages]
    return Starlette(
        routes=[*routes, Route("/static/{name:path}", _static)],
        exception_handlers={404: _absent(viewer), 405: _absent(viewer)},
    )


def _endpoint(viewer: Viewer, page: ViewerPage) -> Callable[[Request], Any]:
    from starlette.concurrency import run_in_threadpool

    async def answer(request: Request) -> Response:
        form: Query = ()
        if page.method == "POST":
            if viewer.is_read_only:
                return _error(viewer, 403, "Read-only", "This viewer is read-only.", hint=_TO_WRITE)
            body = await _body(request)
            if body is None:
                return _error(viewer, 413, "Note not saved", "The note is too long.")
            form = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        query = request.query_params.multi_items()
        asked = PageRequest(request.path_params, query, form, "hx-request" in request.headers)
        return await run_in_threadpool(shown, viewer, page, asked)

    return answer


async def _body(request: Request) -> bytes | None:
    """Read the posted form; ``None`` if it is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_FORM:
            return None
    return body


def shown(viewer: Viewer, page: ViewerPage, asked: PageRequest) -> Response:
    """Return a page, or the page of the error that it raises."""
    began = time.perf_counter()
    try:
        response = page.show(viewer, asked)
    except PolymeterError as error:
        status, heading = next((code, heading) for kind, code, heading in _CODES if isinstance(error, kind))
        response = _error(viewer, status, heading, error.what, error.where or "", error.hint or "")
    response.headers["server-timing"] = f"page;dur={1000 * (time.perf_counter() - began):.1f}"
    return response


def _error(viewer: Viewer, status: int, heading: str, what: str, where: str = "", hint: str = "") -> Response:
    return viewer.html("error.html", code=status, heading=heading, what=what, where=where, hint=hint)


def _absent(viewer: Viewer) -> Callable[[Request, Exception], Any]:
    async def answer(request: Request, error: Exception) -> Response:
        return _error(viewer, 404, "Not found", "This page does not exist.", request.url.path)

    return answer


async def _static(request: Request) -> Response:
    """A file of the viewer's own, or one of reports, so that both look and work alike."""
    from starlette.responses import Response

    data = static_file(request.path_params["name"])
    if data is None:
        return Response("This file does not exist.\n", 404, media_type="text/plain")
    kind = _STYLE_TYPES.get(Path(request.path_params["name"]).suffix, "text/plain; charset=utf-8")
    return Response(data, headers={"content-type": kind, "cache-control": "private, no-cache"})


def static_file(name: str) -> bytes | None:
    """Return a file below ``/static/``; ``None`` if it does not exist."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part or len(part) > _LONGEST_NAME for part in parts):
        return None
    is_of_reports = name in _OF_REPORTS
    folder = files("polymeter.report") / "templates" if is_of_reports else files("polymeter.viewer") / "static"
    file = folder.joinpath(*parts)
    return file.read_bytes() if file.is_file() else None


# Kept for the life of the process: it holds the compiled templates, which are constants.
@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates: the viewer's, and those of reports. They escape what they are given."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=ChoiceLoader([PackageLoader("polymeter.viewer"), PackageLoader("polymeter.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # else each use of a template asks for the time of its file
    )
    found.filters.update(
        number=number,
        count=count,
        clip=clip,
        one_line=one_line,
        clean=clean,
        moment=moment,
        duration=duration,
        latency=latency,
        marked=marked,
    )
    found.globals["address"] = address
    return found
