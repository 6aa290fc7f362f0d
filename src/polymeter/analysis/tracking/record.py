"""The record of the checkpoints of a training run: one file, ``track.json``, beside their run folders.

Several processes may track into one folder. Each claims a step before measuring it, and adds the outcome to the file
under a lock. So no step is measured twice and nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polymeter.analysis.tracking.checkpoints import Stamp
from polymeter.core.errors import PlanError
from polymeter.core.machine.places import stored_at
from polymeter.core.text.json_text import as_json
from polymeter.store.folder import write_json

if TYPE_CHECKING:
    from filelock import BaseFileLock

SCHEMA_VERSION = 1
FILE = "track.json"
_LOCKS = ".locks"


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """The outcome of one checkpoint.

    Attributes:
        step: Its step.
        name: Its name.
        status: ``measured``; ``unfinished``: the run was interrupted or stopped; ``failed``: the run is missing.
        run: Its run folder, in the folder of the record.
        error: Why it failed or was stopped.
        stamp: The measured files.
        content: Their digest.
    """

    step: int
    name: str
    status: Literal["measured", "unfinished", "failed"]
    run: str = ""
    error: str = ""
    stamp: Stamp = ()
    content: str = ""


class Record:
    """The record of one training run.

    Args:
        path: The folder of the run folders.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings: dict[str, Any] = {}
        self.entries: dict[int, CheckpointRecord] = {}

    def read(self) -> None:
        """Read the entries of all processes so far.

        Raises:
            PlanError: if the file is damaged.
            StorageError: if it cannot be read.
        """
        file = self.path / FILE
        with stored_at(file, f"Reading {FILE}"):
            if not file.exists():
                return
            text = file.read_text(encoding="utf-8")
        try:
            content = json.loads(text)
            entries = [_checkpoint_record(value) for value in content["checkpoints"]]
            self.settings = dict(content["settings"])
        except (ValueError, KeyError, TypeError) as error:
            raise PlanError(
                f"{FILE} is damaged: {error}.",
                where=str(file),
                hint="Delete it. The run folders beside it are found again with their checkpoints.",
            ) from None
        self.entries = {entry.step: entry for entry in entries}

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Store the settings of the measurement, or refuse if they differ from the stored ones.

        Raises:
            PlanError: if the record has other settings. The message lists the differences.
            StorageError: if it cannot be written.
        """
        with self._locked():
            self.read()
            if self.settings:
                refuse_other(self.settings, settings, self.path)
            self.settings = dict(settings)
            self._write()

    def add(self, entry: CheckpointRecord) -> None:
        """Add the outcome of a checkpoint.

        Raises:
            StorageError: if it cannot be written.
        """
        with self._locked():
            self.read()
            self.entries[entry.step] = entry
            self._write()

    def claim(self, step: int, *, waits: bool = False) -> BaseFileLock | None:
        """Claim a step for this process alone, until the lock is released or the process dies.

        Args:
            step: The step.
            waits: Whether to wait for another process that measures it.

        Returns:
            The lock; ``None`` if another process holds it.

        Raises:
            StorageError: if the folder cannot be written.
        """
        from filelock import FileLock, Timeout

        place = self.path / _LOCKS / str(step)
        with stored_at(place, "Locking a step"):
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(place)
            try:
                lock.acquire(timeout=-1 if waits else 0)
            except Timeout:
                return None
        return lock

    @contextmanager
    def _locked(self) -> Iterator[None]:
        from filelock import FileLock

        place = self.path / _LOCKS / "record"
        with stored_at(place, "Locking the record"):
            place.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(place)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _write(self) -> None:
        entries = [asdict(self.entries[step]) for step in sorted(self.entries)]
        document = {"schema_version": SCHEMA_VERSION, "settings": self.settings, "checkpoints": entries}
        write_json(self.path / FILE, document)


def refuse_other(old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> None:
    """Refuse to continue a curve that was measured with other settings.

    Raises:
        PlanError: if settings differ.
    """
    differing = [*_differing(as_json(old), as_json(new))]
    if differing:
        raise PlanError(
            f"This curve was measured with other settings: {'; '.join(differing)}.",
            where=str(path),
            hint="A curve needs the same settings for all points. Choose another --output.",
        )


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*old, *new]):
        before, now = old.get(name), new.get(name)
        if name == "options" and isinstance(before, dict) and isinstance(now, dict):
            yield from _differing(before, now)
        elif before != now:
            yield f"{name} was {_in_words(before)}, is {_in_words(now)}"


def _in_words(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # --limit 100 is kept as 100.0
    return json.dumps(value, ensure_ascii=False)


def _checkpoint_record(value: Mapping[str, Any]) -> CheckpointRecord:
    stamp = tuple((str(name), int(size), int(changed)) for name, size, changed in value["stamp"])
    return CheckpointRecord(**{**value, "stamp": stamp})
