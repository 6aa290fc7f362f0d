"""Rows of small local files that hold only text and numbers, read by Arrow without importing ``datasets``.

That import and its preparation take longer than many a benchmark has rows. Arrow is called as ``datasets`` calls it,
so the rows, their types and their fingerprint are the same. Whatever could be read in another way there (media, dates,
nested data, JSON arrays, damaged text, large files, dataset cards, slices of splits) is left to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.opened_files import not_noting
from polymeter.core.parts import Modality
from polymeter.data.digest import table_fingerprint
from polymeter.data.local import is_saved, only_file
from polymeter.data.rows import may_miss, missing_cells, naming_damage
from polymeter.data.source import BUILDERS, DROPPED, Source, local_place

if TYPE_CHECKING:
    import pyarrow as pa

# ``datasets`` reads JSON in pieces of this size and takes the types from the first, each parsed in blocks.
_LARGEST_FILE = 10 << 20
_BLOCK_SIZE = _LARGEST_FILE // 32
_BUILDER_OF = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
_CARDS = ("README.md", ".huggingface.yaml")
# Recorded sessions of agents, which ``datasets`` turns into other rows.
_OF_SESSIONS = frozenset({"cwd", "system_prompt"})
_DTYPES = {"double": "float64", "float": "float32"}


class PlainRows:
    """Rows of a table in memory; see ``Rows``."""

    def __init__(self, table: pa.Table, file: Path) -> None:
        self.columns = tuple(table.column_names)
        self.media: dict[str, Modality] = {}
        self.undecoded: frozenset[str] = frozenset()
        self.written: frozenset[str] = frozenset()
        self.written_fingerprint = ""
        self.fingerprint = table_fingerprint(table)
        self._table = table.combine_chunks()  # slices of one chunk are quicker
        self._files = [str(file)] if _BUILDER_OF[file.suffix] == "json" else []

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return self.docs(index, index + 1)[0]

    def docs(self, start: int, stop: int) -> list[dict[str, Any]]:
        """See ``Rows``."""
        table = self._table.slice(start, max(0, stop - start))
        with naming_damage(table, self._files):
            columns = [[value for chunk in column.chunks for value in _values(chunk)] for column in table.columns]
            return [dict(zip(self.columns, cells, strict=True)) for cells in zip(*columns, strict=True)]

    def full_doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return self.doc(index)

    def cell(self, index: int, column: str) -> Any:
        """See ``Rows``."""
        return self.doc(index)[column]

    def missing(self, column: str) -> list[int]:
        """See ``Rows``."""
        cells = self._table.column(column)
        return missing_cells(cells) if may_miss(cells) else []

    def is_always_one(self, column: str) -> bool:
        """See ``Rows``."""
        return False


def open_plain(source: Source, splits: Sequence[str], *, overrides: Mapping[str, str]) -> dict[str, PlainRows] | None:
    """The rows of the named splits, if each is one small local file of text and numbers; ``None`` where ``datasets``
    has to look.

    Args:
        source: The dataset.
        splits: Names of splits.
        overrides: Local files that replace ids: ``ID`` or ``ID:CONFIG`` → path.

    Raises:
        DataError: if the place that replaces the dataset does not exist.
    """
    files = _files(source, splits, overrides)
    if files is None:
        return None
    with not_noting():  # rows have a fingerprint of their own
        tables = {file: _table(file) for file in set(files.values())}
    if any(table is None or not table.num_rows for table in tables.values()):
        return None
    rows = {file: PlainRows(table, file) for file, table in tables.items()}
    return {split: rows[file] for split, file in files.items()}


def _files(source: Source, splits: Sequence[str], overrides: Mapping[str, str]) -> dict[str, Path] | None:
    """The file of each split; ``None`` if a split is not exactly one file that can be plain."""
    if any(mark in split for split in splits for mark in "[+"):
        return None
    place, is_of_config = local_place(source, overrides)
    kwargs = {key: value for key, value in source.kwargs.items() if key not in DROPPED}
    if place is None and source.path in BUILDERS:
        named = kwargs.pop("data_files", None)
        if kwargs or source.path not in _BUILDER_OF.values():
            return None
        files = {split: _beside(named.get(split), source.directory) for split in splits} if _is_plain(named) else {}
    else:
        folder = place or source.directory / source.path
        has_config = source.name is not None and not is_of_config
        if kwargs or (has_config and not folder.is_file()) or any((folder / card).exists() for card in _CARDS):
            return None
        files = {split: _of_split(folder.resolve(), split) for split in splits}
    found = {split: file for split, file in files.items() if file is not None and _may_be_plain(file)}
    return found if len(found) == len(splits) else None


def _is_plain(named: Any) -> bool:
    """Whether ``data_files`` names one file, and not a pattern, for each split."""
    return isinstance(named, Mapping) and all(isinstance(file, str) for file in named.values())


def _beside(file: str | None, directory: Path) -> Path | None:
    if file is None or "://" in file or any(mark in file for mark in "*?["):
        return None
    return next((path for path in (directory / file, Path(file)) if path.is_file()), None)


def _of_split(place: Path, split: str) -> Path | None:
    if place.is_file():
        return place
    return only_file(place, split) if place.is_dir() and not is_saved(place) else None


def _may_be_plain(file: Path) -> bool:
    return file.suffix in _BUILDER_OF and file.stat().st_size <= _LARGEST_FILE


def _table(file: Path) -> pa.Table | None:
    """The table in a file; ``None`` if it is not plain, or cannot be read like this."""
    import pyarrow as pa

    try:
        table = _READERS[_BUILDER_OF[file.suffix]](file)
    except (pa.ArrowException, OSError):  # ``datasets`` knows further ways to read it, or says what is wrong
        return None
    if table is None:
        return None
    is_plain = all(_is_of_plain_type(field.type) for field in table.schema)
    return table if is_plain and len(set(table.column_names)) == table.num_columns else None


def _read_json(file: Path) -> pa.Table | None:
    from pyarrow import BufferReader
    from pyarrow.json import ReadOptions, read_json

    data = file.read_bytes()
    size = len(data) if len(data) // 8 > _BLOCK_SIZE else _BLOCK_SIZE
    table = read_json(BufferReader(data), read_options=ReadOptions(block_size=size))
    table.validate()
    return None if _OF_SESSIONS.intersection(table.column_names) else table


def _read_parquet(file: Path) -> pa.Table | None:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as content:
        groups = [content.metadata.row_group(number) for number in range(content.metadata.num_row_groups)]
        schema = content.schema_arrow
        is_small = sum(group.total_byte_size for group in groups) <= _LARGEST_FILE
        if not is_small or not _is_described_plainly(schema):
            return None
        table = content.read()
    return table.replace_schema_metadata(None)


def _is_described_plainly(schema: pa.Schema) -> bool:
    """Whether the features that ``datasets`` has noted in a schema, if any, say what its types say."""
    described = (schema.metadata or {}).get(b"huggingface")
    if described is None:
        return True
    try:
        features = json.loads(described)["info"]["features"]
        plain = {
            field.name: {"dtype": _DTYPES.get(str(field.type), str(field.type)), "_type": "Value"} for field in schema
        }
        return bool(features == plain)
    except (ValueError, KeyError, TypeError):  # not written by ``datasets``
        return False


def _is_of_plain_type(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_list(kind):
        # Its text holds the name of the items, which Parquet files choose otherwise.
        return str(kind) == str(pa.list_(kind.value_type)) and _is_of_plain_type(kind.value_type)
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or is_number or pa.types.is_boolean(kind))


_READERS = {"json": _read_json, "parquet": _read_parquet}


# --- cells


def _values(array: pa.Array) -> list[Any]:
    """The cells of a plain column as Python objects, from its buffers: Arrow's own conversion imports pandas."""
    import numpy as np
    import pyarrow as pa

    n, start, kind = len(array), array.offset, array.type
    validity, *buffers = array.buffers()[:3]
    values: list[Any]
    if pa.types.is_list(kind):
        offsets = memoryview(buffers[0]).cast("i")[start : start + n + 1]
        items = _values(array.values.slice(offsets[0], offsets[-1] - offsets[0]))
        values = [items[i - offsets[0] : j - offsets[0]] for i, j in pairwise(offsets)]
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        offsets = memoryview(buffers[0]).cast("i" if pa.types.is_string(kind) else "q")[start : start + n + 1]
        text = memoryview(buffers[1] or b"")
        values = [str(text[i:j], "utf-8") for i, j in pairwise(offsets)]
    elif pa.types.is_boolean(kind):
        values = _bits(buffers[0], start, n)
    else:
        values = np.frombuffer(buffers[0], kind.to_pandas_dtype(), count=start + n)[start:].tolist()
    if validity is None or not array.null_count:
        return values
    return [value if is_there else None for value, is_there in zip(values, _bits(validity, start, n), strict=True)]


def _bits(buffer: pa.Buffer, start: int, n: int) -> list[bool]:
    import numpy as np

    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), count=start + n, bitorder="little")
    values: list[bool] = bits[start:].astype(bool).tolist()
    return values
