"""Rows: random access to a dataset without holding it.

A *doc* is a row without its media columns, so reading it decodes nothing; the *full doc* has them, opened lazily.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from polymeter.core.content import Image, Modality
from polymeter.core.errors import DataError
from polymeter.core.media.sources import digest, is_pil
from polymeter.core.text.codec import jsonable
from polymeter.core.text.damaged_rows import damaged_text
from polymeter.data.digest import dataset_fingerprint
from polymeter.data.media import Decoder, decoder_of, is_list, modality_of, open_image
from polymeter.data.tables.written import WrittenCells, written_cell

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa


class Rows(Protocol):
    """Rows of one split.

    Attributes:
        columns: Names of all columns, media included.
        media: Modality of each column that docs leave out.
        undecoded: Media columns with undecoded cells, as the dataset stores them (``decode=False``).
        fingerprint: Digest of the content.
        written: Columns with cells that rows know as written.
        written_fingerprint: Digest of those; empty if there are none.
        has_blanks: Whether an empty cell is an empty text, as in a CSV.
    """

    columns: tuple[str, ...]
    media: dict[str, Modality]
    undecoded: frozenset[str]
    fingerprint: str
    written: frozenset[str]
    written_fingerprint: str
    has_blanks: bool

    def __len__(self) -> int: ...
    def doc(self, index: int) -> dict[str, Any]:
        """The row without media."""
        ...

    def docs(self, start: int, stop: int) -> list[dict[str, Any]]:
        """Rows ``start`` to ``stop`` without media, read column by column."""
        ...

    def full_doc(self, index: int) -> dict[str, Any]:
        """The row with media, opened lazily.

        Raises:
            DataError: if a medium of this row cannot be read.
        """
        ...

    def cell(self, index: int, column: str) -> Any:
        """One cell as stored: media as ``{"bytes", "path"}`` or encoded bytes, never decoded."""
        ...

    def missing(self, column: str) -> list[int]:
        """The numbers of the rows in which a cell of a plain column is null, NaN, or empty in a CSV."""
        ...

    def is_always_one(self, column: str) -> bool:
        """Return whether every cell of a media column is known to hold exactly one medium, without reading any."""
        ...


class KnownCells:
    """A mix-in for rows that may know how some of their cells are written."""

    written: frozenset[str] = frozenset()
    written_fingerprint = ""
    has_blanks = False
    _cells: WrittenCells | None = None

    def know(self, cells: WrittenCells) -> None:
        """Have these cells in rows from now on, or beside them."""
        self.written, self.written_fingerprint = cells.columns, cells.fingerprint
        self.has_blanks = cells.has_blanks
        self._cells = cells

    def _known(self, docs: list[dict[str, Any]], start: int) -> list[dict[str, Any]]:
        """Rows from a number on, with what is known of how they are written."""
        return docs if self._cells is None or not docs else self._cells.applied(docs, start)


class DatasetRows(KnownCells):
    """Rows of a Hugging Face dataset, read from its memory-mapped table.

    Args:
        dataset: The rows.
        cache_dir: Where fingerprints are cached.
    """

    def __init__(self, dataset: datasets.Dataset, *, cache_dir: Path | None = None) -> None:
        features = dataset.features
        self.columns = tuple(features)
        self.media: dict[str, Modality] = {name: kind for name, f in features.items() if (kind := modality_of(f))}
        self.fingerprint = dataset_fingerprint(dataset, cache_dir)
        self._n = len(dataset)
        self._all = dataset.with_format("arrow")
        plain = [name for name in self.columns if name not in self.media]
        self._plain = self._all.select_columns(plain) if plain else None
        self._decoders: dict[str, Decoder] = {
            name: decoder for name, f in features.items() if (decoder := decoder_of(f))
        }
        self.undecoded = frozenset(self.media.keys() - self._decoders.keys())
        self._plain_decoders = {name: decoder for name, decoder in self._decoders.items() if name not in self.media}
        self._views: dict[str, datasets.Dataset] = {}
        self._files = [*(dataset.info.download_checksums or ())]
        table: pa.Table = dataset.data.table
        self._singles = {
            name for name in self.media if not is_list(features[name]) and table.column(name).null_count == 0
        }

    def __len__(self) -> int:
        return self._n

    def doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return self.docs(index, index + 1)[0]

    def docs(self, start: int, stop: int) -> list[dict[str, Any]]:
        """See ``Rows``."""
        stop = min(stop, self._n)
        if self._plain is None:
            return [{} for _ in range(start, stop)]
        if start >= stop:
            return []
        table = self._plain[start:stop]
        with naming_damage(table, self._files):
            return self._known(_to_docs(table, self._plain_decoders), start)

    def full_doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        table = self._all[index : index + 1]
        with naming_damage(table, self._files):
            return self._known(_to_docs(table, self._decoders), index)[0]

    def cell(self, index: int, column: str) -> Any:
        """See ``Rows``."""
        view = self._views.get(column)
        if view is None:
            view = self._views[column] = self._all.select_columns([column])
        return view[index : index + 1].column(0)[0].as_py()

    def missing(self, column: str) -> list[int]:
        """See ``Rows``."""
        if not may_miss(self._all.data.table.column(column)):
            return []
        missing = missing_cells(self._all.select_columns([column])[:].column(0))
        if column not in self.written:
            return missing
        # A word that pandas takes for nothing is a word.
        return [number for number in missing if is_missing(written_cell(self.doc(number), column))]

    def is_always_one(self, column: str) -> bool:
        """See ``Rows``."""
        return column in self._singles


class ListRows:
    """Rows held in memory: what ``process_docs`` returns if it does not return a dataset."""

    def __init__(self, rows: Iterable[dict[str, Any]], *, base_fingerprint: str) -> None:
        self._rows = [dict(row) for row in rows]
        first = self._rows[0] if self._rows else {}
        self.columns = tuple(first)
        self.media: dict[str, Modality] = {name: "image" for name, value in first.items() if is_pil(value)}
        self.undecoded: frozenset[str] = frozenset()
        self.written: frozenset[str] = frozenset()
        self.written_fingerprint = ""
        self.has_blanks = False
        self.fingerprint = digest(f"{base_fingerprint}:list:{_digest_rows(self._rows)}".encode())

    def __len__(self) -> int:
        return len(self._rows)

    def doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return {name: value for name, value in self._rows[index].items() if name not in self.media}

    def docs(self, start: int, stop: int) -> list[dict[str, Any]]:
        """See ``Rows``."""
        return [self.doc(index) for index in range(start, min(stop, len(self._rows)))]

    def full_doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return {name: _own(value) for name, value in self._rows[index].items()}

    def cell(self, index: int, column: str) -> Any:
        """See ``Rows``."""
        return _own(self._rows[index].get(column))

    def missing(self, column: str) -> list[int]:
        """See ``Rows``."""
        return [number for number, row in enumerate(self._rows) if is_missing(row.get(column))]

    def is_always_one(self, column: str) -> bool:
        """See ``Rows``."""
        return False


def make_rows(
    data: Any,
    *,
    what: str,
    base_fingerprint: str = "",
    cache_dir: Path | None = None,
) -> Rows:
    """Rows of a dataset, or of any iterable of dictionaries.

    Args:
        data: A Hugging Face dataset, a list, or a generator.
        what: Names the data in messages ("split 'test' of task 'mme'").
        base_fingerprint: Digest of what an iterable was made from.
        cache_dir: Where fingerprints are cached.

    Raises:
        DataError: if the data has another type, or is empty.
    """
    rows: Rows
    if hasattr(data, "features") and hasattr(data, "with_format"):
        rows = DatasetRows(data, cache_dir=cache_dir)
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes, dict)):
        items = list(data)
        if not all(isinstance(item, dict) for item in items):
            raise DataError(f"The rows of {what} must be dictionaries.")
        rows = ListRows(items, base_fingerprint=base_fingerprint)
    else:
        raise DataError(
            f"Cannot read rows of {what} from a {type(data).__name__}.", hint="Return a dataset or a list of dicts."
        )
    if len(rows) == 0:
        raise DataError(f"There are no rows in {what}.", hint="Check the file, and which rows process_docs keeps.")
    return rows


@contextmanager
def naming_damage(table: pa.Table, files: Sequence[str]) -> Iterator[None]:
    """Read rows inside this: text that is not UTF-8 raises an error with its file and line. Some readers accept such
    text unchanged, and it fails only when it is used.

    Args:
        table: The rows.
        files: The files that may hold them.
    """
    import pyarrow as pa

    try:
        yield
    except (UnicodeDecodeError, pa.ArrowException) as error:
        damaged = _damaged_text(table)
        if damaged is None:
            raise
        raise damaged_text(damaged[0], _line_of(damaged[1], files)) from error


def is_missing(value: Any) -> bool:
    """Return whether the value of a cell is none: null or NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def may_miss(column: pa.ChunkedArray) -> bool:
    """Return whether a column may have cells that are null or NaN."""
    import pyarrow as pa

    return bool(column.null_count or pa.types.is_floating(column.type))


def missing_cells(column: pa.ChunkedArray) -> list[int]:
    """The numbers of the cells that are null or NaN."""
    import pyarrow.compute as pc

    return pc.indices_nonzero(pc.is_null(column, nan_is_null=True)).to_pylist()  # type: ignore[no-any-return]


def _to_docs(table: pa.Table, decoders: Mapping[str, Decoder]) -> list[dict[str, Any]]:
    names = table.column_names
    columns: list[Sequence[Any]] = []
    for name, column in zip(names, table.columns, strict=True):
        values = _to_list(column)
        decode = decoders.get(name)
        columns.append([decode(value) for value in values] if decode else values)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _damaged_text(table: pa.Table) -> tuple[str, bytes] | None:
    """The first text of some rows that is not UTF-8: its column and its bytes."""
    import pyarrow as pa

    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            for data in column.cast(pa.binary()).to_pylist():
                try:
                    (data or b"").decode()
                except UnicodeDecodeError:
                    return name, data
    return None


def _line_of(data: bytes, files: Sequence[str]) -> str:
    """Return the first place of some bytes in the files of a dataset, as ``rows.jsonl:17``; empty if there is none."""
    for file in map(Path, files):
        if file.is_file() and file.suffix in (".json", ".jsonl"):
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if data in line:
                        return f"{file.name}:{number}"
    return ""


def _to_list(column: pa.ChunkedArray) -> list[Any]:
    """Values of a column as Python objects; through NumPy where that is exact, which is many times faster."""
    import pyarrow as pa

    kind = column.type
    is_exact = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not is_exact and column.null_count == 0:
        is_exact = pa.types.is_integer(kind) or pa.types.is_float64(kind) or pa.types.is_boolean(kind)
    return column.to_numpy().tolist() if is_exact else column.to_pylist()  # type: ignore[no-any-return]


_sorted_json = json.JSONEncoder(sort_keys=True).encode  # made once: ``json.dumps`` makes one for each call


def _digest_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """Digest of rows in memory; an image counts by its encoded bytes if it has them, else by its pixels."""
    state = hashlib.blake2b(digest_size=16)
    for row in rows:
        for name, value in row.items():
            is_image = type(value) is not str and is_pil(value)
            content = Image(value).content_hash() if is_image else _sorted_json(jsonable(value))
            state.update(f"{name}={content}\0".encode(errors="surrogatepass"))
        state.update(b"\1")
    return state.hexdigest()


def _own(value: Any) -> Any:
    """Return a cell for one use. An image that was not decoded yet is opened anew: its user decodes it in place, and
    these rows live as long as the run.
    """
    data = vars(value).get("polymeter_bytes") if is_pil(value) and getattr(value, "tile", None) else None
    return value if data is None else open_image(data)
