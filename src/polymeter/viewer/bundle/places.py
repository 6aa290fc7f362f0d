"""The pages of a bundle and their files: which page an address of the viewer names, and where it is written.

Names of files are lower-case ASCII, short, and none of those that Windows reserves, so that a bundle can be copied to
any system.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, unquote, urlsplit

from polymeter.core.media.sources import digest
from polymeter.viewer.filters import NAMES
from polymeter.viewer.site import Query, address

_PATHS: tuple[tuple[re.Pattern[str], str, tuple[str, ...]], ...] = (
    (re.compile(r"/"), "runs", ("page",)),
    (re.compile(r"/run/(?P<run>[^/]+)"), "run", ()),
    (re.compile(r"/run/(?P<run>[^/]+)/samples"), "samples", ("task", "page")),
    (re.compile(r"/run/(?P<run>[^/]+)/sample"), "sample", ("task", "index", "id")),
    (re.compile(r"/run/(?P<run>[^/]+)/plots"), "plots", ("task",)),
    (re.compile(r"/run/(?P<run>[^/]+)/manifest"), "manifest", ()),
    (re.compile(r"/leaderboard"), "leaderboard", ()),
    (re.compile(r"/compare"), "comparison", ("run", "task", "page")),
    (re.compile(r"/compare/sample"), "compared sample", ("run", "task", "index")),
)
_ADDRESSES = {
    "runs": "/", "run": "/run/{run}", "samples": "/run/{run}/samples", "sample": "/run/{run}/sample",
    "plots": "/run/{run}/plots", "manifest": "/run/{run}/manifest", "leaderboard": "/leaderboard",
    "comparison": "/compare", "compared sample": "/compare/sample",
}  # fmt: skip
_OF_TASKS = ("samples", "sample", "plots", "comparison", "compared sample")
_LISTS = ("runs", "samples", "comparison")
_ONE_SAMPLE = ("sample", "compared sample")
_UNSAFE = re.compile(r"[^a-z0-9_-]+")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])")
_LONGEST_NAME, _LONGEST_NAMES = 40, 80
"""The characters of one name in the name of a folder, and of all of them together."""


@dataclass(frozen=True, slots=True)
class BundlePage:
    """A page.

    Attributes:
        kind: ``runs``, ``run``, ``samples``, ``sample``, ``plots``, ``manifest``, ``leaderboard``,
            ``comparisons`` (their list), ``comparison`` or ``compared sample``.
        runs: The keys of its runs.
        task: Its task; empty: the first, or none.
        number: The page of a list, or the index of a sample.
        id: The id of a sample that an address names instead of its index.
    """

    kind: str
    runs: tuple[str, ...] = ()
    task: str = ""
    number: int = 1
    id: str = ""

    @property
    def path(self) -> str:
        """The path of its address, with the parameter of the run in braces."""
        return _ADDRESSES[self.kind]

    @property
    def address(self) -> str:
        """Its address, whole."""
        return address(self.path.replace("{run}", self.runs[0]) if self.runs else self.path, self.query)

    @property
    def query(self) -> Query:
        """The query of its address."""
        runs = [("run", run) for run in self.runs] if "{run}" not in self.path else []
        task = [("task", self.task)] if self.task else []
        if self.id:
            return (*runs, *task, ("id", self.id))
        if self.kind in _ONE_SAMPLE:
            return (*runs, *task, ("index", str(self.number)))
        return (*runs, *task, ("page", str(self.number))) if self.kind in _LISTS else (*runs, *task)


def place_of(told: str) -> BundlePage | None:
    """The page that an address of the viewer names; ``None`` if a bundle cannot have it, such as a filtered list."""
    parts = urlsplit(told)
    found = ((pattern.fullmatch(parts.path), kind, known) for pattern, kind, known in _PATHS)
    match, kind, known = next((one for one in found if one[0]), (None, "", ()))
    if match is None:
        return None
    query = [(name, value) for name, value in parse_qsl(parts.query) if value]
    # A link to a sample keeps the filters of the list, which do not change the sample.
    ignored = (*NAMES, "show") if kind in _ONE_SAMPLE else ("in", "metric")
    query = [(name, value) for name, value in query if name not in ignored or name in known]
    if any(name not in known for name, _ in query):
        return None
    last = dict(query)
    runs = tuple(dict.fromkeys(value for name, value in query if name == "run"))
    runs = (unquote(match["run"]),) if "run" in match.groupdict() else runs
    if kind == "comparison" and not runs:
        return BundlePage("comparisons")
    number = last.get("index" if kind in _ONE_SAMPLE else "page", "1")
    if not (number.isascii() and number.isdigit()):
        return None
    return BundlePage(kind, runs, last.get("task", ""), int(number), last.get("id", "") if "index" not in last else "")


class FileNames:
    """The files of pages, each with a name of its own."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[tuple[str, str]] = set()

    def file(self, place: BundlePage) -> str:
        """The path of a page's file below the bundle's folder, with ``/``."""
        number = "" if place.number == 1 else f"-{place.number}"
        if place.kind in ("runs", "leaderboard", "comparisons"):
            stem = {"runs": "index", "leaderboard": "leaderboard", "comparisons": "compare"}[place.kind]
            return f"{stem}{number}.html"
        if place.kind in ("comparison", "compared sample"):
            folder = "compare/" + self._name("compare", *place.runs)
            inside = f"{folder}/{self._name(folder, place.task)}"
            return f"{inside}/sample-{place.number}.html" if "sample" in place.kind else f"{inside}/index{number}.html"
        folder = "run/" + self._name("run", *place.runs)
        if place.kind in ("run", "manifest"):
            return f"{folder}/{'index' if place.kind == 'run' else place.kind}.html"
        inside = f"{folder}/{self._name(folder, place.task)}"
        if place.kind == "sample":
            return f"{inside}/sample-{place.number}.html"
        return f"{inside}/{'index' if place.kind == 'samples' else place.kind}{number}.html"

    def _name(self, folder: str, *texts: str) -> str:
        """A name in a folder for some texts: always the same for the same, and never that of others."""
        whole = "\0".join(texts)
        if (folder, whole) not in self._names:
            longest = min(_LONGEST_NAME, _LONGEST_NAMES // len(texts))
            parts = [_UNSAFE.sub("-", text.lower()).strip("-_")[:longest].strip("-_") for text in texts]
            name = "--".join(parts)
            is_safe = all(parts) and not _RESERVED.fullmatch(name) and (folder, name) not in self._taken
            if not is_safe:
                name = f"{name}-{digest(whole.encode('utf-8', 'surrogatepass'))[:12]}".strip("-")
            self._taken.add((folder, name))
            self._names[folder, whole] = name
        return self._names[folder, whole]


def with_task(place: BundlePage, first: str) -> BundlePage:
    """Return a place with its task named, also if its address leaves out the first one."""
    return replace(place, task=first) if place.kind in _OF_TASKS and not place.task else place
