"""The fingerprint of a dataset: of its content, not its location, so that it is the same on every machine.

Reading gigabytes of images each time would be a waste, so the fingerprint of a table that is mapped from files is
cached under the files' paths, sizes and times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.opened_files import not_noting
from polymeter.core.sources import digest
from polymeter.data.mapped import forget_mapped_pages
from polymeter.data.media import is_list, modality_of

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
        indices = dataset._indices
        if indices is None:
            return base
        return digest(f"{base}:{digest(_bytes_of(indices.table, set()))}".encode())


def _cached(dataset: datasets.Dataset, cache_dir: Path | None) -> str:
    files = [Path(entry["filename"]) for entry in dataset.cache_files]
    if cache_dir is None or not files or not all(file.is_file() for file in files):
        return _digest_dataset(dataset)
    stats = [file.stat() for file in files]
    names = ",".join(dataset.column_names)
    pairs = zip(files, stats, strict=True)
    # A slice of a file has the file's name, too: the first and last rows distinguish slices of equal length.
    ends = [digest(_bytes_of(dataset.data.table.slice(row, 1), set())) for row in (0, max(0, len(dataset) - 1))]
    key = digest(repr((names, len(dataset), ends, [(str(f), s.st_size, s.st_mtime_ns) for f, s in pairs])).encode())
    file = cache_dir / _CACHE_FILE
    digests: dict[str, str] = {}
    if file.is_file():
        try:
            digests = json.loads(file.read_text())
        except json.JSONDecodeError:
            digests = {}
    if key not in digests:
        digests[key] = _digest_dataset(dataset)
        cache_dir.mkdir(parents=True, exist_ok=True)
        # Written aside and moved into place, so that another process never reads half a file.
        part = file.with_name(f"{file.name}.{digest(key.encode())[:8]}.part")
        part.write_text(json.dumps(digests))
        part.replace(file)
    return digests[key]


def _digest_dataset(dataset: datasets.Dataset) -> str:
    media = {name for name, feature in dataset.features.items() if modality_of(feature) and not is_list(feature)}
    found = table_fingerprint(dataset.data.table, media)
    forget_mapped_pages()
    return found


def table_fingerprint(table: pa.Table, media: Set[str] = frozenset()) -> str:
    """Hex digest of a table's rows, of which the columns in ``media`` hold media."""
    has_binary = any("binary" in str(kind) for kind in table.schema.types)
    state = hashlib.blake2b(digest_size=16)
    state.update(repr([(field.name, str(field.type)) for field in table.schema]).encode())
    step = _MEDIA_ROWS_AT_ONCE if media or has_binary else _ROWS_AT_ONCE
    for start in range(0, table.num_rows, step):
        state.update(_bytes_of(table.slice(start, step), media))
        if media:
            forget_mapped_pages()
    return state.hexdigest()


def _bytes_of(table: pa.Table, media: Set[str]) -> bytes:
    plain = table.select([name for name in table.column_names if name not in media])
    parts = [bytes(batch.serialize()) for batch in plain.combine_chunks().to_batches()]
    for name in sorted(media):
        parts.extend(_medium_bytes(cell) for cell in table.column(name).to_pylist())
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
