"""Reading JSON files with rows whose text is not Unicode: an escape for half a surrogate pair.

Such a file is read from a repaired copy. There the broken text is replaced and the row is marked
(``core.text.damaged_rows``), so that this row fails with its file and line and all others are measured. A file is only
looked at when it could not be read, so good files are not slower. A file that is not UTF-8 is refused before
(``data.opening.preparing``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest
from polymeter.core.text.damaged_rows import mark
from polymeter.data.opening import spreadsheets
from polymeter.data.opening.preparing import load_dataset

if TYPE_CHECKING:
    import datasets

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ENDINGS = (".json", ".jsonl")


def load_files(builder: str, *args: Any, **kwargs: Any) -> datasets.Dataset | datasets.DatasetDict:
    """Call ``datasets.load_dataset``; local files with damaged text are read from repaired copies in ``cache_dir``, and
    Excel files as the CSV that they are.

    Raises:
        PlanError: if the package that reads Excel files is not installed.
        DataError: if an Excel file cannot be read.
    """
    from datasets.exceptions import DatasetGenerationError

    if builder in ("csv", spreadsheets.BUILDER):
        builder, kwargs = "csv", spreadsheets.as_csv(kwargs, _cache(kwargs) / "spreadsheets")
    try:
        return _naming(kwargs.get("data_files"), load_dataset(builder, *args, **kwargs))
    except (DatasetGenerationError, ValueError):  # ``datasets`` wraps what its readers raise; Arrow's are ValueErrors
        folder, files = kwargs.get("cache_dir"), kwargs.get("data_files")
        if folder is None or files is None:
            raise
        repaired = _repaired_copies(files, Path(folder) / "repaired")
        if repaired == files:
            raise
    return load_dataset(builder, *args, **{**kwargs, "data_files": repaired})


def _cache(kwargs: Mapping[str, Any]) -> Path:
    """Return the folder where ``datasets`` keeps prepared data."""
    from datasets.config import HF_DATASETS_CACHE

    return Path(kwargs.get("cache_dir") or HF_DATASETS_CACHE)


def _naming(files: Any, loaded: Any) -> Any:
    """Note in datasets which JSON files they were read from: JSON may hold bytes that fail only when they are used."""
    paths = [path for path in _paths_in(files) if path.suffix in _ENDINGS]
    for dataset in loaded.values() if isinstance(loaded, dict) else [loaded]:
        if paths and dataset.info.download_checksums is None:
            dataset.info.download_checksums = {str(path): {} for path in paths}
    return loaded


def _paths_in(files: Any) -> Iterator[Path]:
    if isinstance(files, (Mapping, list, tuple)):
        for item in files.values() if isinstance(files, Mapping) else files:
            yield from _paths_in(item)
    elif files is not None:
        yield Path(str(files))


def repaired_json(data: bytes, name: str) -> str | None:
    """The text of a JSON or JSON Lines file whose damaged rows are replaced and marked; ``None`` if there are none.

    Args:
        data: The file's content.
        name: Its name, for the marks.
    """
    if _ESCAPED_SURROGATE.search(data) is None and _is_text(data):
        return None
    if data.lstrip()[:1] == b"[":
        rows = _json_or_nothing(data)
        if not isinstance(rows, list):
            return None
        repaired = [_repaired(row, mark(f"{name}, row {number}")) for number, row in enumerate(rows, 1)]
        return json.dumps(repaired, ensure_ascii=False) if repaired != rows else None
    lines = data.split(b"\n")
    texts = [_repaired_line(line, mark(f"{name}:{number}")) for number, line in enumerate(lines, 1)]
    changed = "\n".join(texts)
    return changed if changed.encode("utf-8", "replace") != data else None


def _repaired_line(line: bytes, marking: str) -> str:
    text = line.decode("utf-8", "replace")
    if _ESCAPED_SURROGATE.search(line) is None and _is_text(line):
        return text
    row = _json_or_nothing(line)
    repaired = _repaired(row, marking)
    return text if row is None or repaired == row else json.dumps(repaired, ensure_ascii=False)


def _json_or_nothing(data: bytes) -> Any:
    # Bytes that are no UTF-8 become lone surrogates too, so there is one sign of damage to look for.
    try:
        return json.loads(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None


def _repaired(value: Any, marking: str) -> Any:
    if isinstance(value, str):
        return marking + _SURROGATE.sub(_REPLACEMENT, value) if _SURROGATE.search(value) else value
    if isinstance(value, list):
        return [_repaired(item, marking) for item in value]
    if isinstance(value, dict):
        return {key: _repaired(item, marking) for key, item in value.items()}
    return value


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _repaired_copies(files: Any, folder: Path) -> Any:
    """Return the files with damaged ones replaced by repaired copies, in the form that they are named in."""
    if isinstance(files, Mapping):
        return {split: _repaired_copies(item, folder) for split, item in files.items()}
    if isinstance(files, (list, tuple)):
        return [_repaired_copies(item, folder) for item in files]
    path = Path(str(files))
    if path.suffix not in _ENDINGS or not path.is_file():
        return files
    text = repaired_json(path.read_bytes(), path.name)
    if text is None:
        return files
    copy = folder / f"{digest(text.encode())}{path.suffix}"
    if not copy.exists():
        with replacing(copy) as file:
            file.write(text)
    return str(copy)
