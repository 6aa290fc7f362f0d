"""Rows that ``datasets`` keeps of a function's results, and functions that draw at random."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_SIGN = b"rand"
"""Names in code that draws at random: ``random``, ``randint``, ``randperm``."""


@contextmanager
def mapped_anew(sources: Iterable[Path]) -> Iterator[None]:
    """Call a function of task code inside this: if it may draw at random, ``Dataset.map`` makes its rows anew.

    ``datasets`` stores what ``map`` made under the code of the function, and not under the state of the generators. A
    stored result would be that of the seed, and the order of splits, that came first.

    Args:
        sources: The files of the code. Only a file whose text names something random may draw; the rows of all other
            code are stored as usual.
    """
    library = sys.modules.get("datasets")
    if library is None or not library.is_caching_enabled() or not any(map(_may_draw, sources)):
        yield
        return
    library.disable_caching()
    try:
        yield
    finally:
        library.enable_caching()


def _may_draw(file: Path) -> bool:
    return file.suffix == ".py" and file.is_file() and _SIGN in file.read_bytes()
