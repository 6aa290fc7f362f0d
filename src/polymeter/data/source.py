"""Opening a dataset as a task names it: a hub id, a local folder, a file format with data files, or a folder written
to disk.

``--data`` puts local files in place of any of these. Only the splits that a task uses are handed out.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.data.local import is_saved, open_local, open_saved
from polymeter.data.snapshot import fetch_media

if TYPE_CHECKING:
    import datasets

BUILDERS = frozenset(
    {
        "arrow",
        "audiofolder",
        "csv",
        "imagefolder",
        "json",
        "pandas",
        "parquet",
        "text",
        "videofolder",
        "webdataset",
        "xml",
    }
)
_DROPPED = (
    "builder_script",
    "create_link",
    "force_download",
    "force_unzip",
    "trust_remote_code",
    "video",
    "From_YouTube",
)


def import_datasets() -> None:
    """Import the package behind all datasets, for whoever has to wait anyhow."""
    importlib.import_module("datasets")


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset as its task names it.

    Attributes:
        path: Hub id, folder, file, or name of a format.
        name: Configuration.
        kwargs: Arguments for ``datasets.load_dataset``, with the special keys of task YAML.
        directory: Folder of the task; relative data files are looked up there first.
    """

    path: str
    name: str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    directory: Path = Path()

    def __str__(self) -> str:
        return f"{self.path}:{self.name}" if self.name else self.path


def open_splits(
    source: Source,
    splits: Sequence[str],
    *,
    overrides: Mapping[str, str] | None = None,
    cache_dir: Path | None = None,
) -> dict[str, datasets.Dataset]:
    """The named splits, memory-mapped.

    Args:
        source: The dataset.
        splits: Names of splits, also with a slice (``test[:100]``).
        overrides: Local files in place of ids: ``ID`` or ``ID:CONFIG`` → path.
        cache_dir: Where prepared copies of local files are kept.

    Raises:
        DataError: The dataset or a split is missing, unreadable or empty.
    """
    place = _override(source, overrides or {})
    prepared = cache_dir / "datasets" if cache_dir else None
    with _quiet():
        if place is not None:
            found = open_local(place, splits, config=source.name, cache_dir=prepared)
        else:
            found = _open(source, splits, prepared)
    for split, dataset in found.items():
        if len(dataset) == 0:
            raise DataError(f"Split {split!r} of dataset {source} is empty.")
    return found


def _open(source: Source, splits: Sequence[str], cache_dir: Path | None) -> dict[str, datasets.Dataset]:
    kwargs = dict(source.kwargs)
    here = _existing(source.path, source.directory)
    if kwargs.pop("load_from_disk", False):
        if here is None or not here.is_dir():
            raise DataError(
                f"The folder {source.path!r} does not exist.", hint="load_from_disk needs a folder of save_to_disk()."
            )
        return open_saved(here, splits)
    if source.path not in BUILDERS and here is not None:
        if is_saved(here) or not (set(kwargs) - {"token", *_DROPPED}):
            return open_local(here, splits, config=source.name, cache_dir=cache_dir)
        return _load(str(here), source, splits, _clean(kwargs, source.directory), cache_dir)
    is_hub = source.path not in BUILDERS
    if is_hub and (kwargs.get("video") or kwargs.get("From_YouTube")):
        fetch_media(source.path, kwargs)
    if kwargs.get("video") or kwargs.get("From_YouTube"):
        kwargs.pop("cache_dir", None)
    return _load(source.path, source, splits, _clean(kwargs, source.directory), None if is_hub else cache_dir)


def _load(
    path: str, source: Source, splits: Sequence[str], kwargs: dict[str, Any], cache_dir: Path | None
) -> dict[str, datasets.Dataset]:
    import datasets

    if cache_dir is not None:
        kwargs.setdefault("cache_dir", str(cache_dir))
    is_files = path in BUILDERS
    doing = f"Loading the {path} files {_files(kwargs)} " if is_files else f"Loading dataset {source}"
    hint = (
        "Check that the files exist and hold rows."
        if is_files
        else f"Put local files in its place with --data {source}=PATH."
    )
    with boundary(DataError, doing.strip(), hint=hint):
        found = datasets.load_dataset(path, source.name, **kwargs)
        if isinstance(found, datasets.Dataset):
            return dict.fromkeys(splits, found)
        opened = {}
        for split in splits:
            if split in found:
                opened[split] = found[split]
            elif any(mark in split for mark in "[+"):
                opened[split] = datasets.load_dataset(path, source.name, split=split, **kwargs)
            else:
                known = ", ".join(sorted(map(str, found)))
                raise DataError(f"Dataset {source} has no split {split!r}.", hint=f"It has: {known}.")
        return opened


def _files(kwargs: Mapping[str, Any]) -> str:
    """What ``data_files`` names, for messages."""
    files = kwargs.get("data_files") or kwargs.get("data_dir") or ""
    if isinstance(files, Mapping):
        files = list(files.values())
    return ", ".join(str(item) for item in files) if isinstance(files, (list, tuple)) else str(files)


def _clean(kwargs: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Arguments that ``load_dataset`` takes: the special keys resolved, files that lie beside the task made
    absolute.
    """
    import datasets

    for key in _DROPPED:
        kwargs.pop(key, None)
    download = {key: kwargs.pop(key) for key in ("max_retries", "num_proc", "local_files_only") if key in kwargs}
    if "num_proc" in download:
        kwargs["num_proc"] = download["num_proc"]
    if download:
        kwargs["download_config"] = datasets.DownloadConfig(**download)
    if kwargs.get("token") is True:
        from huggingface_hub import get_token

        if get_token() is None:
            kwargs.pop("token")
    if "data_files" in kwargs:
        kwargs["data_files"] = _resolve_files(kwargs["data_files"], directory)
    if isinstance(kwargs.get("data_dir"), str):
        kwargs["data_dir"] = _resolve_files(kwargs["data_dir"], directory)
    return kwargs


def _resolve_files(files: Any, directory: Path) -> Any:
    if isinstance(files, str):
        beside = directory / files
        has_it = (
            any(True for _ in directory.glob(files))
            if any(c in files for c in "*?[") and not files.startswith("/")
            else False
        )
        return str(beside) if "://" not in files and (has_it or beside.exists()) else files
    if isinstance(files, Mapping):
        return {split: _resolve_files(item, directory) for split, item in files.items()}
    return [_resolve_files(item, directory) for item in files]


def _existing(path: str, directory: Path) -> Path | None:
    """A path that exists, beside the task or from the working directory. A bare word is a folder only if it looks like
    one.
    """
    for candidate in (directory / path, Path(os.path.expanduser(path))):
        if candidate.exists():
            return candidate
    if path.startswith(("/", "./", "../", "~")):
        raise DataError(f"The dataset folder {path!r} does not exist.", where=str(directory))
    return None


def _override(source: Source, overrides: Mapping[str, str]) -> Path | None:
    path = overrides.get(f"{source.path}:{source.name}") or overrides.get(source.path)
    if path is None:
        return None
    place = Path(os.path.expanduser(path))
    if not place.exists():
        raise DataError(f"--data {source}={path}: there is no such file or folder.")
    return place


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars of ``datasets``: Polymeter has its own."""
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    was_disabled = are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if not was_disabled:
            enable_progress_bars()
