"""Loading and dumping files by their suffix, in the six file formats that benchmarks use.

``pkl`` (data only, see ``polymeter.data.pickles``), ``json``, ``jsonl``, ``xlsx``, ``csv``, ``tsv``. Files are written
completely or not at all; in ``csv`` and ``tsv`` every cell is quoted.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary, did_you_mean
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest, is_elsewhere
from polymeter.core.names.registry import missing_package
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.expansion import check_expansion
from polymeter.data.fetching.fetch import download
from polymeter.data.pickles import read_pickle, write_pickle
from polymeter.data.tables.exact import exact_table, keep_exact

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

_LONGEST_EXCEL_CELL = 32_767
_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_CHANGED = ("xlsx", "csv", "tsv")
"""Formats that do not give back what was written; ``tables.exact`` may."""


def load(f: str | Path, fmt: str | None = None, *, folder: Path | None = None) -> Any:
    """The content of a file.

    Args:
        f: The file, or the http(s) URL of one that is not a pickle.
        fmt: Its format; default: its suffix.
        folder: Where a file from a URL is kept; it is fetched once.

    Returns:
        A DataFrame from ``xlsx``, ``csv`` and ``tsv``, a list from ``jsonl``, any data from ``json`` and ``pkl``.

    Raises:
        DataError: if the file is missing, damaged, in an unknown format, a pickle at a URL, or a pickle that holds more
            than data.
        PlanError: if the file is an Excel file and the package for these is not installed.
    """
    kind = _kind(f, fmt, _READERS)
    path = _local(str(f), kind, folder) if is_elsewhere(str(f)) else Path(f)
    if not path.is_file():
        raise DataError(f"There is no file {path}.", hint="Put the file there.")
    with boundary(DataError, f"Reading {path} as {kind}"):
        exact = exact_table(path) if kind in _CHANGED else None
        if exact is not None:
            return exact
        return _READERS[kind](path)


def dump(data: Any, f: str | Path, **kwargs: Any) -> None:
    """Write data to a file, in the format of its suffix.

    Args:
        data: A table for ``xlsx``, ``csv`` and ``tsv`` (a DataFrame, or data for one), a list for ``jsonl``.
        f: The file. Its folder is created.
        **kwargs: ``quoting`` for ``csv`` and ``tsv``.

    Raises:
        DataError: if the format is unknown, or the data cannot be written in it.
        PlanError: if the file is an Excel file and the package for these is not installed.
    """
    path = Path(f)
    kind = _kind(f, None, _WRITERS)
    with boundary(DataError, f"Writing {path} as {kind}"):
        _WRITERS[kind](data, path, **kwargs)
        if kind in _CHANGED:
            keep_exact(_table(data), path)


def _kind(f: str | Path, fmt: str | None, supported: Iterable[str]) -> str:
    kind = (fmt or str(f).rpartition(".")[2]).lower()
    if kind not in supported:
        hint = did_you_mean(kind, supported) or f"Supported: {', '.join(supported)}."
        raise DataError(f"{str(f)!r} has no format that can be read or written.", hint=hint)
    return kind


def _local(url: str, kind: str, folder: Path | None) -> Path:
    if kind == "pkl":
        raise DataError(
            f"{hide_secrets(url)} is a pickle: those are only read from this machine.", hint="Fetch it if you trust it."
        )
    if folder is None:
        raise DataError(f"{hide_secrets(url)} is not a local file.", hint="Fetch it first.")
    target = folder / f"{digest(url.encode())[:12]}-{Path(url).name}"
    return target if target.is_file() else download(url, target, md5=None)


# --- reading


def _read_json(path: Path) -> Any:
    with path.open(encoding="utf-8") as file:
        return json.load(file)


def _read_jsonl(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def _read_xlsx(path: Path) -> pd.DataFrame:
    import pandas as pd

    require_excel(path)
    check_expansion(path)
    return pd.read_excel(path, engine="openpyxl")


def _read_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(path)


def _read_tsv(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(path, sep="\t")


# --- writing


def _write_json(data: Any, path: Path, **kwargs: Any) -> None:
    with replacing(path) as file:
        json.dump(data, file, indent=4, ensure_ascii=False, default=_array_as_list)


def _write_jsonl(data: Iterable[Any], path: Path, **kwargs: Any) -> None:
    with replacing(path) as file:
        file.write("\n".join(json.dumps(item, ensure_ascii=False, default=_array_as_list) for item in data))


def _write_xlsx(data: Any, path: Path, **kwargs: Any) -> None:
    import pandas as pd

    require_excel(path)
    table = _without_controls(_table(data))
    _warn_of_long_cells(table, path)
    with replacing(path, binary=True) as file, pd.ExcelWriter(file, engine="openpyxl") as writer:
        table.to_excel(writer, index=False)
        for sheet in writer.sheets.values():
            _write_formulas_as_text(sheet)


def _write_formulas_as_text(sheet: Any) -> None:
    """Store answers that begin with ``=`` as text: as formulas they would be read back as empty cells."""
    for cells in sheet.iter_rows():
        for cell in cells:
            if cell.data_type == "f":
                cell.data_type = "s"


def _without_controls(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose texts have no characters that no XML holds: those are written as Excel writes them
    (``_x0007_``).
    """
    written = table.copy(deep=False)
    for place in range(table.shape[1]):
        cells = table.iloc[:, place]
        if any(isinstance(cell, str) and _NOT_IN_XML.search(cell) for cell in cells):
            written.isetitem(place, cells.map(escaped_controls).astype(object))
    return written


def escaped_controls(cell: Any) -> Any:
    """Return a cell without characters that no XML holds; a cell that is not text is unchanged."""
    return _NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", cell) if isinstance(cell, str) else cell


def _warn_of_long_cells(table: pd.DataFrame, path: Path) -> None:
    for name in table.columns:
        n_long = sum(isinstance(cell, str) and len(cell) > _LONGEST_EXCEL_CELL for cell in table[name])
        if n_long:
            log.warning("%s: %d cells of column %r are cut off; Excel holds %d characters in a cell",
                        path, n_long, name, _LONGEST_EXCEL_CELL)  # fmt: skip


def _write_csv(data: Any, path: Path, *, quoting: int = csv.QUOTE_ALL, **kwargs: Any) -> None:
    _write_separated(data, path, ",", quoting)


def _write_tsv(data: Any, path: Path, *, quoting: int = csv.QUOTE_ALL, **kwargs: Any) -> None:
    _write_separated(data, path, "\t", quoting)


def _write_separated(data: Any, path: Path, separator: str, quoting: int) -> None:
    file: IO[str]
    with replacing(path) as file:
        _table(data).to_csv(file, sep=separator, index=False, quoting=quoting)


def _write_pkl(data: Any, path: Path, **kwargs: Any) -> None:
    write_pickle(data, path)


def _table(data: Any) -> pd.DataFrame:
    import pandas as pd

    return data if isinstance(data, pd.DataFrame) else pd.DataFrame(data)


def _array_as_list(value: Any) -> Any:
    """A NumPy number or array as JSON data."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A {type(value).__name__} cannot be written as JSON.")


def require_excel(path: Path) -> None:
    """Check that Excel files can be read and written.

    Args:
        path: The file, for the message.

    Raises:
        PlanError: if the package for them is not installed.
    """
    try:
        import openpyxl  # noqa: F401
    except ModuleNotFoundError as error:
        raise missing_package("openpyxl", f"The Excel file {path}", "excel") from error


_READERS: dict[str, Callable[[Path], Any]] = {
    "pkl": read_pickle,
    "json": _read_json,
    "jsonl": _read_jsonl,
    "xlsx": _read_xlsx,
    "csv": _read_csv,
    "tsv": _read_tsv,
}
_WRITERS: dict[str, Callable[..., None]] = {
    "pkl": _write_pkl,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "xlsx": _write_xlsx,
    "csv": _write_csv,
    "tsv": _write_tsv,
}
