"""Errors for data that is not on this machine, where the code of a class looks for it by itself: in the cache of the
Hugging Face hub, else in whole repositories, or in files that the user has to make.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from polymeter.core.errors import DataError, PolymeterError
from polymeter.tasks.table.files.roots import LMUDataRoot

_FETCHERS = ("huggingface_hub", "modelscope", "datasets")
_NAMES = ("repo_id", "dataset_id")


@contextmanager
def naming_its_repository(dataset: str) -> Iterator[None]:
    """Let an author's code find and fetch data inside this. If fetching fails, the error names the repository and where
    its files are looked for.

    Raises:
        DataError: if a repository cannot be fetched.
    """
    try:
        yield
    except PolymeterError:
        raise
    except Exception as error:
        repository = _repository_of(error)
        if not repository:
            raise
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise _not_fetched(dataset, repository, said[0][:200]) from error


@contextmanager
def naming_missing_data(dataset: str) -> Iterator[None]:
    """Make an instance of an author's class inside this. If its own code does not find the data, the error names the
    place where it looks for it.

    Raises:
        DataError: if its data is missing.
    """
    try:
        yield
    except DataError as error:
        cause = error.__cause__
        if cause is None or isinstance(cause, PolymeterError):
            raise
        repository = _repository_of(cause)
        table = Path(LMUDataRoot(), f"{dataset}.tsv")
        if repository:
            said = str(cause).strip().splitlines() or [type(cause).__name__]
            raise _not_fetched(dataset, repository, said[0][:200], error.where) from cause
        if isinstance(cause, FileNotFoundError):
            place = cause.filename if isinstance(cause.filename, str) else str(table)
            hint = f"Put the file there: {place}. The class looks for it by itself."
            raise DataError(error.what, where=error.where, hint=hint) from cause
        if type(cause) is OSError:
            hint = "Do what the message says: the class looks for its data by itself."
            raise DataError(error.what, where=error.where, hint=hint) from cause
        raise


def _not_fetched(dataset: str, repository: str, said: str, where: str = "") -> DataError:
    return DataError(
        f"The data of {dataset!r} is not on this machine, and {repository} cannot be fetched: {said}",
        where=where,
        hint=f"Fetch it on a machine with access (hf download --repo-type dataset {repository}) and name the "
        f"folder, --data {repository}=FOLDER; or set HF_HUB_CACHE to a cache that has it.",
    )


def _repository_of(error: BaseException | None) -> str:
    """The repository that a client of a hub was asked for when it failed; empty if none was."""
    while error is not None:
        found = _fetched_repository(error.__traceback__)
        if found:
            return found
        error = error.__cause__ or error.__context__
    return ""


def _fetched_repository(traceback: TracebackType | None) -> str:
    found = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _FETCHERS and not found:
            named = (frame.f_locals.get(name) for name in (*_NAMES, "path"))
            found = next((value for value in named if isinstance(value, str) and value.count("/") == 1), "")
        traceback = traceback.tb_next
    return found
