"""``scan`` and ``missing`` of ``vlmutil``: what the folders of models lack, read from their files alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from polymeter.core.errors import PlanError, PolymeterError, did_you_mean
from polymeter.interop.ulmeval.log_files import INDEX, PREDICTION, TABLES, Files, found_in, table_of

_FAILED = "Failed to obtain answer"
_GAVE_UP = ("Failed to obtain answer via API", "All 5 retries failed")
_OF_JUDGE = ("log", "res", "extracted")
_TOGETHER = {
    "MMBench": ("MMBench_DEV_EN", "MMBench_TEST_EN"),
    "MMBench_CN": ("MMBench_DEV_CN", "MMBench_TEST_CN"),
}
"""Datasets that count as done if both of their parts are."""


def scan(root: Path, models: Sequence[str], datasets: Sequence[str]) -> Iterator[str]:
    """Yield a line for every dataset of a model with failed answers or judgements, and for one without answers.

    Args:
        root: The folder with a folder for each model.
        models: Their names; none: every one that has answers.
        datasets: Names of datasets; none: every one that has answers.

    Raises:
        PlanError: if a folder is missing, or no model has answers.
    """
    if not root.is_dir():
        raise PlanError(f"There is no folder {str(root)!r}.", where="--root")
    known = sorted(folder.name for folder in root.iterdir() if folder.is_dir())
    for name in models:
        if name not in known:
            raise PlanError(f"There is no model {name!r} in {root}.", where="--model", hint=did_you_mean(name, known))
    found = {name: found_in(root / name) for name in models or known}
    if not any(found.values()):
        raise PlanError(f"No model in {root} has answers.", where="--root", hint="Name the folder of --work-dir.")
    for model, own in found.items():
        files = {entry.dataset: entry for entry in own[1]} if own is not None else {}
        for dataset in datasets or files:
            if dataset in files:
                yield from _failures(model, root / model, files[dataset])
            else:
                yield f"{model} on {dataset}: there are no answers"


def missing(root: Path, wanted: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield model and dataset for every score that the folders of models lack.

    Args:
        root: The folder with a folder for each model.
        wanted: Datasets, each with the end of the name of its file of scores.

    Raises:
        PlanError: if there is no such folder.
    """
    if not root.is_dir():
        raise PlanError(f"There is no folder {str(root)!r}.", where="--work-dir")
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and path.name not in ("logs",)):
        for dataset, ending in wanted:
            if not _has_score(folder, dataset, ending):
                yield folder.name, dataset


def _has_score(folder: Path, dataset: str, ending: str) -> bool:
    parts = _TOGETHER.get(dataset, ())
    whole = (folder / f"{folder.name}_{dataset}_{ending}").exists()
    return whole or (bool(parts) and all((folder / f"{folder.name}_{part}_{ending}").exists() for part in parts))


def _failures(model: str, folder: Path, own: Files) -> Iterator[str]:
    label = f"{model} on {own.dataset}"
    try:
        answers = table_of(own.predictions, INDEX, PREDICTION)[PREDICTION]
    except PolymeterError as error:
        yield f"{label}: {error.what}"
        return
    n_failed = sum(str(answer).startswith(_FAILED) for answer in answers)
    if n_failed:
        yield f"{label}: {n_failed} of {len(answers)} answers failed"
    for file in sorted(folder.glob(f"{own.predictions.stem}_*")):
        if file.suffix in TABLES and file != own.predictions:
            yield from _failed_judgements(label, file)


def _failed_judgements(label: str, file: Path) -> Iterator[str]:
    try:
        table = table_of(file)
    except PolymeterError:  # a file of another kind with such a name, such as a resume file of a judge
        return
    columns = [column for column in _OF_JUDGE if column in table]
    n_failed = sum(
        any(sign in str(cell) for cell in row for sign in _GAVE_UP) for row in table[columns].itertuples(index=False)
    )
    if n_failed:
        yield f"{label}: {n_failed} of {len(table)} judgements failed ({file.name})"
