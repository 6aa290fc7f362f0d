"""Errors for the data of video benchmarks that is not on this machine. Classes find it in the cache of the Hugging Face
hub, else fetch whole repositories.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from polymeter.core.errors import DataError, PolymeterError

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
        repository = _fetched_repository(error.__traceback__)
        if not repository:
            raise
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise DataError(
            f"The data of {dataset!r} is not on this machine, and {repository} cannot be fetched: {said[0][:200]}",
            hint=f"Fetch it on a machine with access (hf download --repo-type dataset {repository}) and name the "
            f"folder, --data {repository}=FOLDER; or set HF_HUB_CACHE to a cache that has it.",
        ) from error


def _fetched_repository(traceback: TracebackType | None) -> str:
    """The repository that a client of a hub was asked for when it failed; empty if none was."""
    found = ""
    while traceback is not None:
        frame = traceback.tb_frame
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] in _FETCHERS and not found:
            named = (frame.f_locals.get(name) for name in (*_NAMES, "path"))
            found = next((value for value in named if isinstance(value, str) and value.count("/") == 1), "")
        traceback = traceback.tb_next
    return found
