"""The run folder: the path of each file, the lock that admits one writer, the manifest, and writing of small files.

Large append-only data belongs in the journal.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.files import replacing
from polymeter.core.secrets import without_secrets
from polymeter.core.sources import digest

if TYPE_CHECKING:
    from filelock import BaseFileLock

SCHEMA_VERSION = 1
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "lustre", "gpfs", "ceph", "beegfs", "fuse.sshfs", "9p"}
)


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
        """``journal.db``: what every other file is written from."""
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

    def read_manifest(self) -> dict[str, Any]:
        """The manifest.

        Raises:
            PlanError: if there is none, or it has another schema version.
        """
        return _read(self.manifest, "run folder")

    def read_results(self) -> dict[str, Any]:
        """The results of a finished run.

        Raises:
            PlanError: if there are none yet.
        """
        return _read(self.results, "finished run")

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest, leaving out the values of keys and tokens."""
        write_json(self.manifest, without_secrets({"schema_version": SCHEMA_VERSION, **manifest}))

    def is_begun(self) -> bool:
        """Whether a run was ever started in this folder."""
        return self.manifest.exists()

    def lock(self) -> BaseFileLock:
        """Make this process the only writer until the lock is released or the process dies.

        Raises:
            PlanError: if another process holds the lock, or the journal would lie on a network file system.
        """
        from filelock import FileLock, Timeout

        self.path.mkdir(parents=True, exist_ok=True)
        self.journal.parent.mkdir(parents=True, exist_ok=True)
        kind = file_system(self.journal.parent)
        if kind in NETWORK_FILE_SYSTEMS:
            raise PlanError(
                f"The journal would lie on a network file system ({kind}), where SQLite cannot keep it safe.",
                where=str(self.journal.parent),
                hint="Name a local folder with --journal-dir.",
            )
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise PlanError(
                "Another process is running this run.", where=str(self.path), hint="Wait for it, or stop it."
            ) from None
        return lock


def open_folder(path: Path) -> RunFolder:
    """The run folder at a path, for reading, with its journal where the manifest says.

    Raises:
        PlanError: if there is no run.
    """
    folder = RunFolder(path)
    elsewhere = folder.read_manifest().get("journal_dir")
    return RunFolder(path, Path(elsewhere)) if elsewhere else folder


def file_system(path: Path) -> str:
    """The type of the file system that holds a path (``ext4``, ``nfs4``, …); empty if the system does not say."""
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


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file completely or not at all. NaN and infinities are written as Python does."""
    with replacing(path) as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with replacing(path) as file:
        file.write(text)


def _read(path: Path, what: str) -> dict[str, Any]:
    if not path.exists():
        raise PlanError(f"There is no {what} at {path.parent}.", hint="'polymeter run --output' creates one.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlanError(f"{path.name} is not valid JSON: {error}.", where=str(path)) from None
    version = content.get("schema_version")
    if version != SCHEMA_VERSION:
        raise PlanError(
            f"{path.name} has schema version {version!r}; this Polymeter reads version {SCHEMA_VERSION}.",
            where=str(path),
            hint="Use the version of Polymeter that wrote it.",
        )
    return content  # type: ignore[no-any-return]
