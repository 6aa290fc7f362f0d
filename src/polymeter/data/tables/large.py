"""Reading tables that hold more than memory should: a few rows at a time, with the images left in a file.

The result is what pandas' ``read_csv`` gives for the whole file. All other columns are read at once from a copy without
images, in memory, so each has the type that it would have; the column ``image`` reads its cells when they are used.
"""

from __future__ import annotations

import csv
import logging
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from polymeter.data.tables.stored_text import LONGEST_HELD, StoredText, TextFile

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

LARGE_BYTES = 64 << 20
"""A table of images that has more is not read whole: pandas takes twice its size for that."""
IMAGES = "image"
_PIECE_CHARACTERS = 8 << 20
_FIRST_ROWS, _MOST_ROWS = 2, 1024
_ELSEWHERE = "stored"


def is_large(path: Path) -> bool:
    """Return whether a table is too large to be read whole if it holds images."""
    return path.stat().st_size > LARGE_BYTES


def read_large(source: Path | IO[str], arguments: Mapping[str, Any]) -> pd.DataFrame:
    """A table whose long images are in a temporary file.

    Args:
        source: The table, which has a column ``image``.
        arguments: Those of ``pd.read_csv`` for the whole table.

    Raises:
        OSError: if the disk refuses the temporary file.
    """
    import pandas as pd

    from polymeter.data.stored_column import column_of, held_cells

    file = TextFile()
    images: list[StoredText | None] = []
    rest = StringIO(newline="")
    for piece in pieces_of(source, {name: arguments[name] for name in ("sep", "index_col")}):
        stored = [_kept(cell, file) for cell in piece[IMAGES]]
        images += stored
        texts = [text if here is None else _ELSEWHERE for text, here in zip(piece[IMAGES], stored, strict=True)]
        piece = piece.assign(**{IMAGES: texts})
        # With every cell in quotes each comes back unchanged, line breaks of all kinds included.
        piece.to_csv(rest, sep="\t", index=False, header=len(images) == len(piece), quoting=csv.QUOTE_ALL)
    file.flush()
    rest.seek(0)
    table: pd.DataFrame = pd.read_csv(rest, **arguments)
    cells = held_cells(table[IMAGES])
    table[IMAGES] = column_of(
        [cell if here is None else here for cell, here in zip(cells, images, strict=True)], table.index
    )
    return table


def pieces_of(source: Path | IO[str], arguments: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """A table in pieces of some megabytes, and of one row at least. All cells are texts, as they are written: a number
    that is parsed and written again may come out as another text.

    A row with more cells than the header is an error, as in a table that is read whole. Pandas 2 does not see it in the
    first two rows of any piece but the first: there it leaves out the cells that are too many.

    Args:
        source: The table, which has a column ``image``.
        arguments: Arguments of ``pd.read_csv`` that say where cells begin.
    """
    import pandas as pd

    n_rows = _FIRST_ROWS
    with pd.read_csv(source, dtype=object, keep_default_na=False, iterator=True, **arguments) as reader:
        while True:
            try:
                piece = reader.get_chunk(n_rows)
            except StopIteration:
                return
            longest = max((len(cell) for cell in piece[IMAGES] if isinstance(cell, str)), default=0)
            n_rows = min(_PIECE_CHARACTERS // max(longest, 1) + 1, _MOST_ROWS)
            yield piece


def _kept(cell: Any, file: TextFile) -> StoredText | None:
    return file.keep(cell) if isinstance(cell, str) and len(cell) > LONGEST_HELD else None
