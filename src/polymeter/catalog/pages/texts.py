"""The text of the pages: one for each benchmark, and the index, from one template each with the words of a language.
Knows the files' names but neither reads nor writes them.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from polymeter.catalog.pages.facts import Facts, Unknown, Value
from polymeter.catalog.pages.markdown import code, escape, fence, link, paragraphs
from polymeter.catalog.pages.samples import ShownSample
from polymeter.core.errors import Problem
from polymeter.core.names.registries import FORMATS, stored_format
from polymeter.core.text.yaml_text import parse_yaml
from polymeter.data.source import BUILDERS
from polymeter.report.formatting import DASH

if TYPE_CHECKING:
    from jinja2 import Environment

LANGUAGES = ("en", "zh")
INDEX = "index.md"
_LONGEST = 6000


@dataclass(frozen=True, slots=True)
class CatalogPage:
    """The content of one page.

    Attributes:
        facts: The facts about the benchmark.
        sample: Its first sample; ``None`` if none was requested.
        reason: Why there is no sample, without the folders of this machine.
        problem: Why the benchmark cannot be used; empty if it can.
        members: The direct members of a group.
    """

    facts: Facts
    sample: ShownSample | None = None
    reason: str = ""
    problem: str = ""
    members: tuple[str, ...] = ()

    @property
    def has_sample(self) -> bool:
        """True if the page shows a sample."""
        return self.sample is not None and bool(self.sample.requests)

    @property
    def judge(self) -> str:
        """True if it needs a judge, which a sample says for certain."""
        return "yes" if self.sample is not None and self.sample.needs_judge else self.facts.judge


@dataclass(frozen=True, slots=True)
class Links:
    """The files of all pages.

    Attributes:
        files: The file name of a benchmark's page, by the benchmark's name.
        languages: The languages in which pages are written.
    """

    files: Mapping[str, str]
    languages: Sequence[str] = field(default=("en",))


class Writer:
    """Writes pages in one language.

    Args:
        links: The files of all pages.
        language: The language; one of ``LANGUAGES``.
    """

    def __init__(self, links: Links, language: str) -> None:
        self._links = links
        self._language = language
        self._chrome = read_words()
        self._words = self._chrome[language]
        templates = self._environment()
        self._benchmark = templates.get_template("benchmark.md.jinja")
        self._index = templates.get_template("index.md.jinja")

    def benchmark(self, page: CatalogPage) -> str:
        """The page of one benchmark as Markdown."""
        return self._benchmark.render(page=page, file=self._links.files[page.facts.entry.name])

    def index(self, pages: Sequence[CatalogPage], problems: Iterable[Problem]) -> str:
        """The index as Markdown: a row for each page in the given order, then everything that cannot be used.

        Args:
            pages: The pages.
            problems: Files that could not be read as benchmarks.
        """
        return self._index.render(pages=pages, problems=list(problems), file=INDEX)

    def _environment(self) -> Environment:
        from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

        made = Environment(
            loader=PackageLoader("polymeter.catalog.pages"),
            autoescape=select_autoescape(),  # of HTML only: the filters escape what Markdown would read as markup
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        made.filters.update(code=code, escape=escape, fence=fence, link=link, quote=shlex.quote)
        made.filters.update(cell=partial(code, in_table=True), cells=self._cells, pairs=self._pairs, is_id=_is_id)
        made.filters.update(described=self._described, block=self._block, linked=self._linked)
        made.filters.update(kind=self._kind, asks=self._asks)
        made.globals.update(words=self._words, navigation=self._navigation, files=self._links.files, dash=DASH)
        return made

    def _navigation(self, file: str) -> str:
        others = (other for other in self._links.languages if other != self._language)
        up = [] if file == INDEX else [link(self._words["index"], INDEX)]
        return " · ".join([*up, *(link(self._chrome[other]["language"], f"../{other}/{file}") for other in others)])

    def _kind(self, facts: Facts) -> str:
        name = facts.entry.format
        label = FORMATS.get(name).labels.get(self._language) or stored_format(name)
        return escape(f"{label}, {self._words['group']}" if facts.entry.kind == "group" else label)

    def _asks(self, facts: Facts) -> str:
        return "; ".join(self._words[kind] for kind in facts.requests) or DASH

    def _linked(self, name: str) -> str:
        target = self._links.files.get(name)
        return link(code(name), target) if target else code(name)

    def _cells(self, values: Iterable[Value]) -> str:
        """Values as code for a cell of a table."""
        return ", ".join(self._cell(value) for value in values if value != "") or DASH

    def _pairs(self, pairs: Iterable[tuple[str, Value]]) -> str:
        return "<br>".join(f"{code(key, in_table=True)}: {self._cell(value)}" for key, value in pairs) or DASH

    def _cell(self, value: Value) -> str:
        return self._unknown(value, in_table=True) if isinstance(value, Unknown) else code(value, in_table=True)

    def _described(self, text: Value) -> str:
        return self._unknown(text) if isinstance(text, Unknown) else paragraphs(text)

    def _block(self, text: Value) -> str:
        """A text as a code block, cut where it is long."""
        if isinstance(text, Unknown):
            return self._unknown(text)
        n_more = len(text) - _LONGEST
        return fence(text if n_more <= 0 else f"{text[:_LONGEST]}\n{self._words['cut'].format(n=n_more)}")

    def _unknown(self, value: Unknown, *, in_table: bool = False) -> str:
        return self._words["unknown"].format(source=code(value.source, in_table=in_table))


def read_words() -> Mapping[str, Mapping[str, str]]:
    """The texts that pages put around a benchmark's own, by language."""
    file = files("polymeter.catalog.pages") / "words.yaml"
    words: dict[str, dict[str, str]] = parse_yaml(file.read_text(encoding="utf-8"), where=str(file))
    return words


def _is_id(dataset: Any) -> bool:
    """Return whether a dataset can be replaced on the command line by its id."""
    is_known = isinstance(dataset, str) and bool(dataset) and dataset not in BUILDERS
    return is_known and not any(char in dataset for char in " …\n")
