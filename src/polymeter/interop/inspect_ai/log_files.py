"""The two forms of Inspect's log files, opened as a header and samples one by one.

``.eval`` is a ZIP archive: ``header.json`` (in a run that did not end ``_journal/start.json``), ``reductions.json`` and
``samples/<id>_epoch_<n>.json``. Newer versions compress its members with Zstandard, which Python's ``zipfile`` cannot
read before 3.14. ``.json`` is one object that holds all of it; its samples are decoded one after the other.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.logs import damaged, starts_with
from polymeter.core.machine.places import stored_at

_ZSTANDARD = 93
_LOCAL_HEADER = 30
_HEADERS = ("header.json", "_journal/start.json")
_MARKS = ('"eval"', '"run_id"', '"task_id"')
_REDUCTIONS = "reductions.json"
_MEMBER = re.compile(r"samples/(?P<id>.*)_epoch_(?P<epoch>\d+)\.json", re.DOTALL)
_SPACE = re.compile(r"[\s,:]*")
_decoder = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file, opened.

    Attributes:
        path: The file.
        header: Everything but the samples.
        samples: Reads the samples of each id, all its epochs together, in the order in which they were written.
    """

    path: Path
    header: Mapping[str, Any]
    samples: Callable[[], Iterator[list[Mapping[str, Any]]]]


def is_log_file(path: Path) -> bool:
    """Return whether a file is a log of Inspect, by its name or its beginning.

    No other tool names files ``.eval``: one that is not an archive is a damaged log. Opening it reports that, and its
    folder is not silently incomplete.
    """
    return path.suffix == ".eval" or (path.suffix == ".json" and starts_with(path, *_MARKS))


def open_log_file(path: Path) -> LogFile:
    """Open a log file.

    Raises:
        DataError: if it is damaged.
        StorageError: if it cannot be read.
    """
    return _open_archive(path) if path.suffix == ".eval" else _open_json(path)


def _open_archive(path: Path) -> LogFile:
    with _archive(path) as archive:
        names = archive.namelist()
        name = next((name for name in _HEADERS if name in names), None)
        if name is None:
            raise damaged(path, f"it has none of {' and '.join(_HEADERS)}")
        header = _object_in(_member(archive, name, path), path, name)
        if _REDUCTIONS in names:
            header = {"reductions": _parsed_json(_member(archive, _REDUCTIONS, path), path, _REDUCTIONS), **header}
    if not isinstance(header.get("eval"), dict):
        raise damaged(path, f"{name} has no 'eval', as every log of Inspect has")
    if name != _HEADERS[0]:
        header = {"status": "started", **header}
    by_id: dict[str, list[tuple[int, str]]] = {}
    for name in names:
        found = _MEMBER.fullmatch(name)
        if found:
            by_id.setdefault(found["id"], []).append((int(found["epoch"]), name))

    def samples() -> Iterator[list[Mapping[str, Any]]]:
        with _archive(path) as archive:
            for members in by_id.values():
                yield [_object_in(_member(archive, name, path), path, name) for _, name in sorted(members)]

    return LogFile(path, header, samples)


def _archive(path: Path) -> zipfile.ZipFile:
    with stored_at(path, f"Reading {path.name}"):
        try:
            return zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise damaged(path, f"it is not a whole ZIP archive: {error}") from None


def _member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """A member of an archive, decompressed and checked against its checksum."""
    info = archive.getinfo(name)
    try:
        if info.compress_type != _ZSTANDARD:
            return archive.read(info)
        data = _from_zstandard(_stored_bytes(archive, info), info.file_size)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise damaged(path, f"{name} cannot be decompressed: {error}") from None
    if zlib.crc32(data) != info.CRC:
        raise damaged(path, f"{name} does not have its checksum")
    return data


def _stored_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member as it is stored: after its local header, whose last two lengths say where that ends."""
    file = archive.fp
    assert file is not None
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("its local header is damaged")
    file.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    return file.read(info.compress_size)


def _from_zstandard(data: bytes, size: int) -> bytes:
    import pyarrow as pa

    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        content: bytes = stream.read(size + 1)
    return content


def _open_json(path: Path) -> LogFile:
    header = {}
    for key, value in _entries(path, _file_text(path)):
        if key == "samples":
            for _ in value:
                pass
        else:
            header[key] = value
    if not isinstance(header.get("eval"), dict):
        raise damaged(path, "it has no 'eval', as every log of Inspect has")
    return LogFile(path, header, lambda: _json_samples(path))


def _json_samples(path: Path) -> Iterator[list[Mapping[str, Any]]]:
    """The samples of each id. Epochs of one are not adjacent in the file, so their places are looked up first."""
    text = _file_text(path)
    places: dict[str, list[tuple[int, int]]] = {}
    for key, value in _entries(path, text):
        if key == "samples":
            for start, sample in value:
                places.setdefault(str(sample.get("id")), []).append((int(sample.get("epoch") or 1), start))
    for found in places.values():
        yield [_decoder.raw_decode(text, start)[0] for _, start in sorted(found)]


def _file_text(path: Path) -> str:
    with stored_at(path, f"Reading {path.name}"):
        data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise damaged(path, f"it is not UTF-8: {error}") from None


def _entries(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    """The keys of the object in a file with their values; that of ``samples`` is an iterator over places and samples,
    which must be used up before the next key.
    """
    position = _after(text, 0)
    if text[position : position + 1] != "{":
        raise damaged(path, "it is not a JSON object")
    position = _after(text, position + 1)
    while text[position : position + 1] != "}":
        key, position = _value_at(path, text, position)
        position = _after(text, position)
        if key == "samples" and text[position : position + 1] == "[":
            ends: list[int] = []
            yield key, _items(path, text, position + 1, ends)
            position = ends[0]
        else:
            value, position = _value_at(path, text, position)
            yield str(key), value
        position = _after(text, position)


def _items(path: Path, text: str, position: int, ends: list[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array and where each begins; where the array ends is left in ``ends``."""
    position = _after(text, position)
    while text[position : position + 1] != "]":
        value, end = _value_at(path, text, position)
        if not isinstance(value, dict):
            raise damaged(path, "one of its samples is not an object", text.count("\n", 0, position) + 1)
        yield position, value
        position = _after(text, end)
    ends.append(position + 1)


def _value_at(path: Path, text: str, position: int) -> tuple[Any, int]:
    try:
        return _decoder.raw_decode(text, position)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not valid JSON: {error}", text.count("\n", 0, position) + 1) from None


def _after(text: str, position: int) -> int:
    """The next place that is neither space nor a sign between values."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _object_in(data: bytes, path: Path, name: str) -> dict[str, Any]:
    content = _parsed_json(data, path, name)
    if not isinstance(content, dict):
        raise damaged(path, f"{name} holds a {type(content).__name__} and not an object")
    return content


def _parsed_json(data: bytes, path: Path, name: str) -> Any:
    try:
        return json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"{name} is not valid JSON: {error}") from None
