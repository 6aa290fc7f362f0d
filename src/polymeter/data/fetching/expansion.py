"""The size of packed files once they are unpacked: a file of some kilobytes can expand to terabytes.

A file is refused before a reader unpacks it to disk or memory. What is plainly broken is left to that reader.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from polymeter.core.errors import DataError

MOST_TIMES = 100
"""The most times its own size that a packed file may become. Text becomes 3 to 30 times as large."""
FREE_BYTES = 1 << 30
"""A file of any size may become as large as this."""
_DEFLATE_TIMES = 1032
"""The most that DEFLATE can reach (gzip, zip): smaller files need not be unpacked to know."""
_BLOCK = 1 << 20
_ZIP, _PARQUET = b"PK\3\4", b"PAR1"
_GZIP = b"\x1f\x8b"


def check_expansion(path: Path) -> None:
    """Refuse a packed file that would become far larger than such files do. Its first bytes say how it is packed.

    Args:
        path: A file of this machine: gzip, bzip2, xz, Zstandard, LZ4, zip (and so Excel) or Parquet; any other passes.

    Raises:
        DataError: if it would become more than a gigabyte and more than 100 times its size.
    """
    size = path.stat().st_size
    most = max(FREE_BYTES, MOST_TIMES * size)
    try:
        if _unpacked_size(path, size, most) <= most:
            return
    except (OSError, EOFError, ValueError, NotImplementedError, zlib.error, lzma.LZMAError, zipfile.BadZipFile):
        return  # Arrow's errors are ValueErrors
    raise DataError(
        f"{path.name} has {size:,} bytes and unpacks to more than {most:,}: {MOST_TIMES} times its size or 1 GiB, "
        "whichever is more, is allowed.",
        where=str(path),
        hint="If it is meant to be so large, unpack it yourself and name the unpacked file. "
        "A Parquet file: write it without compression, or split it.",
    )


def _unpacked_size(path: Path, size: int, most: int) -> int:
    """The size of a file when it is unpacked, or more than ``most`` if it exceeds that."""
    with path.open("rb") as file:
        head = file.read(8)
        if head.startswith(_PARQUET):
            return _values_of_parquet(path)
        if head.startswith((_GZIP, _ZIP)) and size * _DEFLATE_TIMES <= most:
            return 0
        if head.startswith(_ZIP):
            with zipfile.ZipFile(path) as archive:  # no more is read of a member than its entry says
                return sum(info.file_size for info in archive.infolist())
        opened = next((opener for magic, opener in _STREAMS.items() if head.startswith(magic)), None)
        if opened is None:
            return 0
        file.seek(0)
        total = 0
        with opened(file) as stream:
            while total <= most and (block := stream.read(_BLOCK)):
                total += len(block)
        return total


def _values_of_parquet(path: Path) -> int:
    """The least size of a Parquet file's values: an encoded column stands for any number of equal ones."""
    import pyarrow.parquet as pq

    found = pq.read_metadata(path)
    groups = [found.row_group(number) for number in range(found.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(group.num_columns)]
    return sum(max(column.total_uncompressed_size, column.num_values) for column in columns)


def _arrow_stream(codec: str) -> Callable[[IO[bytes]], Any]:
    def opened(file: IO[bytes]) -> Any:
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(file), codec)

    return opened


_STREAMS: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    _GZIP: lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": _arrow_stream("zstd"),
    b"\x04\x22\x4d\x18": _arrow_stream("lz4"),
}
