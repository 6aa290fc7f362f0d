"""Copies of a run's files at another place when the run has ended: a shared folder, a bucket, anything that fsspec
reaches.

A run is written on a local disk, where SQLite keeps the live journal safe. A whole run folder is published: each file
unchanged, the journal as one file, and ``run.json`` last, so that a complete manifest always comes with everything that
it names. Existing files are never deleted.

A place that holds another run is refused, because its files and this run's would mix.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from polymeter.core.errors import PlanError, StorageError, boundary, did_you_mean
from polymeter.core.machine.files import is_temporary
from polymeter.core.names.registry import missing_package
from polymeter.core.text.json_text import json_text
from polymeter.store.database import check_readable, connect, journal_at
from polymeter.store.folder import RunFolder

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

WHERE = "--publish"
_OF_A_RUN = ("started", "identity")
"""The entries of a manifest that identify a run."""
_PROBE = ".polymeter-can-write"
_LIVE = ("journal.db", "journal.db-wal", "journal.db-shm", ".lock")
"""The files that only the running process uses, or that are copied in another way."""


class Destination:
    """A place for the files of one run.

    Args:
        url: A URL of a file system that fsspec knows (``s3://bucket/runs/a``), or a path.

    Raises:
        PlanError: if no file system of that name is known, its package is missing, or the URL holds a password.
    """

    def __init__(self, url: str) -> None:
        self.url = url if _protocol(url) else str(Path(url).resolve())
        self._files, self._path = _file_system(self.url)

    def check(self, folder: RunFolder | None) -> None:
        """Check that a run may be published here, before anything is spent on it. A small file is written, and removed.

        Args:
            folder: The run's folder; ``None`` if nothing is in it yet.

        Raises:
            PlanError: if another run is here, or the place cannot be read and written.
        """
        hint = "Name a place that can be written. fsspec reads credentials from its configuration and the environment."
        with boundary(PlanError, f"Trying to publish to {self.url}", hint=hint):
            there = self._manifest()
            probe = self._at(_PROBE)
            self._make_folder(self._path)
            self._files.pipe_file(probe, b"")
            self._files.rm_file(probe)
        ours = folder.read_manifest() if folder is not None and folder.is_begun() else {}
        if there is not None and _which(there) != _which(ours):
            raise PlanError(
                f"Another run is published at {self.url}.",
                where=WHERE,
                hint="Name another place, or remove the run there.",
            )

    def publish(self, folder: RunFolder) -> None:
        """Copy all files of a run. Media that exists already is not copied again: its name is a digest of its content.

        Raises:
            StorageError: if the place refuses, or the run folder cannot be read.
        """
        with boundary(StorageError, f"Publishing the run to {self.url}"), tempfile.TemporaryDirectory() as place:
            known = self._sizes_of_media(folder)
            for path in _files_of(folder):
                name = PurePosixPath(path.relative_to(folder.path))
                if known.get(str(name)) != path.stat().st_size:
                    self._put(path, str(name))
            self._put(_copy_journal(folder, Path(place)), _LIVE[0])
            manifest = folder.with_checksums(_moved(folder.read_manifest()))
            self._files.pipe_file(self._at(folder.manifest.name), (json_text(manifest, indent=2) + "\n").encode())

    def _manifest(self) -> dict[str, Any] | None:
        try:
            content = json.loads(self._files.cat_file(self._at("run.json")))
        except FileNotFoundError:
            return None
        return content if isinstance(content, dict) else {}

    def _sizes_of_media(self, folder: RunFolder) -> Mapping[str, int]:
        """Return the sizes in bytes of the media that exist here already, by their names below the run folder."""
        place = PurePosixPath(self._at(folder.media.name))
        try:
            found = self._files.find(str(place), detail=True)
        except FileNotFoundError:
            return {}
        names = {name: PurePosixPath(name).relative_to(place.parent) for name in found}
        return {str(names[name]): int(one["size"] or 0) for name, one in found.items()}

    def _put(self, path: Path, name: str) -> None:
        target = self._at(name)
        self._make_folder(target.rpartition("/")[0])
        self._files.put_file(str(path), target)

    def _make_folder(self, path: str) -> None:
        """Make a folder if the file system has folders. Asynchronous ones are object stores: they have none, and some
        would make a bucket from a misspelt name.
        """
        if not self._files.async_impl:
            self._files.makedirs(path, exist_ok=True)

    def _at(self, name: str) -> str:
        return f"{self._path.rstrip('/')}/{name}"


def _which(manifest: Mapping[str, Any]) -> list[Any]:
    return [manifest.get(name) for name in _OF_A_RUN]


def _moved(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of the copy: its journal lies beside it, in contrast to a run with its journal elsewhere."""
    options = manifest["options"]
    beside = {**options, "runtime": {**options["runtime"], "journal_dir": None}}
    return {**manifest, "journal_dir": None, "options": beside}


def _protocol(url: str) -> str:
    return url.partition("://")[0] if "://" in url else ""


def _file_system(url: str) -> tuple[AbstractFileSystem, str]:
    import fsspec

    if urlsplit(url).password:
        raise PlanError(
            f"The {_protocol(url)}:// address contains a password, which would be written into the run folder.",
            where=WHERE,
            hint="Set it in fsspec's configuration or in the environment.",
        )
    try:
        files, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        missing = getattr(error.__cause__, "name", None) or error.name
        if missing is None:
            raise PlanError(f"{url} cannot be reached: {error}.", where=WHERE) from error
        raise missing_package(missing, f"{WHERE} {_protocol(url)}://…") from error
    except ValueError as error:
        near = did_you_mean(_protocol(url), sorted(fsspec.available_protocols()))
        raise PlanError(f"Unknown file system {_protocol(url)!r}.", where=WHERE, hint=near) from error
    return files, path


def _files_of(folder: RunFolder) -> Iterator[Path]:
    """The files of a run folder that are published unchanged."""
    for path in sorted(folder.path.rglob("*")):
        is_live = path.parent == folder.path and (path.name in _LIVE or path == folder.manifest)
        if path.is_file() and not is_live and not is_temporary(path.name):
            yield path


def _copy_journal(folder: RunFolder, place: Path) -> Path:
    """Copy a journal as one file that includes its log."""
    check_readable(folder.journal)
    copy = place / "journal.db"
    with (
        journal_at(folder.journal),
        closing(connect(folder.journal)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # otherwise a reader would need to write beside it
    return copy
