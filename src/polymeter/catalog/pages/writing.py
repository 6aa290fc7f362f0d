"""Choosing and writing pages: a folder for each language, with a file for each benchmark and an index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from polymeter.api.settings import read_settings
from polymeter.catalog.listing import named_tasks
from polymeter.catalog.pages.facts import FactReader, Facts, Hider, all_members
from polymeter.catalog.pages.samples import show_sample
from polymeter.catalog.pages.texts import INDEX, LANGUAGES, CatalogPage, Links, Writer
from polymeter.core.errors import PlanError, Problem, did_you_mean
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.run.plan import selection

_UNSAFE = re.compile(r"[^\w.-]+")
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Written:
    """The pages that were written.

    Attributes:
        indexes: The index file of each language.
        n_benchmarks: The number of benchmarks with a page, groups not counted.
        n_samples: How many of them show a sample.
        problems: Broken benchmarks and files.
    """

    indexes: tuple[Path, ...]
    n_benchmarks: int
    n_samples: int
    problems: tuple[Problem, ...]


def write_pages(
    patterns: Sequence[str] = (),
    *,
    include_paths: Sequence[Path] = (),
    tags: Sequence[str] = (),
    output: Path,
    languages: Sequence[str] = LANGUAGES,
    has_samples: bool = True,
    data: Mapping[str, str] | None = None,
) -> Written:
    """Write the pages of benchmarks and their index, without the network.

    Args:
        patterns: Names, globs, groups, tags, files and folders; none: everything. Samples are shown only of benchmarks
            selected by this or by ``tags``, because that runs their code.
        include_paths: Further folders of benchmarks.
        tags: Only benchmarks with one of these.
        output: The folder. Pages from earlier calls that are not written again stay in it.
        languages: Some of ``LANGUAGES``.
        has_samples: Whether to show samples at all.
        data: Local files that replace dataset ids.

    Raises:
        PlanError: if a pattern, tag or language is unknown, or an include path does not exist.
    """
    for language in languages:
        if language not in LANGUAGES:
            hint = did_you_mean(language, LANGUAGES) or f"It must be one of {', '.join(LANGUAGES)}."
            raise PlanError(f"There are no pages in the language {language!r}.", where="--language", hint=hint)
    named = named_tasks(patterns, include_paths)
    catalog = named.catalog
    hider = Hider(selection.library_roots(), [*read_settings().include_paths, *include_paths])
    is_named = bool(patterns or tags)
    reader = FactReader(catalog, hider)
    pages = [
        _page(reader, entry, reader.read(entry), data, has_sample=is_named and has_samples)
        for entry in _pages_to_write(catalog, named.names, tags)
    ]
    unread = (
        ()
        if is_named
        else tuple(Problem(hider.hide(item.where), hider.hide(item.message)) for item in catalog.problems)
    )
    links = Links(file_names(page.facts.entry.name for page in pages), tuple(languages))
    indexes = [_write(output / language, pages, unread, links, language) for language in links.languages]
    broken = [Problem(page.facts.entry.name, page.problem) for page in pages if page.problem]
    n_benchmarks = sum(page.facts.entry.kind == "task" for page in pages)
    return Written(tuple(indexes), n_benchmarks, sum(page.has_sample for page in pages), (*broken, *unread))


def file_names(names: Iterable[str]) -> dict[str, str]:
    """The file of each benchmark's page: safe on every file system, and distinct even where case does not count."""
    files: dict[str, str] = {}
    used = {INDEX}
    for name in names:
        stem = _UNSAFE.sub("-", name).strip(".-")[:_LONGEST_NAME] or "benchmark"
        file, number = f"{stem}.md", 1
        while file.lower() in used:
            number += 1
            file = f"{stem}-{number}.md"
        used.add(file.lower())
        files[name] = file
    return files


def _pages_to_write(catalog: Catalog, patterns: Sequence[str], tags: Sequence[str]) -> list[Entry]:
    """The selected entries and everything below them, by name."""
    chosen = {entry.name: entry for entry in catalog.choose(patterns, tags)}
    for entry in list(chosen.values()):
        chosen.update((member.name, member) for member in all_members(entry, catalog))
    return sorted(chosen.values(), key=lambda entry: (entry.name.lower(), entry.name))


def _page(
    reader: FactReader, entry: Entry, facts: Facts, data: Mapping[str, str] | None, *, has_sample: bool
) -> CatalogPage:
    spec = reader.specs.get(entry.name)
    if not has_sample or spec is None or facts.problem:
        return CatalogPage(facts, problem=facts.problem, members=entry.members)
    sample = show_sample(spec, data)
    reason = reader.problem_of(sample.missing) if sample.missing is not None else ""
    problem = reader.problem_of(sample.problem) if sample.problem is not None else ""
    return CatalogPage(facts, sample, reason, problem)


def _write(folder: Path, pages: Sequence[CatalogPage], unread: Sequence[Problem], links: Links, language: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer(links, language)
    for page in pages:
        _put(folder / links.files[page.facts.entry.name], writer.benchmark(page))
    index = folder / INDEX
    _put(index, writer.index(pages, unread))
    return index


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
