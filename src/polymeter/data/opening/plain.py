"""Rows of local files that hold only text and numbers, and images in Parquet, read by Arrow without importing
``datasets``.

That import and its preparation take longer than many a benchmark has rows. Arrow is called as ``datasets`` calls it,
so the rows, their types and their fingerprint are the same. Data that could be read in another way there (other media,
dates, nested data, JSON arrays, damaged text, large files, dataset cards, slices of splits) is left to it.

Few-shot examples with images and hooks that get the whole dataset (``process_docs``) need ``datasets`` itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.content import Modality
from polymeter.core.machine.opened_files import not_noting
from polymeter.data.digest import table_fingerprint
from polymeter.data.fetching.expansion import check_expansion
from polymeter.data.opening.explaining import in_other_encoding, refuse_equal_names
from polymeter.data.opening.local import CARDS, is_saved, only_file
from polymeter.data.opening.parquet_images import ImageRows, can_be_read_in_groups, is_image, prepared, size_of_columns
from polymeter.data.rows import KnownCells, Rows, is_missing, may_miss, missing_cells, naming_damage
from polymeter.data.source import BUILDERS, DROPPED, Source, local_place

if TYPE_CHECKING:
    import pyarrow as pa

# ``datasets`` reads JSON in pieces of this size and takes the types from the first, each parsed in blocks.
_LARGEST_FILE = 10 << 20
_BLOCK_SIZE = _LARGEST_FILE // 32
_BUILDER_OF = {".json": "json", ".jsonl": "json", ".parquet": "parquet"}
# Recorded sessions of agents, which ``datasets`` turns into other rows.
_OF_SESSIONS = frozenset({"cwd", "system_prompt"})
_DECODED = ("decode", True)
_DTYPES = {"double": "float64", "float": "float32"}


class PlainRows(KnownCells):
    """Rows of a table in memory; see ``Rows``.

    Attributes:
        file: The file that they are from.
        is_json: Whether it is JSON.
        kinds: The type of each column, as Arrow writes it.
    """

    def __init__(self, table: pa.Table, file: Path) -> None:
        self.columns = tuple(table.column_names)
        self.media: dict[str, Modality] = {}
        self.undecoded: frozenset[str] = frozenset()
        self.kinds = {field.name: str(field.type) for field in table.schema}
        self.fingerprint = table_fingerprint(table)
        self._table = table.combine_chunks()  # slices of one chunk are quicker
        self.file = file
        self.is_json = _BUILDER_OF[file.suffix] == "json"
        self._files = [str(file)] if self.is_json else []

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
            docs = [dict(zip(self.columns, cells, strict=True)) for cells in zip(*columns, strict=True)]
        return self._known(docs, start)

    def full_doc(self, index: int) -> dict[str, Any]:
        """See ``Rows``."""
        return self.doc(index)

    def cell(self, index: int, column: str) -> Any:
        """See ``Rows``."""
        return self.doc(index)[column]

    def missing(self, column: str) -> list[int]:
        """See ``Rows``."""
        cells = self._table.column(column)
        missing = missing_cells(cells) if may_miss(cells) else []
        return missing if column not in self.written else [n for n in missing if is_missing(self.cell(n, column))]

    def is_always_one(self, column: str) -> bool:
        """See ``Rows``."""
        return False


def open_plain(
    source: Source, splits: Sequence[str], *, overrides: Mapping[str, str], cache_dir: Path | None = None
) -> dict[str, Rows] | None:
    """The rows of the named splits, if each is one local file of text and numbers, or of images too; ``None`` where
    ``datasets`` has to look.

    Args:
        source: The dataset.
        splits: Names of splits.
        overrides: Local files that replace ids: ``ID`` or ``ID:CONFIG`` → path.
        cache_dir: Where fingerprints are cached.

    Raises:
        DataError: if the place that replaces the dataset does not exist, or two columns of a table have one name.
    """
    files = _files(source, splits, overrides)
    if files is None:
        return None
    with not_noting():  # rows have a fingerprint of their own
        rows = {file: _plain_rows(file, cache_dir) for file in set(files.values())}
        opened = {split: rows[file] for split, file in files.items()}
    # Examples are drawn from anywhere in their split, and each image would be read with its neighbours.
    has_examples_with_media = len(splits) > 1 and any(found and found.media for found in rows.values())
    return None if has_examples_with_media else _all_there(opened)


def _all_there(opened: Mapping[str, Rows | None]) -> dict[str, Rows] | None:
    there = {split: rows for split, rows in opened.items() if rows is not None and len(rows)}
    return there if len(there) == len(opened) else None


def _files(source: Source, splits: Sequence[str], overrides: Mapping[str, str]) -> dict[str, Path] | None:
    """The file of each split; ``None`` if a split is not exactly one file that can be plain."""
    if source.path in BUILDERS and source.path not in _BUILDER_OF.values() and not overrides.get(source.path):
        return None
    found = single_files(source, splits, overrides)
    return found if found is not None and all(map(_may_be_plain, found.values())) else None


def single_files(source: Source, splits: Sequence[str], overrides: Mapping[str, str]) -> dict[str, Path] | None:
    """The file of each split, where each is exactly one local file that is read without further settings; else
    ``None``.

    Args:
        source: The dataset.
        splits: Names of splits.
        overrides: Local files that replace ids.

    Raises:
        DataError: if the place that replaces the dataset does not exist.
    """
    if any(mark in split for split in splits for mark in "[+"):
        return None
    place, is_of_config = local_place(source, overrides)
    kwargs = {key: value for key, value in source.kwargs.items() if key not in DROPPED}
    if place is None and source.path in BUILDERS:
        named = kwargs.pop("data_files", None)
        if kwargs:
            return None
        files = {split: _beside(named.get(split), source.directory) for split in splits} if _is_plain(named) else {}
    else:
        folder = place or source.directory / source.path
        has_config = source.name is not None and not is_of_config
        if kwargs or (has_config and not folder.is_file()) or any((folder / card).exists() for card in CARDS):
            return None
        files = {split: _of_split(folder.resolve(), split) for split in splits}
    found = {split: file for split, file in files.items() if file is not None}
    return found if len(found) == len(splits) else None


def _is_plain(named: Any) -> bool:
    """Return whether ``data_files`` names one file, and not a pattern, for each split."""
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
    kind = _BUILDER_OF.get(file.suffix)
    return kind == "parquet" or (kind == "json" and file.stat().st_size <= _LARGEST_FILE)


def _plain_rows(file: Path, cache_dir: Path | None) -> Rows | None:
    """The rows in a file; ``None`` if they are not plain, or cannot be read like this."""
    import pyarrow as pa

    try:
        if _BUILDER_OF[file.suffix] == "parquet":
            check_expansion(file)
            return _parquet_rows(file, cache_dir)
        table = _read_json(file)
    except (pa.ArrowException, OSError):  # ``datasets`` knows further ways to read it, or reports the error
        return None
    return PlainRows(table, file) if table is not None and _is_plain_table(table) else None


def _is_plain_table(table: pa.Table) -> bool:
    is_plain = all(_is_of_plain_type(field.type) for field in table.schema)
    return is_plain and len(set(table.column_names)) == table.num_columns


def _read_json(file: Path) -> pa.Table | None:
    from pyarrow import BufferReader
    from pyarrow.json import ReadOptions, read_json

    data = file.read_bytes()
    try:
        data.decode()
    except UnicodeDecodeError:  # Arrow does not notice
        problem = in_other_encoding(file)
        if problem is not None:
            raise problem from None
        return None
    size = len(data) if len(data) // 8 > _BLOCK_SIZE else _BLOCK_SIZE
    table = read_json(BufferReader(data), read_options=ReadOptions(block_size=size))
    table.validate()
    return None if _OF_SESSIONS.intersection(table.column_names) else table


def _parquet_rows(file: Path, cache_dir: Path | None) -> Rows | None:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file, pre_buffer=False) as content:
        schema = content.schema_arrow
        refuse_equal_names(schema.names, file, has_lines=False)
        described = _described(schema)
        if described is None:
            return None
        images = [field.name for field in schema if is_image(field, described.get(field.name))]
        plain = [field for field in schema if field.name not in images]
        is_plain = not described or all(described[field.name] == _description(field) for field in plain)
        is_small = size_of_columns(content.metadata, images) <= _LARGEST_FILE
        if not plain or not is_plain or not is_small or not can_be_read_in_groups(content.metadata, images):
            return None
        table = prepared(content, [field.name for field in plain], has_images=bool(images))
        metadata = content.metadata
    if not _is_plain_table(table):
        return None
    rows = PlainRows(table, file)
    return ImageRows(file, metadata, schema, images, table, rows, cache_dir) if images and len(rows) else rows


def _described(schema: pa.Schema) -> dict[str, dict[str, Any]] | None:
    """Return the feature of each column, as ``datasets`` has noted it in a schema, without settings that have their
    default; empty if it has noted nothing, and ``None`` if that is unknown.
    """
    noted = (schema.metadata or {}).get(b"huggingface")
    if noted is None:
        return {}
    try:
        features = json.loads(noted)["info"]["features"]
        described = {
            name: {key: value for key, value in feature.items() if value is not None and (key, value) != _DECODED}
            for name, feature in features.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):  # not written by ``datasets``, or lists of something
        return None
    return described if described.keys() == set(schema.names) else None


def _description(field: pa.Field) -> dict[str, str]:
    """The feature that says of a column what its type says."""
    return {"dtype": _DTYPES.get(str(field.type), str(field.type)), "_type": "Value"}


def _is_of_plain_type(kind: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_list(kind):
        # Its text holds the name of the items, which Parquet files choose otherwise.
        return str(kind) == str(pa.list_(kind.value_type)) and _is_of_plain_type(kind.value_type)
    is_number = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or is_number or pa.types.is_boolean(kind))


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
