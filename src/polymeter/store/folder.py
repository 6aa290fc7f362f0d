"""The run folder: the path of each file, the lock that admits one writer, the manifest, and writing of small files.

Large append-only data belongs in the journal.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.machine.files import replacing, sweep
from polymeter.core.machine.places import stored_at
from polymeter.core.media.sources import digest, digest_file
from polymeter.core.text.json_text import NAN, as_number, json_text
from polymeter.core.text.secrets import without_secrets

if TYPE_CHECKING:
    from filelock import BaseFileLock

SCHEMA_VERSION = 1
RUNS = Path("runs")
"""The default folder of runs, in the working directory."""
CHECKSUMS = "checksums"
"""The entry of the manifest that ``verify`` reads, and nobody else."""
N_SESSIONS = "sessions"
"""The number of sessions that the checksums cover. A version without checksums keeps them, and adds a session."""
_LOCK = ".lock"
_MOST_NAMED = 3
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "lustre", "gpfs", "ceph", "beegfs", "fuse.sshfs", "9p"}
)

_NUMBERS = ("value", "stderr", "n", "interval")
_SPEC = {
    "spec": ({"backend": str, "name": str, "args": dict, "path": (str, type(None))}, type(None)),
    "identity": object,
}
_MANIFEST_SHAPE = {
    "status": str,
    "command": str,
    "model": _SPEC,
    "roles": {"": _SPEC},
    "patterns": [str],
    "tasks": [{"name": str, "source_hash": str, "dataset_fingerprint": str, "n_samples?": int, "n_rows?": int}],
    "identity": {"options?": dict},
    "options": {"identity": {"generation": dict}, "runtime": {"include_paths": [str]}},
    "seconds": (int, float, type(None)),
    "usage": {"input_tokens": int, "output_tokens": int},
    "cache?": {"hits": int},
    "include_paths?": [{"path": str}],
    "sessions?": [
        {"status": str, "polymeter?": dict, "rules?": {"": int}, "endpoints?": {"": str}, "lanes?": {"": dict}}
    ],
}
_RESULTS_SHAPE = {"tasks": {"": {"results": [dict]}}, "groups": {"": {"results": [dict]}}}
"""The entries that every reader of these files relies on; users of other entries check them."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The paths of one run.

    Attributes:
        path: The folder.
        journal_dir: The folder of the live journal, if that is elsewhere (SQLite's WAL needs a local disk).
    """

    path: Path
    journal_dir: Path | None = None

    @property
    def manifest(self) -> Path:
        """``run.json``: plan, sources, versions, status."""
        return self.path / "run.json"

    @property
    def journal(self) -> Path:
        """``journal.db``, from which every other file is written."""
        if self.journal_dir is None:
            return self.path / "journal.db"
        return self.journal_dir / f"{self.path.name}-{digest(str(self.path.resolve()).encode())[:12]}.db"

    @property
    def media(self) -> Path:
        """Previews of inputs and generated images."""
        return self.path / "media"

    @property
    def results(self) -> Path:
        """``results.json``: every number."""
        return self.path / "results.json"

    @property
    def samples(self) -> Path:
        """One JSONL per task."""
        return self.path / "samples"

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.path / "report.html"

    @property
    def artifacts(self) -> Path:
        """The folder for submissions and other files that tasks write."""
        return self.path / "artifacts"

    @property
    def logs(self) -> Path:
        """The folder for the output of servers that the run started."""
        return self.path / "logs"

    def read_manifest(self, *, is_whole: bool = False) -> dict[str, Any]:
        """The manifest.

        Args:
            is_whole: Whether it must have everything that a run needs to continue or to be scored again.

        Raises:
            PlanError: if it is missing or damaged, or has another schema version.
            StorageError: if it cannot be read.
        """
        manifest = _read_document(self.manifest, "run folder")
        manifest.pop(CHECKSUMS, None)
        _check_shape(manifest, _MANIFEST_SHAPE, self.manifest, is_whole=is_whole)
        return manifest

    def read_results(self) -> dict[str, Any]:
        """The results of a finished run.

        Raises:
            PlanError: if they are missing or damaged.
            StorageError: if they cannot be read.
        """
        document = _read_document(self.results, "finished run")
        _check_shape(document, _RESULTS_SHAPE, self.results, is_whole=True)
        for owner in (*document["tasks"].values(), *document["groups"].values()):
            owner["results"] = [
                {name: as_number(value) if name in _NUMBERS else value for name, value in result.items()}
                for result in owner["results"]
            ]
        return document

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest by :meth:`with_checksums`."""
        write_json(self.manifest, self.with_checksums(manifest))

    def with_checksums(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return a manifest as it is written: without the values of keys and tokens, and with the current checksums of
        itself, of the results and of the files that tasks wrote.
        """
        content = without_secrets({"schema_version": SCHEMA_VERSION, **manifest})
        with stored_at(self.path, "Reading the files of the run"):
            sums: dict[str, Any] = self.digests([self.results.name, *(content.get("artifacts") or ())])
        n_sessions = len(content.get("sessions") or ())
        sums |= {self.manifest.name: content_digest([content, n_sessions]), N_SESSIONS: n_sessions}
        return {**content, CHECKSUMS: sums}

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return the digests of the existing files with these names. A folder that somebody else made may name files
        outside of it; these are left out.
        """
        root, paths = self.path.resolve(), {name: self.path / name for name in names}
        inside = {name: path for name, path in paths.items() if path.is_file() and path.resolve().is_relative_to(root)}
        return {name: digest_file(path) for name, path in inside.items()}

    def is_begun(self) -> bool:
        """Return whether a run was ever started in this folder."""
        with stored_at(self.path, "Opening the run folder"):
            return self.manifest.exists()

    def has_ended_whole(self) -> bool:
        """Return whether the run has ended without a failed sample."""
        manifest = self.read_manifest()
        return manifest["status"] == "complete" and not manifest.get("n_failed")

    def sweep(self) -> None:
        """Delete the temporary files of processes that were killed while they wrote into this folder. Only for the
        holder of the lock.
        """
        sweep([self.samples, *self.media.glob("*/")], has_other_writers=False)
        # A report is written after the lock is released, and tasks write artifacts by any means.
        sweep([self.path, self.artifacts, *(path for path in self.artifacts.rglob("*/") if path.is_dir())])

    def remove_unbegun(self) -> None:
        """Delete the journal and the lock of a run that did not begin."""
        with stored_at(self.path, "Removing the run folder"):
            for ending in ("", "-wal", "-shm"):
                self.journal.with_name(self.journal.name + ending).unlink(missing_ok=True)
            (self.path / _LOCK).unlink(missing_ok=True)

    def lock(self) -> BaseFileLock:
        """Make this process the only writer until the lock is released or the process dies.

        Raises:
            PlanError: if another process holds the lock, or the journal would lie on a network file system.
            StorageError: if the folder cannot be made or written.
        """
        from filelock import FileLock, Timeout

        with stored_at(self.path, "Creating the run folder"):
            self.path.mkdir(parents=True, exist_ok=True)
        with stored_at(self.journal.parent, "Creating the folder of the journal"):
            self.journal.parent.mkdir(parents=True, exist_ok=True)
        kind = file_system(self.journal.parent)
        if kind in NETWORK_FILE_SYSTEMS:
            raise PlanError(
                f"The journal would lie on a network file system ({kind}), where SQLite cannot keep it safe.",
                where=str(self.journal.parent),
                hint="Name a local folder with --journal-dir.",
            )
        lock = FileLock(self.path / _LOCK)
        with stored_at(self.path, "Locking the run folder"):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise PlanError(
                    "Another process is writing to this run folder.",
                    where=str(self.path),
                    hint="Wait for it, or stop it.",
                ) from None
        return lock


def open_folder(path: Path) -> RunFolder:
    """Open the run folder at a path, for reading, with its journal at the place in the manifest.

    Raises:
        PlanError: if there is no run.
    """
    folder = RunFolder(path)
    elsewhere = folder.read_manifest().get("journal_dir")
    return RunFolder(path, Path(elsewhere)) if elsewhere else folder


def content_digest(content: Any) -> str:
    """The digest of plain data, the same for every layout as JSON."""
    read = json.loads(json_text(content))
    return digest(json.dumps(read, sort_keys=True).encode())


def file_system(path: Path) -> str:
    """The type of the file system that holds a path (``ext4``, ``nfs4``, …); empty if the system does not report it."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    deepest, kind = "", ""
    target = str(path.resolve())
    for line in mounts.read_text().splitlines():
        _, mount_point, file_system_type, *_ = line.split(" ")
        is_above = target == mount_point or target.startswith(mount_point.rstrip("/") + "/")
        if is_above and len(mount_point) >= len(deepest):
            deepest, kind = mount_point, file_system_type
    return kind


def write_json(path: Path, value: Any, *, nan: str | None = NAN) -> None:
    """Write a JSON file completely or not at all. Numbers that are not finite are written as ``json_text`` does.

    Raises:
        StorageError: if it cannot be written.
    """
    write_text(path, json_text(value, indent=2, nan=nan) + "\n")


def write_text(path: Path, text: str | Iterable[str]) -> None:
    """Write a text file, given whole or in pieces, completely or not at all.

    Raises:
        StorageError: if it cannot be written.
    """
    with stored_at(path, f"Writing {path.name}"), replacing(path) as file:
        file.writelines((text,) if isinstance(text, str) else text)


def _read_document(path: Path, what: str) -> dict[str, Any]:
    with stored_at(path, f"Reading {path.name}"):
        if not path.exists():
            raise _absent(path.parent, what)
        data = path.read_bytes()
    try:
        content = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is not valid JSON: {error}") from None
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise PlanError(
            f"{path.name} has schema version {version!r}; this version of Polymeter reads schema version "
            f"{SCHEMA_VERSION}.",
            where=str(path),
            hint="Use the version of Polymeter that wrote it.",
        )
    return content  # type: ignore[no-any-return]


def _absent(place: Path, what: str) -> PlanError:
    """Return the error for a folder that is missing, is not a run folder, or belongs to a run without results."""
    if not place.exists():
        hint = f"'polymeter run' creates one in {RUNS}/ or in its --output."
        return PlanError(f"There is no {what} at {place}.", hint=hint)
    if RunFolder(place).manifest.exists():
        hint = f"Continue it with: polymeter resume {shlex.quote(str(place))}"
        return PlanError(f"There is no {what} at {place}.", hint=hint)
    runs = sorted(found.parent for found in place.glob(f"*/{RunFolder(place).manifest.name}"))
    names = ", ".join(str(run) for run in runs[-_MOST_NAMED:])
    hint = f"Name one of its run folders: {names}." if runs else "Name a folder with a run.json."
    return PlanError(f"The folder {place} is not a run folder.", hint=hint)


def _check_shape(value: Any, shape: Any, path: Path, place: str = "", *, is_whole: bool) -> None:
    """Check that a file has the entries that its readers rely on.

    Args:
        value: What was read.
        shape: A type, or a tuple of shapes of which one must fit; a mapping of required entries (optional ones:
            ``name?``), or with the key ``""`` of all entries; a list with the shape of each item.
        path: The file.
        place: The place of the value in the file.
        is_whole: Whether no entry may be missing.

    Raises:
        PlanError: if an entry is missing or of another type.
    """
    if isinstance(shape, tuple):
        shape = next((one for one in shape if isinstance(one, dict) and isinstance(value, dict)), shape)
    expected = _types(shape)
    if not isinstance(value, expected):
        raise _damaged(path, f"{place or 'its content'} is of the type {type(value).__name__}")
    if isinstance(shape, list):
        for number, item in enumerate(value):
            _check_shape(item, shape[0], path, f"{place}[{number}]", is_whole=is_whole)
    elif isinstance(shape, dict):
        inside = dict.fromkeys(value, shape[""]) if "" in shape else shape
        for name, entry in inside.items():
            key = name if "" in shape else name.removesuffix("?")
            where = f"{place}.{key}" if place else key
            if key in value:
                _check_shape(value[key], entry, path, where, is_whole=is_whole)
            elif is_whole and key == name:
                raise _damaged(path, f"{where} is missing")


def _types(shape: Any) -> Any:
    """The type or types of the values that may have a shape."""
    if isinstance(shape, tuple):
        return tuple(map(_types, shape))
    return type(shape) if isinstance(shape, (dict, list)) else shape


def _damaged(path: Path, how: str) -> PlanError:
    return PlanError(
        f"{path.name} is damaged: {how}.",
        where=str(path),
        hint="Restore it from a copy, or run the original command again with --restart.",
    )
