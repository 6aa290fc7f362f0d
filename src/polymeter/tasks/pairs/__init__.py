"""The format of pairs of answers: a file whose rows are two answers to one prompt, which a judge compares in both
orders.

``polymeter pairwise`` writes such files from run folders; ``file`` reads and writes them, ``compile`` makes a Task of
one, in which the judge is the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, Problem
from polymeter.core.format import Format, Loaded, OpenContext, Outline
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec

__all__ = ["FORMAT"]

_NAME = "pairs"
_SUFFIX = ".pairs"


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """The files that somebody has named; folders are not searched."""
    catalog = Catalog()
    for root in roots:
        if root.path.suffix == _SUFFIX and root.path.is_file():
            catalog.add(Entry(root.path.stem, "task", _NAME, root.path, root.is_user))
    return catalog


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry."""
    from polymeter.core.identity import source_hash
    from polymeter.tasks.pairs.file import read_head

    try:
        head = read_head(entry.file)
    except DataError as error:
        raise PlanError(error.what, where=error.where, hint=error.hint) from error
    spec_hash = source_hash((), [_NAME, head])
    return Loaded((TaskSpec(entry.name, _NAME, entry.file, head, spec_hash, (entry.file,)),))


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the contents of the head of the file: key, value, and the file."""
    return [(key, value, entry.file) for key, value in _load(entry, catalog).tasks[0].config.items()]


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """Refuse: pairs cannot be written as one YAML text.

    Raises:
        PlanError: always; the message names the file.
    """
    raise PlanError("Pairs of answers have no form as YAML.", where=str(entry.file), hint="Share their folder.")


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """Return the problems of the file."""
    from polymeter.tasks.pairs.file import AnswerPairs

    try:
        AnswerPairs(entry.file)
    except DataError as error:
        return [Problem(error.where or str(entry.file), error.what)]
    return []


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The pairs for a judge."""
    from polymeter.tasks.pairs.compile import compile_task

    return compile_task(spec, traits, context)


def _outline(spec: TaskSpec) -> Outline:
    """The number of pairs."""
    return Outline(int(spec.config["n_pairs"]), ("text", "image") if spec.config.get("has_images") else ("text",))


FORMAT = Format(
    _NAME,
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    endings=(_SUFFIX,),
    outline=_outline,
)
