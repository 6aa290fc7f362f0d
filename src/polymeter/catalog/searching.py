"""Finding benchmarks by words: over their names, titles, tags, descriptions and the READMEs beside them.

The ranking is BM25, as SQLite's full-text search has it; nothing is kept of the index, which takes a fraction of a
second for all benchmarks of all installed packages. A README describes many tasks, so it counts less than a task's own
words. Names of benchmarks are abbreviations that no dictionary has: ``chartqa`` is found as *chart question answering*.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from polymeter.catalog.pages.beside import readme_of
from polymeter.core.errors import PlanError
from polymeter.core.names.catalog import Catalog, Entry

_WORD = re.compile(r"[^\W_]+")
_LEVELS = 3
"""The most levels above a task's folder at which a README describes it."""
_README_WEIGHT = 0.4
_OWN = "SELECT rowid, -bm25(tasks, 8.0, 4.0, 3.0, 2.0) FROM tasks WHERE tasks MATCH ?"
_TOLD = "SELECT rowid, -bm25(readmes) FROM readmes WHERE readmes MATCH ?"
_MEANS = {
    "vqa": "visual question answering",
    "qa": "question answering",
    "ocr": "optical character text recognition",
    "mcq": "multiple choice",
    "asr": "automatic speech recognition",
    "t2i": "text to image generation",
    "t2v": "text to video generation",
    "doc": "document",
    "math": "mathematics",
    "vid": "video",
}
"""The meaning of parts of names: a whole part, or the end of one."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A benchmark that a search has found.

    Attributes:
        entry: Its entry in the index.
        score: How well it fits; larger is better, and only the order means something.
    """

    entry: Entry
    score: float


def search_benchmarks(catalog: Catalog, words: str, *, origin: str = "") -> list[Hit]:
    """The benchmarks that words fit, the best first: the user's, built-in ones, and those of installed packages.

    Args:
        catalog: All benchmarks.
        words: What is looked for.
        origin: Only those whose names are qualified with this; empty: all.

    Raises:
        PlanError: if there is no word among the words.
    """
    terms = list(dict.fromkeys(term.lower() for term in _WORD.findall(words)))
    if not terms:
        raise PlanError("There is nothing to search for.", where="--search", hint="Name some words: --search 'chart'.")
    entries = list(catalog.of_origin(origin)) if origin else list(catalog.everything())
    readmes = _Readmes()
    with sqlite3.connect(":memory:") as index:
        index.execute("CREATE VIRTUAL TABLE tasks USING fts5(name, title, tags, about, tokenize='porter unicode61')")
        index.execute("CREATE VIRTUAL TABLE readmes USING fts5(text, tokenize='porter unicode61')")
        index.executemany(
            "INSERT INTO tasks(rowid, name, title, tags, about) VALUES (?, ?, ?, ?, ?)", _search_rows(entries)
        )
        beside = [readmes.number_of(entry.file) for entry in entries]
        index.executemany("INSERT INTO readmes(rowid, text) VALUES (?, ?)", readmes.texts())
        found = [
            (dict(index.execute(_OWN, (f'"{term}"*',))), dict(index.execute(_TOLD, (f'"{term}"*',)))) for term in terms
        ]
    index.close()
    hits = []
    for number, (entry, readme) in enumerate(zip(entries, beside, strict=True)):
        scores = [own.get(number, 0.0) + _README_WEIGHT * told.get(readme, 0.0) for own, told in found]
        n_fitting = sum(score > 0 for score in scores)
        if n_fitting:  # one rare word must not outweigh all the others
            hits.append(Hit(entry, sum(scores) * n_fitting / len(terms)))
    return sorted(hits, key=lambda hit: (-hit.score, hit.entry.kind != "group", len(hit.entry.name), hit.entry.name))


def _search_rows(entries: Iterable[Entry]) -> Iterator[tuple[int, str, str, str, str]]:
    for number, entry in enumerate(entries):
        yield number, _spelt_out(entry.name), entry.alias, _spelt_out(" ".join(entry.tags)), entry.about


def _spelt_out(name: str) -> str:
    """A name, its parts, and what they stand for."""
    words = [name]
    for part in _WORD.findall(name.lower()):
        words.append(part)
        short = next((short for short in _MEANS if part.endswith(short)), "")
        if short:
            words += [part.removesuffix(short), _MEANS[short]]
    return " ".join(words)


class _Readmes:
    """The READMEs around benchmarks, each read once."""

    def __init__(self) -> None:
        self._of_folder: dict[Path, int] = {}
        self._texts: list[str] = []

    def number_of(self, file: Path) -> int:
        """Return the number of the README that describes a file; -1 if there is none."""
        folders = list(file.parents)[:_LEVELS]
        for depth, folder in enumerate(folders):
            if folder not in self._of_folder:
                self._of_folder[folder] = self._read(folder)
            number = self._of_folder[folder]
            if number >= 0:
                # Of a folder above, only one that is about this folder's neighbours: no tool's, no whole collection's.
                return number if depth == 0 or not (folder / "__init__.py").is_file() else -1
        return -1

    def texts(self) -> Iterator[tuple[int, str]]:
        """Numbers and texts of those that were found."""
        return enumerate(self._texts)

    def _read(self, folder: Path) -> int:
        text = readme_of(folder)
        if not text:
            return -1
        self._texts.append(text)
        return len(self._texts) - 1
