"""Rows of a Parquet file with columns of images, read where they lie: text and numbers at once, images a row group at a
time when they are used.

``datasets`` writes such a file to an Arrow file first, and takes longer to import than a hundred images to decode. The
rows, their features and their fingerprint are the same.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Modality
from polymeter.core.errors import DataError, boundary
from polymeter.data.digest import file_fingerprint, rows_fingerprint
from polymeter.data.media import open_image
from polymeter.data.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import FileMetaData, ParquetFile

_STORED = "struct<bytes: binary, path: string>"
_FEATURE = {"_type": "Image"}
_BATCH, _BATCH_WITH_IMAGES = 1000, 100
"""Most rows of a record batch that ``datasets`` writes."""
_LARGEST_GROUP = 32 << 20
_HELD_BYTES = 16 << 20
_LEAST_HELD = 2
"""Neighbours are used together, and two decoding threads may stand on both sides of the end of a group."""


def is_image(field: pa.Field, feature: Mapping[str, Any] | None) -> bool:
    """Return whether a column holds images as ``datasets`` stores them, which become Pillow images unchanged.

    Args:
        field: The column.
        feature: Its noted feature, without settings that have their default.
    """
    return feature == _FEATURE and str(field.type) == _STORED and field.nullable


def can_be_read_in_groups(metadata: FileMetaData, images: Collection[str]) -> bool:
    """Return whether no group of rows has so many bytes of images that a few of them would fill the memory."""
    return not images or all(
        "." not in name and max(_sizes(metadata, lambda column: column == name)) <= _LARGEST_GROUP  # noqa: B023
        for name in images
    )


def size_of_columns(metadata: FileMetaData, except_for: Collection[str]) -> int:
    """Return the number of bytes in the columns of a file, decompressed, except for some."""
    return sum(_sizes(metadata, lambda column: column not in except_for))


def _sizes(metadata: FileMetaData, is_counted: Callable[[str], bool]) -> Iterator[int]:
    """Return the number of bytes in the counted columns of each row group."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        parts = map(group.column, range(group.num_columns))
        yield sum(part.total_uncompressed_size for part in parts if is_counted(part.path_in_schema.partition(".")[0]))


def prepared(content: ParquetFile, columns: Sequence[str], *, has_images: bool) -> pa.Table:
    """Some columns as ``datasets`` prepares them: read by row groups and written in record batches of a certain size.
    The fingerprint of a table counts what lies beside its cells, too, which differs with the size of batches.

    Args:
        content: The file.
        columns: Names of columns of numbers and text.
        has_images: Whether the file has images beside them.
    """
    import pyarrow as pa

    n_groups = content.metadata.num_row_groups
    n_rows = content.metadata.row_group(0).num_rows if n_groups else 0
    schema = pa.schema([content.schema_arrow.field(name) for name in columns])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for number in range(n_groups):
            group = content.read_row_group(number, list(columns)).select(list(columns)).replace_schema_metadata(None)
            for start in range(0, len(group), max(1, n_rows)):
                piece = group.slice(start, n_rows).combine_chunks()
                writer.write_table(piece, _BATCH_WITH_IMAGES if has_images else _BATCH)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


class ImageRows:
    """Rows of a Parquet file with images; see ``Rows``. Thread-safe.

    Args:
        file: The file.
        metadata: Its own description.
        schema: All its columns.
        images: Those that hold images.
        table: The others.
        plain: Rows of those.
        cache_dir: Where fingerprints are cached.
    """

    def __init__(
        self,
        file: Path,
        metadata: FileMetaData,
        schema: pa.Schema,
        images: Sequence[str],
        table: pa.Table,
        plain: Rows,
        cache_dir: Path | None,
    ) -> None:
        self.columns = tuple(schema.names)
        self.media: dict[str, Modality] = dict.fromkeys(images, "image")
        self.undecoded: frozenset[str] = frozenset()
        self.written: frozenset[str] = frozenset()
        self.written_fingerprint = ""
        self.has_blanks = False
        self._plain = plain
        self._images = _Images(file, metadata)
        self._empty = {name: self._images.empty(name) for name in images}
        self.fingerprint = file_fingerprint(
            file, lambda: rows_fingerprint(schema, table, set(images), self._images.cells, len(plain)), cache_dir
        )

    def __len__(self) -> int:
        return len(self._plain)

    def doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return self._plain.doc(index)

    def docs(self, start: int, stop: int) -> list[dict[str, Any]]:
        """See ``Rows``."""
        return self._plain.docs(start, stop)

    def full_doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        doc = self._plain.doc(index)
        return {name: open_image(self.cell(index, name)) if name in self.media else doc[name] for name in self.columns}

    def cell(self, index: int, column: str) -> Any:
        """See ``Rows``."""
        return self._images.cells(column, index, 1)[0] if column in self.media else self._plain.cell(index, column)

    def missing(self, column: str) -> list[int]:
        """See ``Rows``."""
        return self._empty[column] if column in self.media else self._plain.missing(column)

    def is_always_one(self, column: str) -> bool:
        """See ``Rows``."""
        return column in self.media and not self._empty[column]


class _Images:
    """The stored images of a Parquet file. Thread-safe."""

    def __init__(self, file: Path, metadata: FileMetaData) -> None:
        self._file = file
        self._metadata = metadata
        self._mark = _mark(file)
        sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        self._starts = list(accumulate(sizes, initial=0))

    def empty(self, column: str) -> list[int]:
        """The numbers of the rows without an image. Reads no image."""
        paths = self._read(f"{column}.path")
        return paths.is_null().to_numpy(zero_copy_only=False).nonzero()[0].tolist() if paths.null_count else []

    def cells(self, column: str, start: int, n: int) -> list[Any]:
        """The cells of a column from a row on, as they are stored.

        Raises:
            DataError: if the file cannot be read any more.
        """
        found: list[Any] = []
        while len(found) < n:
            number = bisect_right(self._starts, start + len(found)) - 1
            group = _HELD.get((self._mark, column, number), lambda: self._read(column, number))  # noqa: B023
            first = start + len(found) - self._starts[number]
            found += group.slice(first, n - len(found)).to_pylist()
        return found

    def _read(self, column: str, number: int | None = None) -> pa.Array:
        from pyarrow.parquet import ParquetFile

        with boundary(DataError, f"Reading {self._file}"):
            if _mark(self._file) != self._mark:
                raise DataError("A file of the dataset was changed while it is used.", where=str(self._file))
            with ParquetFile(self._file, metadata=self._metadata, pre_buffer=False) as content:
                table = (
                    content.read([column])
                    if number is None
                    else content.read_row_group(number, [column], use_threads=False)
                )
            found = table.column(0)
            return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()


def _mark(file: Path) -> tuple[str, int, int]:
    stat = file.stat()
    return str(file), stat.st_size, stat.st_mtime_ns


class _HeldGroup:
    """The groups of images that were read last, of all files. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: OrderedDict[Any, pa.Array] = OrderedDict()

    def get(self, key: Any, read: Callable[[], pa.Array]) -> pa.Array:
        """Return a group. It is read once, when it is first needed."""
        with self._lock:
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = read()
                while len(self._groups) > _LEAST_HELD and self._n_bytes() > _HELD_BYTES:
                    self._groups.popitem(last=False)
            self._groups.move_to_end(key)
            return group

    def _n_bytes(self) -> int:
        return sum(group.nbytes for group in self._groups.values())


# Of the process, up to a number of bytes: rows that a run still reads and rows of the next run share a file.
_HELD = _HeldGroup()
