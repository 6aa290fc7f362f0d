"""The input of writers of other tools' files, and the way they report what these files cannot hold.

A writer is a function of an ``ExportJob``. It writes into the job's folder, which is empty and belongs to nothing yet:
the caller moves the files to their place when all of them are written.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import count
from polymeter.core.machine.places import stored_at
from polymeter.core.media.sources import sniff_audio_mime, sniff_mime
from polymeter.core.records.human_scores import HumanScores


@dataclass(frozen=True, slots=True)
class ExportJob:
    """One run, to be written as another tool's files.

    Attributes:
        run: The run folder.
        manifest: The content of ``run.json``, with the selected tasks alone.
        results: The content of ``results.json``, likewise; partial results if the run has not ended.
        read: ``(task) → samples`` that have ended, in order, as ``samples/*.jsonl`` has them.
        media: ``(name) → path`` of a file of the run's media.
        artifacts: The folder of what tasks have written themselves; it may be missing.
        folder: Where to write.
        copies_media: Whether images and other media are to be written too.
        human: The verdicts of people by task; ``read`` and ``results`` contain them already.
        notes: What was left out, a clause each, filled by the writer.
        copies: The media files that were copied, relative to ``folder``.
    """

    run: Path
    manifest: Mapping[str, Any]
    results: Mapping[str, Any]
    read: Callable[[str], Iterator[dict[str, Any]]]
    media: Callable[[str], Path]
    artifacts: Path
    folder: Path
    copies_media: bool = False
    human: Mapping[str, HumanScores] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    copies: dict[str, None] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model's name; never empty."""
        return str(self.results.get("model") or self.manifest["model"].get("name") or "model")

    @property
    def model_args(self) -> dict[str, str]:
        """The model's name and arguments, as text."""
        spec = self.manifest["model"].get("spec") or {}
        return {"model": self.model, **{name: str(value) for name, value in (spec.get("args") or {}).items()}}

    @property
    def backend(self) -> str:
        """The program that ran the model; ``polymeter`` for a Python object."""
        return str((self.manifest["model"].get("spec") or {}).get("backend") or "polymeter")

    @property
    def is_partial(self) -> bool:
        """True if the run has not ended."""
        return bool(self.manifest["status"] != "complete")

    @property
    def stamp(self) -> str:
        """When the run ended, else when it began, in ISO 8601: the time of the export would make files differ."""
        return str(self.manifest.get("ended") or self.manifest["started"])

    def planned(self, task: str) -> Mapping[str, Any]:
        """Return the manifest's entry of a task."""
        found: Mapping[str, Any] = next(entry for entry in self.manifest["tasks"] if entry["name"] == task)
        return found

    def leave_out_usual(self) -> None:
        """Note what hardly any tool's files hold: intervals, and samples without a score."""
        tasks = self.results["tasks"].values()
        if any(result.get("interval") for task in tasks for result in task["results"]):
            self.leave_out("intervals")
        n_failed = sum(sum(task["statuses"].values()) - task["n_scored"] for task in tasks)
        if n_failed:
            self.leave_out(f"{count(n_failed, 'sample')} without a score")

    def leave_out(self, what: str) -> None:
        """Note something that the files cannot hold, as the words that follow *left out:*; once is enough."""
        self.notes[what] = None

    def copied(self, name: str, to: str = "media") -> str:
        """Copy a file of the run's media below the folder.

        Args:
            name: Its name in the run folder.
            to: The folder for it.

        Returns:
            Its path relative to the folder; empty if media are not copied or there is no such file.
        """
        source = self.media(name) if self.copies_media and name and Path(name).name == name else None
        if source is None or not source.is_file():
            return ""
        path, target = f"{to}/{name}", self.folder / to / name
        if path not in self.copies:
            with stored_at(target, f"Copying {name}"):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
            self.copies[path] = None
        return path

    def shown(self, name: str) -> str:
        """A file of the run's media as a reader can show it: a ``data:`` address if media are copied and there is such
        a file, else its place in the run folder.
        """
        source = self.media(name)
        if not self.copies_media or Path(name).name != name or not source.is_file():
            return f"media/{name[:2]}/{name}"
        with stored_at(source, f"Reading {name}"):
            data = source.read_bytes()
        mime = sniff_mime(data) or sniff_audio_mime(data) or "application/octet-stream"
        return f"data:{mime};base64,{base64.b64encode(data).decode()}"


Exporter = Callable[[ExportJob], None]
"""Writes a run as another tool's files; raises PlanError if that cannot be done."""
