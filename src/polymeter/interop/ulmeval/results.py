"""The output files of a ULMEvalKit command.

::

    <work>/<model>/T<day>_G<digest>/runs/<dataset>/<scoring>/   our run folder
    <work>/<model>/T<day>_G<digest>/{model}_{dataset}.pkl       links to the prediction file and the files beside it
    <work>/<model>/{model}_{dataset}.pkl                        links to the latest of these

``<digest>`` covers the model and every setting that can change an answer, ``<scoring>`` names the way answers are
scored. So an answer to another question, by another model or with other settings is never mistaken for the right one.
"""

from __future__ import annotations

import glob
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polymeter.store.folder import RunFolder, open_folder
from polymeter.tasks.table.predictions import prediction_path

INFER = "infer"
_RUNS = "runs"


@dataclass(frozen=True, slots=True)
class Outputs:
    """The folders of one model's outputs on one dataset.

    Attributes:
        root: The model's folder.
        day: ``YYYYMMDD``.
        digest: Digest of the model and of every setting that can change an answer.
        dataset: The dataset's name in files.
        journal_dir: The folder for journals, if they are not in the run folders.
    """

    root: Path
    day: str
    digest: str
    dataset: str
    journal_dir: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the day and digest."""
        return self.root / f"T{self.day}_G{self.digest}"

    def run(self, scoring: str) -> RunFolder:
        """The run folder of one way to score."""
        return RunFolder(self.folder / _RUNS / plain_name(self.dataset) / scoring, self.journal_dir)

    def others(self, target: RunFolder) -> list[RunFolder]:
        """The other runs of the same day and digest, whole ones first."""
        return _whole_first(_runs_in(self.folder, self.dataset, target))

    def earlier(self, target: RunFolder) -> list[RunFolder]:
        """The runs of other days with the same digest, latest day first."""
        folders = [path for path in self.root.glob(f"T*_G{self.digest}") if path != self.folder]
        ordered = sorted(folders, key=lambda path: path.name, reverse=True)
        return [run for folder in ordered for run in _whole_first(_runs_in(folder, self.dataset, target))]


def today() -> str:
    """The day, as folder names have it."""
    return time.strftime("%Y%m%d")


def plain_name(name: str) -> str:
    """A name as a folder name: characters that folder names may not contain are replaced."""
    return prediction_path(Path(), "", name).parent.name


def all_runs(root: Path, dataset: str) -> list[RunFolder]:
    """Every run of a model on a dataset in which the model itself answered, latest first."""
    runs = [run for folder in root.glob("T*_G*") for run in _runs_in(folder, dataset, None)]
    return sorted(runs, key=lambda run: str(run.read_manifest()["started"]), reverse=True)


def link_files(run: RunFolder, day_folder: Path, model: str, dataset: str, label: str) -> tuple[list[Path], list[str]]:
    """Link the files that a run has written for a dataset into the day's folder, and those links into the model's.

    Args:
        run: The run.
        day_folder: The folder of the day and digest, inside the model's folder.
        model: The model's name in the prediction file's name.
        dataset: The dataset.
        label: The dataset's name in the links' names.

    Returns:
        The links in ``day_folder``, and notes on files that could not be linked.
    """
    source = prediction_path(run.artifacts, model, dataset)
    target = prediction_path(run.artifacts, model, label)
    links, notes = [], []
    for file in sorted(source.parent.iterdir()) if source.parent.is_dir() else []:
        name = file.name
        if name.startswith(source.stem):
            name = f"{target.stem}{name.removeprefix(source.stem)}"
        elif not name.startswith(target.stem):
            name = f"{target.stem}_{name}"
        for link, to in ((day_folder / name, file), (day_folder.parent / name, day_folder / name)):
            if not link_to(link, to):
                notes.append(f"{link} is not a link that Polymeter made, so it is unchanged; the new file is {to}.")
                break
        links.append(day_folder / name)
    # An earlier scoring may have written a file that this one did not, which leaves a dangling link.
    for folder in (day_folder, day_folder.parent):
        for link in folder.glob(f"{glob.escape(target.stem)}*") if folder.is_dir() else ():
            if link.is_symlink() and not link.exists():
                link.unlink()
    return links, notes


def link_to(link: Path, target: Path) -> bool:
    """Make a relative link, or a copy if the file system has no links. A file that is not a link is not replaced."""
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
    """Runs in a folder that hold the model's own answers."""
    for path in sorted((folder / _RUNS / plain_name(dataset)).glob("*")):
        is_other = target is None or path != target.path
        if not is_other or not RunFolder(path).is_begun():
            continue
        run = open_folder(path)
        if run.journal.exists() and not run.read_manifest().get("scored_from"):
            yield run


def _whole_first(runs: Iterator[RunFolder]) -> list[RunFolder]:
    return sorted(runs, key=lambda run: not run.has_ended_whole())
