"""The samples of a task by their place, for a reader that needs the status of all and reads few of them whole. A report
makes one pass over all samples and keeps only their status and values. The samples that it shows are read again by
their place here, and their media go from file to file. Media that fit unchanged are never decoded.
"""

from __future__ import annotations

import json
import tempfile
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO, Any, overload

from polymeter.store.exports.export import BEFORE_EXCHANGES, read_sample, sample_file, sample_lines
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal

_IN_MEMORY = 1 << 22
"""The most bytes of samples from a journal that stay in memory; more are put into a temporary file."""
_HELD_BYTES = 1 << 24
"""The size in bytes up to which a file is read once: finding each line again takes longer than reading the line."""


class SampleTable(Sequence[Mapping[str, Any]]):
    """Lines of samples as ``samples/<task>.jsonl`` has them. Only the place of each line in a large file is held, eight
    bytes a sample.

    Args:
        file: The lines, in UTF-8. It is read from whenever a sample is asked for, and stays the caller's to close.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._starts: array[int] | None = None
        self._size = 0
        self._held = b""

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        starts = array("q")
        place = 0
        self._file.seek(0)
        for line in self._file:
            starts.append(place)
            place += len(line)
            yield _sample_without_exchanges(line.decode("utf-8"))
        self._starts = starts
        self._size = place

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        starts = self._known_starts()
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(starts)))]
        if self._size > _HELD_BYTES:
            self._file.seek(starts[place])
            return _sample_without_exchanges(self._file.readline().decode("utf-8"))
        if not self._held:
            self._file.seek(0)
            self._held = self._file.read(self._size)
        start = starts[place]
        end = self._held.find(b"\n", start) + 1 or None
        return _sample_without_exchanges(self._held[start:end].decode("utf-8"))

    def __len__(self) -> int:
        return len(self._known_starts())

    def _known_starts(self) -> array[int]:
        if self._starts is None:
            for _ in self:
                pass
        return self._starts or array("q")


class SampleTables:
    """The samples of a run's tasks, by name: a context manager, which closes their files.

    Args:
        folder: The run.
        is_by_journal: Whether the journal is read and not the files of samples, which a run has when it has ended.
    """

    def __init__(self, folder: RunFolder, *, is_by_journal: bool = False) -> None:
        self._folder = folder
        self._is_by_journal = is_by_journal
        self._open = ExitStack()

    def __enter__(self) -> SampleTables:
        return self

    def __exit__(self, *problem: object) -> None:
        self._open.close()

    def __call__(self, task: str) -> Sequence[Mapping[str, Any]]:
        """The samples of a task that have ended, in order; none if nothing is stored of them."""
        path = self._folder.journal if self._is_by_journal else sample_file(self._folder, task)
        if not path.exists():
            return ()
        opened = _lines_of_journal(path, task) if self._is_by_journal else path.open("rb")
        return SampleTable(self._open.enter_context(opened))


@contextmanager
def _lines_of_journal(path: Path, task: str) -> Iterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file, closing(Journal(path)) as journal:
        for line in sample_lines(journal, task):
            file.write(f"{line}\n".encode("utf-8", "backslashreplace"))
        yield file


def _sample_without_exchanges(line: str) -> Mapping[str, Any]:
    """A sample; without its exchanges if one of them is damaged, so that a report of partial results shows the rest.
    ``resume`` requests a damaged answer again and reports it, and ``verify`` finds it.
    """
    try:
        return read_sample(line)
    except json.JSONDecodeError:
        return read_sample(f"{line.rpartition(BEFORE_EXCHANGES)[0]}{BEFORE_EXCHANGES}[]}}")
