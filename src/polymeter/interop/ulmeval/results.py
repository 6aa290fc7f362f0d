"""Where the outputs of a command of ULMEvalKit lie.

::

    <work>/<model>/T<day>_G<asked>/runs/<dataset>/<scoring>/   our run folder
    <work>/<model>/T<day>_G<asked>/{model}_{dataset}.pkl       links to the prediction file and to what stands beside it
    <work>/<model>/{model}_{dataset}.pkl                       links to the latest of them

``<asked>`` is a digest of the model and of every setting that can change an answer, ``<scoring>`` names how answers are
scored. So nothing that was answered to another question, by another model or with other settings is ever mistaken for
what is asked.
"""

from __future__ import annotations

import glob
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polymeter.formats.table.predictions import prediction_path
from polymeter.store.folder import RunFolder, open_folder

INFER = "infer"
_RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Place:
    """The outputs of one model on one dataset.

    Attributes:
        root: The model's folder.
        day: ``YYYYMMDD``.
        asked: Digest of what is asked and of whom.
        dataset: What the dataset is called in files.
        journal_dir: Where journals are kept, when not in the run folders.
    """

    root: Path
    day: str
    asked: str
    dataset: str
    journal_dir: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the day and of what is asked."""
        return self.root / f"T{self.day}_G{self.asked}"

    def run(self, scoring: str) -> RunFolder:
        """The run folder of one way to score."""
        return RunFolder(self.folder / _RUNS / plain_name(self.dataset) / scoring, self.journal_dir)

    def others(self, target: RunFolder) -> list[RunFolder]:
        """The other runs of the same day that have asked the same; whole ones first."""
        return _whole_first(_runs_in(self.folder, self.dataset, target))

    def earlier(self, target: RunFolder) -> list[RunFolder]:
        """The runs of other days that have asked the same, of the latest day first."""
        folders = [path for path in self.root.glob(f"T*_G{self.asked}") if path != self.folder]
        ordered = sorted(folders, key=lambda path: path.name, reverse=True)
        return [run for folder in ordered for run in _whole_first(_runs_in(folder, self.dataset, target))]


def today() -> str:
    """The day as it stands in names of folders."""
    return time.strftime("%Y%m%d")


def plain_name(name: str) -> str:
    """A name as a folder's: signs that no folder's name may hold are replaced."""
    return prediction_path(Path(), "", name).parent.name


def all_runs(root: Path, dataset: str) -> list[RunFolder]:
    """Every run of a model on a dataset that has asked the model itself, the latest first."""
    found = [run for folder in root.glob("T*_G*") for run in _runs_in(folder, dataset, None)]
    return sorted(found, key=lambda run: str(run.read_manifest()["started"]), reverse=True)


def is_whole(run: RunFolder) -> bool:
    """Whether a run has ended, and every sample of it with an answer."""
    manifest = run.read_manifest()
    return manifest["status"] == "complete" and not manifest.get("n_failed")


def show_files(run: RunFolder, place: Path, model: str, dataset: str, label: str) -> tuple[list[Path], list[str]]:
    """Link what a run has written for a dataset into a folder, and that into the model's folder above it.

    Args:
        run: The run.
        place: The folder of the day.
        model: The model's name in the prediction file.
        dataset: The dataset.
        label: What the dataset is called in the links' names.

    Returns:
        The links in ``place``, and notes on what could not be linked.
    """
    source = prediction_path(run.artifacts, model, dataset)
    target = prediction_path(run.artifacts, model, label)
    made, notes = [], []
    for file in sorted(source.parent.iterdir()) if source.parent.is_dir() else []:
        name = file.name
        if name.startswith(source.stem):
            name = f"{target.stem}{name.removeprefix(source.stem)}"
        elif not name.startswith(target.stem):
            name = f"{target.stem}_{name}"
        for link, to in ((place / name, file), (place.parent / name, place / name)):
            if not _link(link, to):
                notes.append(f"{link} is a file of its own and was left as it is; the new one is {to}.")
                break
        made.append(place / name)
    for folder in (place, place.parent):
        for link in folder.glob(f"{glob.escape(target.stem)}*") if folder.is_dir() else ():
            if link.is_symlink() and not link.exists():
                link.unlink()  # of a file that an earlier scoring wrote and this one did not
    return made, notes


def _link(link: Path, target: Path) -> bool:
    """Make a relative link, or a copy where links cannot be made. Somebody's own file is not replaced."""
    if link.is_symlink():
        link.unlink()
    link.parent.mkdir(parents=True, exist_ok=True)
    try:
        link.symlink_to(os.path.relpath(target, link.parent), target_is_directory=target.is_dir())
    except FileExistsError:
        return False
    except OSError:
        if target.is_dir():
            shutil.copytree(target, link, dirs_exist_ok=True)
        else:
            shutil.copy2(target, link)
    return True


def _runs_in(folder: Path, dataset: str, target: RunFolder | None) -> Iterator[RunFolder]:
    """Runs of a folder that have asked the model itself and hold answers."""
    for path in sorted((folder / _RUNS / plain_name(dataset)).glob("*")):
        is_other = target is None or path != target.path
        if not is_other or not RunFolder(path).is_begun():
            continue
        run = open_folder(path)
        if run.journal.exists() and not run.read_manifest().get("scored_from"):
            yield run


def _whole_first(runs: Iterator[RunFolder]) -> list[RunFolder]:
    return sorted(runs, key=lambda run: not is_whole(run))
