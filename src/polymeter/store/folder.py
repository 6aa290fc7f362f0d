"""The run folder: where each file of a run lies, who may write, and the manifest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.secrets import without_secrets
from polymeter.core.sources import digest
from polymeter.store.files import write_json

if TYPE_CHECKING:
    from filelock import BaseFileLock

SCHEMA_VERSION = 1
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "lustre", "gpfs", "ceph", "beegfs", "fuse.sshfs", "9p"}
)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of one run.

    Attributes:
        path: The folder.
        journal_dir: Where the live journal is, when not in the folder itself (WAL needs a local disk).
    """

    path: Path
    journal_dir: Path | None = None

    @property
    def manifest(self) -> Path:
        """``run.json``: plan, sources, versions, status."""
        return self.path / "run.json"

    @property
    def journal(self) -> Path:
        """``journal.db``: the truth."""
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
        """The page."""
        return self.path / "report.html"

    @property
    def artifacts(self) -> Path:
        """Submissions and other files that tasks write."""
        return self.path / "artifacts"

    def read_manifest(self) -> dict[str, Any]:
        """The manifest.

        Raises:
            PlanError: There is none, or another version of Polymeter with another schema wrote it.
        """
        return _read(self.manifest, "run folder")

    def read_results(self) -> dict[str, Any]:
        """The results of a finished run.

        Raises:
            PlanError: There are none yet.
        """
        return _read(self.results, "finished run")

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write the manifest whole, without the values of keys and tokens."""
        write_json(self.manifest, without_secrets({"schema_version": SCHEMA_VERSION, **manifest}))

    def is_begun(self) -> bool:
        """Whether a run was ever started here."""
        return self.manifest.exists()

    def lock(self) -> BaseFileLock:
        """Make this process the only writer, until the lock is released or the process dies.

        Raises:
            PlanError: Another process is running it, or the journal would lie on a network file system.
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
    """The run folder at a path, for reading; finds the journal where the manifest says it is.

    Raises:
        PlanError: There is no run.
    """
    folder = RunFolder(path)
    elsewhere = folder.read_manifest().get("journal_dir")
    return RunFolder(path, Path(elsewhere)) if elsewhere else folder


def file_system(path: Path) -> str:
    """Type of the file system that holds a path (``ext4``, ``nfs4``, …); empty where the system does not tell."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    best, kind = "", ""
    target = str(path.resolve())
    for line in mounts.read_text().splitlines():
        _, point, name, *_ = line.split(" ")
        is_above = target == point or target.startswith(point.rstrip("/") + "/")
        if is_above and len(point) >= len(best):
            best, kind = point, name
    return kind


def _read(path: Path, what: str) -> dict[str, Any]:
    if not path.exists():
        raise PlanError(f"There is no {what} at {path.parent}.", hint="'polymeter run --output' makes one.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise PlanError(f"{path.name} is not valid JSON: {error}.", where=str(path)) from None
    found = content.get("schema_version")
    if found != SCHEMA_VERSION:
        raise PlanError(
            f"{path.name} has schema version {found!r}; this Polymeter reads version {SCHEMA_VERSION}.",
            where=str(path),
            hint="Use the version of Polymeter that wrote it.",
        )
    return content  # type: ignore[no-any-return]
