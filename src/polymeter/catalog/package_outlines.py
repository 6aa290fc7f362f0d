"""Outlines of the benchmarks of an installed package, kept for as long as none of its files changes: to say what each
of thousands of tasks measures and needs, all their files have to be read.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from polymeter.catalog.outlines import TaskOutline, outline_tasks
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest
from polymeter.core.names.catalog import Catalog, Entry

_FIELDS = tuple(field.name for field in fields(TaskOutline) if field.name != "entry")


def package_outlines(
    package: Catalog,
    entries: Sequence[Entry],
    cache_dir: Path | None,
    track: Callable[[Iterable[TaskOutline], int], Iterable[TaskOutline]] | None = None,
) -> Iterator[TaskOutline]:
    """The outlines of tasks of one package, in their order; of groups nothing is given. Runs none of their code.

    Args:
        package: The package's catalog.
        entries: Some of its entries.
        cache_dir: Where outlines are kept; ``None``: nowhere.
        track: Given those that are read now and their number, passes them on: for a progress bar.
    """
    wanted = [entry for entry in entries if entry.kind == "task"]
    file = None if cache_dir is None else cache_dir / f"package_outlines-{package.origin}.json"
    state = digest(f"{package.state}:{package.parity}:{_FIELDS}".encode())
    known = _kept_outlines(file, state)
    missing = [entry for entry in wanted if entry.name not in known]
    if missing:
        fresh: Iterable[TaskOutline] = outline_tasks(package, missing)
        with _unsaid():
            for outline in track(fresh, len(missing)) if track else fresh:
                known[outline.entry.name] = [getattr(outline, name) for name in _FIELDS]
        if file is not None:
            with suppress(OSError), replacing(file, is_synced=False) as opened:  # a lost file only takes time
                json.dump({"state": state, "outlines": known}, opened)
    for entry in wanted:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in zip(_FIELDS, known[entry.name], strict=True)
        }
        yield TaskOutline(entry, **values)


@contextmanager
def _unsaid() -> Iterator[None]:
    """Leave out problems in thousands of files of others: they are reported when one of the files is used."""
    readers = logging.getLogger("polymeter.tasks")
    level = readers.level
    readers.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        readers.setLevel(level)


def _kept_outlines(file: Path | None, state: str) -> dict[str, list[Any]]:
    """The outlines that are kept for a state of the package."""
    if file is not None and file.is_file():
        with suppress(OSError, json.JSONDecodeError, UnicodeDecodeError, AttributeError):
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept.get("state") == state:
                return dict(kept["outlines"])
    return {}
