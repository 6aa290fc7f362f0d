"""Parts of an evaluation in the tools' terms: batch sizes, and the place of the run folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.options import RunOptions, mark_of
from polymeter.store.folder import RunFolder

Seeds = tuple[int | None, int | None, int | None, int | None]
"""The seeds of Python, NumPy, torch and the few-shot sampler; ``None``: unset."""
DEFAULT_SEEDS: Seeds = (0, 1234, 1234, 1234)


def parse_batch_size(size: int | str | None) -> int | None:
    """Parse a batch size: a number; ``auto`` and ``auto:N`` leave it to the engine, which fills batches itself.

    Raises:
        PlanError: if it is anything else.
    """
    word = str(size if size is not None else "auto").strip()
    if word.partition(":")[0] == "auto":
        return None
    if not word.isdecimal() or int(word) < 1:
        raise PlanError(f"{word!r} is not a batch size.", where="--batch_size", hint="Write a number, or auto.")
    return int(word)


def check_output_path(output_path: str | None, *, log_samples: bool, predict_only: bool) -> None:
    """Refuse to keep samples or answers without a place for them.

    Raises:
        PlanError: if they are to be kept, and no place is named.
    """
    if (log_samples or predict_only) and not output_path:
        option = "--log_samples" if log_samples else "--predict_only"
        raise PlanError(f"{option} needs a place to write to.", where=option, hint="Name a folder with --output_path.")


def identity_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the name of the run folder depends on: those that ``RunOptions`` marks as identity. The same
    command with another runtime option, such as another batch size, continues the run.
    """
    return {name: value for name, value in options.items() if mark_of(RunOptions, name) == "identity"}


def run_folder(use_cache: str | None, folder: Path | None, name: str, identity: str, stamp: str) -> Path | None:
    """Return the place of a run. With a cache, it is in the cache. With a folder of the tool's files, it is in that
    folder: the latest run of the same command is resumed if it was interrupted or has failed samples. Otherwise it is
    ``None``, for a new folder of its own.

    Args:
        use_cache: The folder that keeps runs, if one is named.
        folder: The folder of the tool's files, if they are written.
        name: The run folder's name there, over ``{stamp}`` and ``{identity}``.
        identity: The options that distinguish commands.
        stamp: The time, as file names have it.
    """
    if use_cache:
        return Path(use_cache) / f"run_{identity}"
    if folder is None:
        return None
    begun = folder.glob(name.format(stamp="*", identity=identity))
    unfinished = [path for path in begun if _is_resumable(RunFolder(path))]
    return max(unfinished, default=folder / name.format(stamp=stamp, identity=identity))


def _is_resumable(run: RunFolder) -> bool:
    """Return whether a run was interrupted or has failed samples."""
    if not run.is_begun():
        return False
    manifest = run.read_manifest()
    return manifest["status"] != "complete" or bool(manifest.get("n_failed"))
