"""Tables as they were written, for code that reads its own files again.

A spreadsheet, or a file of separated values, does not give back what was written: of the texts "007" and "None" pandas
makes a number and a missing value. Inside ``keeping_exact`` a table that is written into a folder is also kept there
unchanged. Reading its file returns that table, as long as the file has not been changed by other means. The kept tables
lie on disk, so that threads and processes that the code starts find them too, and are deleted at the end.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.media.sources import digest
from polymeter.data.pickles import read_pickle, write_pickle
from polymeter.data.tables.tsv import is_nothing

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = ".exact"
_DIGEST, _TABLE = "digest", "table"


@contextmanager
def keeping_exact(folder: Path) -> Iterator[None]:
    """Keep the tables that are written into a folder unchanged, inside the block.

    Args:
        folder: The folder, without those below it.
    """
    kept = folder / _FOLDER
    kept.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(kept, ignore_errors=True)


def keep_exact(table: pd.DataFrame, file: Path) -> None:
    """Keep a table that has been written to a file, where its folder keeps them.

    Args:
        table: The table. Its row labels are not kept, as in the file; a cell with a list, or another object, becomes
            the text that stands for it in the file.
        file: The file.
    """
    if (file.parent / _FOLDER).is_dir():
        plain = table.reset_index(drop=True)
        for place in range(plain.shape[1]):
            if plain.dtypes.iloc[place].kind == "O":
                plain.isetitem(place, plain.iloc[:, place].map(_as_written).astype(object))
        write_pickle({_DIGEST: digest(file.read_bytes()), _TABLE: plain}, _place_of(file))


def exact_table(file: Path) -> pd.DataFrame | None:
    """The table that was written to a file; ``None`` if it has not been kept, or the file has changed since."""
    place = _place_of(file)
    if not place.is_file() or not file.is_file():
        return None
    kept = read_pickle(place)
    table: pd.DataFrame | None = kept[_TABLE] if kept[_DIGEST] == digest(file.read_bytes()) else None
    return table


def _place_of(file: Path) -> Path:
    return file.parent / _FOLDER / f"{file.name}.pkl"


def _as_written(cell: Any) -> Any:
    if is_nothing(cell):
        return float("nan")
    return cell if isinstance(cell, (str, Number)) or hasattr(cell, "isoformat") else str(cell)
