"""The fingerprint of a dataset: of its content, not its location, so that it is the same on every machine.

Reading gigabytes of images each time would be a waste, so the fingerprint of a table that is mapped from files is
cached under the files' paths, sizes and times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.machine.files import replacing
from polymeter.core.machine.opened_files import not_noting
from polymeter.core.media.sources import digest
from polymeter.data.media import is_list, modality_of
from polymeter.data.origins import UNKNOWN, chosen_rows

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

_ROWS_AT_ONCE = 4096
_MEDIA_ROWS_AT_ONCE = 64
_FILE_HEAD = 64 * 1024
_CACHE_FILE = "dataset_digests-v1.json"


def dataset_fingerprint(dataset: datasets.Dataset, cache_dir: Path | None = None) -> str:
    """Hex digest of a dataset's rows: schema, cells, and their order after ``select`` or ``shuffle``.

    A medium counts by its bytes; one in a separate file by the file's name, size and first 64 KiB.
    """
    with not_noting():  # it accounts for the files itself, and its cache is nobody's source
        base = _cached(dataset, cache_dir)
        indices = chosen_rows(dataset)
        if indices is None:
            return base
        if indices is UNKNOWN:
            return _digest_dataset(dataset.flatten_indices())
        return digest(f"{base}:{digest(_bytes_of(indices.table))}".encode())


def _cached(dataset: datasets.Dataset, cache_dir: Path | None) -> str:
    files = [Path(entry["filename"]) for entry in dataset.cache_files]
    if cache_dir is None or not files or not all(file.is_file() for file in files):
        return _digest_dataset(dataset)
    names = ",".join(dataset.column_names)
    # A slice of a file has the file's name, too: the first and last rows distinguish slices of equal length.
    ends = [digest(_bytes_of(dataset.data.table.slice(row, 1))) for row in (0, max(0, len(dataset) - 1))]
    key = digest(repr((names, len(dataset), ends, _marks(files))).encode())
    return _once(key, cache_dir, lambda: _digest_dataset(dataset))


def file_fingerprint(file: Path, compute: Callable[[], str], cache_dir: Path | None = None) -> str:
    """The fingerprint of the rows that a file holds, computed once for as long as its size and time stay.

    Args:
        file: The file.
        compute: Reads the rows.
        cache_dir: Where fingerprints are cached; ``None``: they are not.
    """
    if cache_dir is None:
        return compute()
    return _once(digest(repr(("rows", _marks([file]))).encode()), cache_dir, compute)


def files_digest(
    what: str, files: Sequence[Path], settings: object, compute: Callable[[], str], cache_dir: Path | None
) -> str:
    """A text about the rows of files, computed once for as long as their sizes and times stay.

    Args:
        what: Names the kind of text.
        files: The files; none: it is computed each time.
        settings: What else it depends on, as plain data.
        compute: Reads the rows.
        cache_dir: Where it is cached; ``None``: it is not.
    """
    if cache_dir is None or not files:
        return compute()
    return _once(digest(repr((what, _marks(files), settings)).encode()), cache_dir, compute)


def _marks(files: Sequence[Path]) -> list[tuple[str, int, int]]:
    stats = [file.stat() for file in files]
    return [(str(file), stat.st_size, stat.st_mtime_ns) for file, stat in zip(files, stats, strict=True)]


def _once(key: str, cache_dir: Path, compute: Callable[[], str]) -> str:
    file = cache_dir / _CACHE_FILE
    digests: dict[str, str] = {}
    if file.is_file():
        try:
            digests = json.loads(file.read_text())
        except json.JSONDecodeError:
            digests = {}
    if key not in digests:
        digests[key] = compute()
        # Another process never reads half a file, and may note the same rows at the same moment.
        with replacing(file, is_synced=False) as written:
            written.write(json.dumps(digests))
    return digests[key]


def _digest_dataset(dataset: datasets.Dataset) -> str:
    media = {name for name, feature in dataset.features.items() if modality_of(feature) and not is_list(feature)}
    return table_fingerprint(dataset.data.table, media)


def table_fingerprint(table: pa.Table, media: Set[str] = frozenset()) -> str:
    """Hex digest of a table's rows, of which the columns in ``media`` hold media."""
    plain = table.select([name for name in table.column_names if name not in media])

    def cells(name: str, start: int, n: int) -> list[Any]:
        return table.column(name).slice(start, n).to_pylist()  # type: ignore[no-any-return]

    return rows_fingerprint(table.schema, plain, media, cells, table.num_rows)


def rows_fingerprint(
    schema: pa.Schema, plain: pa.Table, media: Set[str], cells: Callable[[str, int, int], Sequence[Any]], n_rows: int
) -> str:
    """Hex digest of rows, as of a table that holds them.

    Args:
        schema: All columns.
        plain: Those that hold no media.
        media: The names of the others.
        cells: The cells of a column of media from a row on, as they are stored.
        n_rows: How many rows there are.
    """
    has_binary = any("binary" in str(kind) for kind in schema.types)
    state = hashlib.blake2b(digest_size=16)
    state.update(repr([(field.name, str(field.type)) for field in schema]).encode())
    step = _MEDIA_ROWS_AT_ONCE if media or has_binary else _ROWS_AT_ONCE
    for start in range(0, n_rows, step):
        of_media = [cells(name, start, min(step, n_rows - start)) for name in sorted(media)]
        state.update(_bytes_of(plain.slice(start, step), of_media))
    return state.hexdigest()


def _bytes_of(plain: pa.Table, media: Sequence[Sequence[Any]] = ()) -> bytes:
    parts = [bytes(batch.serialize()) for batch in plain.combine_chunks().to_batches()]
    for cells in media:
        parts.extend(map(_medium_bytes, cells))
    return b"\0".join(parts)


def _medium_bytes(cell: Any) -> bytes:
    if not isinstance(cell, dict):
        return repr(cell).encode()
    if cell.get("bytes") is not None:
        return digest(cell["bytes"]).encode()
    path = Path(cell.get("path") or "")
    if not path.is_file():
        return str(cell.get("path")).encode()
    with path.open("rb") as file:
        return f"{path.name}:{path.stat().st_size}:{digest(file.read(_FILE_HEAD))}".encode()
