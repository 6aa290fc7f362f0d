"""The indexes of all viewed runs: their folder, the moment when one is made anew, and the process that makes it.

They are kept in the user's cache folder, each under the run, the task and the state of its journal. A small one is made
at once; a large one in a separate process, while the page shows its progress. For a running run, an index that is a
little behind is used while the next one is made.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.children.child import Child
from polymeter.core.errors import PolymeterError, StorageError
from polymeter.core.media.sources import digest
from polymeter.store.exports.export import sample_file
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal
from polymeter.viewer.filters import FilteredSamples
from polymeter.viewer.index_making import make_index
from polymeter.viewer.sample_index import VERSION, SampleIndex

SMALL = 3_000
"""The most samples whose index is made while the page waits."""
_SMALL_BYTES = 16_000_000
_MOST_SELECTIONS = 8
_MOST_PROCESSES = 2
"""Indexes that are made at once by processes of their own."""
_SAID_BYTES = 64_000
_LEAST_AGE_S = 3.0
_TIMES_ITS_WORK = 5.0
"""An index of a running run is made anew when its age is this many times the time to make it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The state of an index.

    Attributes:
        index: The index; ``None``: it is being made for the first time.
        is_behind: Whether samples may have ended since.
        n_read: The number of samples that have been read for the one that is being made.
        n_all: The number of samples to read.
    """

    index: SampleIndex | None
    is_behind: bool = False
    n_read: int = 0
    n_all: int = 0


@dataclass(slots=True)
class _Making:
    child: Child
    folder: Path
    n_all: int
    began: float


@dataclass(frozen=True, slots=True)
class _Partial:
    """Results of a running run, with its state, and the time until which they are good enough."""

    state: str
    until: float
    results: Mapping[str, Any]


def cache_folder() -> Path:
    """The folder of all indexes: in ``POLYMETER_CACHE_DIR``, else in the user's cache folder."""
    from platformdirs import user_cache_path

    told = os.environ.get("POLYMETER_CACHE_DIR")
    return (Path(told) if told else user_cache_path("polymeter")) / "viewer"


class Indexes:
    """The indexes in a folder. Thread-safe.

    Args:
        folder: The folder; it is made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._making: dict[str, _Making] = {}
        self._took_s: dict[str, float] = {}
        self._selections: OrderedDict[tuple[Any, ...], FilteredSamples] = OrderedDict()
        self._partials: dict[Path, _Partial] = {}
        self._reading: set[Path] = set()

    def find(self, run: RunFolder, task: str) -> Found:
        """The index of a task, made if it is small; otherwise it begins to be made.

        Raises:
            StorageError: if it cannot be made.
        """
        key, state = index_key(run, task), run_state(run, task)
        with self._lock:
            self._collect(key)
            current = SampleIndex.at(self._folder / f"{key}-{state}")
            if current is not None:
                return Found(current)
            is_small = _is_small(run, task)
            # To open a journal that was left open by a killed process, or copied, changes its file once.
            state = run_state(run, task)
            current = SampleIndex.at(self._folder / f"{key}-{state}")
            if current is not None:
                return Found(current)
            if is_small:
                return Found(self._make_now(run, task, key, state))
            before = self._before(key)
            if key not in self._making and len(self._making) < _MOST_PROCESSES and self._is_due(key, before):
                self._begin(run, task, key, state)
            making = self._making.get(key)
            if making is None:
                return Found(before, before is not None)
            return Found(before, before is not None, _read(making), making.n_all)

    def known(self, run: RunFolder, task: str) -> SampleIndex | None:
        """The index of a task if it exists; it is not made."""
        return SampleIndex.at(self._folder / f"{index_key(run, task)}-{run_state(run, task)}")

    def select(self, key: tuple[Any, ...], make: Callable[[], FilteredSamples]) -> FilteredSamples:
        """Return the samples of an index that pass filters: the last few are kept, for steps from one sample to the
        next.

        Args:
            key: Everything that they depend on.
            make: Makes them.
        """
        with self._lock:
            if key in self._selections:
                self._selections.move_to_end(key)
                return self._selections[key]
        selection = make()
        with self._lock:
            self._selections[key] = selection
            while len(self._selections) > _MOST_SELECTIONS:
                self._selections.popitem(last=False)
        return selection

    def partial(self, run: RunFolder, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """Return the results of a running run; made anew when its journal has changed, and not too often.

        Returns:
            The results; those of a moment ago while they are made anew, and ``None`` while they are made for the first
            time, which means reading the whole journal.
        """
        state = run_state(run)
        with self._lock:
            known = self._partials.get(run.path)
            if known is not None and (known.state == state or time.monotonic() < known.until):
                return known.results
            is_small = not run.journal.exists() or run.journal.stat().st_size <= _SMALL_BYTES
            if not is_small:
                if run.path not in self._reading:
                    self._reading.add(run.path)
                    name = f"partial results of {run.path.name}"
                    threading.Thread(target=self._read_partial, args=(run, state, make), name=name, daemon=True).start()
                return known.results if known is not None else None
        return self._make_partial(run, state, make)

    def _read_partial(self, run: RunFolder, state: str, make: Callable[[], Mapping[str, Any]]) -> None:
        try:
            # The next request to the run reports what is wrong with it.
            with contextlib.suppress(PolymeterError):
                self._make_partial(run, state, make)
        finally:
            with self._lock:
                self._reading.discard(run.path)

    def _make_partial(self, run: RunFolder, state: str, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        began = time.monotonic()
        results = make()
        ended = time.monotonic()
        until = ended + max(_LEAST_AGE_S, _TIMES_ITS_WORK * (ended - began))
        with self._lock:
            self._partials[run.path] = _Partial(state, until, results)
            while len(self._partials) > _MOST_SELECTIONS:
                del self._partials[next(iter(self._partials))]
        return results

    def close(self) -> None:
        """Stop the processes that make indexes."""
        with self._lock:
            for making in self._making.values():
                making.child.kill()
                shutil.rmtree(making.folder, ignore_errors=True)
            self._making.clear()

    def _before(self, key: str) -> SampleIndex | None:
        """The newest index of an earlier state."""
        found = [one for path in self._folder.glob(f"{key}-*") if (one := SampleIndex.at(path)) is not None]
        return max(found, key=lambda one: (one.path / "facts.json").stat().st_mtime, default=None)

    def _is_due(self, key: str, before: SampleIndex | None) -> bool:
        if before is None:
            return True
        with contextlib.suppress(OSError):
            age_s = time.time() - (before.path / "facts.json").stat().st_mtime
            return age_s > max(_LEAST_AGE_S, _TIMES_ITS_WORK * self._took_s.get(key, 0.0))
        return True

    def _draft(self) -> Path:
        draft = self._folder / f".making-{uuid.uuid4().hex}"
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise StorageError(
                f"The index of samples cannot be stored: {error.strerror}.",
                where=str(self._folder),
                hint="Name another folder with POLYMETER_CACHE_DIR.",
            ) from None
        return draft

    def _make_now(self, run: RunFolder, task: str, key: str, state: str) -> SampleIndex:
        draft = self._draft()
        try:
            make_index(run, task, draft, state)
            return self._keep(draft, key, state)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _begin(self, run: RunFolder, task: str, key: str, state: str) -> None:
        draft = self._draft()
        journal_dir = "" if run.journal_dir is None else str(run.journal_dir)
        words = (str(run.path), journal_dir, task, str(draft), state)
        child = Child([sys.executable, "-m", "polymeter.viewer.index_making", *words])
        self._making[key] = _Making(child, draft, _count(run, task), time.monotonic())

    def _collect(self, asked: str) -> None:
        """Keep the indexes whose processes have ended.

        Raises:
            StorageError: if that of the one that is asked for failed. Others are made again when they are asked for.
        """
        for key, making in [*self._making.items()]:
            if making.child.status is None:
                continue
            del self._making[key]
            made = SampleIndex.at(making.folder)
            try:
                if making.child.status == 0 and made is not None:
                    self._took_s[key] = time.monotonic() - making.began
                    self._keep(making.folder, key, str(made.facts["state"]))
                elif key == asked:
                    raise _failure(making)
            finally:
                making.child.kill()
                shutil.rmtree(making.folder, ignore_errors=True)

    def _keep(self, draft: Path, key: str, state: str) -> SampleIndex:
        """Give a new index its place, and delete those of earlier states; another viewer may have been first."""
        place = self._folder / f"{key}-{state}"
        with contextlib.suppress(OSError):
            draft.rename(place)
        for path in self._folder.glob(f"{key}-*"):
            if path != place:
                shutil.rmtree(path, ignore_errors=True)
        index = SampleIndex.at(place)
        if index is None:
            raise StorageError("The index of samples was deleted while it was being made.", where=str(place))
        return index


def run_state(run: RunFolder, task: str = "") -> str:
    """Return a name of the state of a run's samples: it changes when one ends."""
    files = [run.journal, run.journal.with_name(f"{run.journal.name}-wal")]
    files = files if run.journal.exists() else [sample_file(run, task)] if task else [run.results]
    found = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        if status.st_size:
            found.append((file.name, status.st_size, status.st_mtime_ns))
    return digest(repr((VERSION, found)).encode())[:16]


def index_key(run: RunFolder, task: str) -> str:
    """Return a name of the index of a task among those of all runs."""
    return digest(f"{run.path.resolve()}\0{task}".encode("utf-8", "surrogatepass"))[:24]


def _is_small(run: RunFolder, task: str) -> bool:
    """Return whether an index is made at once. The samples of a large journal are not even counted for it."""
    file = run.journal if run.journal.exists() else sample_file(run, task)
    if file.exists() and file.stat().st_size > _SMALL_BYTES:
        return False
    return _count(run, task) <= SMALL


def _count(run: RunFolder, task: str) -> int:
    """Return the number of samples that have ended; 0 if only reading all of them would show it."""
    if not run.journal.exists():
        return 0
    with closing(Journal(run.journal)) as journal:
        return sum(journal.statuses(task).values())


def _read(making: _Making) -> int:
    with contextlib.suppress(OSError, ValueError):
        return int((making.folder / "progress").read_text())
    return 0


def _failure(making: _Making) -> StorageError:
    text = making.child.said(_SAID_BYTES)
    for line in reversed(text.splitlines()):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            told = json.loads(line)
            return StorageError(told["what"], where=told["where"], hint=told["hint"])
    why = text.strip().splitlines()[-1] if text.strip() else f"its process ended with {making.child.status}"
    return StorageError(f"The index of samples could not be made: {why}.", hint="Reload the page to try again.")
