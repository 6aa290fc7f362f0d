"""The place where a user's code names its data: an error about the data names it, since the fix belongs there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from polymeter.core.errors import DataError


@contextmanager
def naming_its_place(file: Path, line_of: Callable[[DataError], int]) -> Iterator[None]:
    """Open a benchmark's data inside this, and an error about it names the line of the benchmark's file that it is
    about. One that names a data file of the user's, or a line of code, keeps its place alone.

    Args:
        file: The benchmark's file.
        line_of: From an error to the line.

    Raises:
        DataError: if the data is missing, empty or broken.
    """
    try:
        yield
    except DataError as error:
        before, _, line = error.where.rpartition(":")
        named = Path(before if before and line.isdigit() else error.where)
        is_code = named.suffix == ".py" and line.isdigit()
        if is_code or (named != file and named.is_file()):
            raise
        place = f"{file}:{line_of(error)}"
        where = place if error.where in ("", str(file)) else f"{place}, {error.where}"
        raise DataError(error.what, where=where, hint=error.hint) from error
