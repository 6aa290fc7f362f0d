"""Datasets that a guest opens by itself: with ``--data`` they come from the same local place as those of its task.

Task code calls ``datasets.load_dataset(repo, "another configuration")`` or downloads files of a repository with
``huggingface_hub``. For an id that the run has a local place for, these functions are answered from there; any other
call is unchanged. The packages are changed when a guest first imports them: functions that a guest has imported by name
before cannot be replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.opened_files import note_here
from polymeter.data.opening.local import TABLE_SUFFIXES, local_splits
from polymeter.data.source import Source, local_place, open_splits

_Serve = Callable[..., Any]
_NOT_SERVED = object()
_OF_A_REPOSITORY = ("data_dir", "data_files")
_POSITIONAL = ("data_dir", "data_files", "split")


def serve_datasets(package: str) -> None:
    """Make a package's functions read from local places. Called when a guest has imported the package; calling it again
    changes nothing.
    """
    module = sys.modules.get(package)
    for name, serve in _SERVED.get(package, {}).items() if module is not None else ():
        _exchange(module, name, serve)


def _exchange(module: ModuleType | None, name: str, serve: _Serve) -> None:
    real = getattr(module, name, None)
    if real is None or getattr(real, "serves_local_data", False):
        return

    @wraps(real)
    def served(*args: Any, **kwargs: Any) -> Any:
        is_asked = name in _WITHOUT_DATA or bool(guest_context().data)
        found = serve(*args, **kwargs) if is_asked else _NOT_SERVED
        return real(*args, **kwargs) if found is _NOT_SERVED else found

    served.serves_local_data = True  # type: ignore[attr-defined]
    setattr(module, name, served)


def _load_dataset(path: Any = None, name: str | None = None, *args: Any, **options: Any) -> Any:
    """``datasets.load_dataset`` of an id that has a local place."""
    options = {**dict(zip(_POSITIONAL, args, strict=False)), **options}
    split, is_streaming = options.get("split"), bool(options.get("streaming"))
    source = Source(str(path), name, {key: options[key] for key in _OF_A_REPOSITORY if options.get(key)})
    context = guest_context()
    place, _ = local_place(source, context.data)
    if place is None:
        return _NOT_SERVED
    import datasets

    wanted = [str(item) for item in (split if isinstance(split, (list, tuple)) else [split] if split else [])]
    note_here(_files_behind(place, name or "", wanted))
    opened_splits = partial(open_splits, source, overrides=context.data, cache_dir=context.cache_dir)
    if split is None:
        names = local_splits(place.resolve(), name)
        return _streamed(datasets.DatasetDict(opened_splits(names)), is_wanted=is_streaming)
    parts = {part: None for text in wanted for part in text.split("+")}
    opened = opened_splits(list(parts))
    made = [datasets.concatenate_datasets([opened[part] for part in text.split("+")]) for text in wanted]
    streamed = [_streamed(one, is_wanted=is_streaming) for one in made]
    return streamed if isinstance(split, (list, tuple)) else streamed[0]


def _streamed(dataset: Any, *, is_wanted: bool) -> Any:
    if not is_wanted:
        return dataset
    if not isinstance(dataset, Mapping):
        return dataset.to_iterable_dataset()
    import datasets

    return datasets.IterableDatasetDict({name: one.to_iterable_dataset() for name, one in dataset.items()})


def _hf_hub_download(repo_id: str = "", filename: str = "", *args: Any, **options: Any) -> Any:
    """``huggingface_hub.hf_hub_download`` of a file of such a dataset."""
    folder = _folder_of(repo_id, options.get("repo_type"))
    if folder is None:
        return _NOT_SERVED
    file = folder.joinpath(*filter(None, [options.get("subfolder")]), filename)
    if not file.is_file():
        raise DataError(
            f"The file {filename!r} is missing from {folder}, which replaces the dataset {repo_id}.",
            hint="Put it there, or leave out --data for this dataset.",
        )
    note_here([str(file)])
    return str(file)


def _snapshot_download(repo_id: str = "", *args: Any, **options: Any) -> Any:
    """``huggingface_hub.snapshot_download`` of such a dataset; not if the files are requested in a separate folder."""
    folder = _folder_of(repo_id, options.get("repo_type"))
    return _NOT_SERVED if folder is None or options.get("local_dir") else str(folder)


def _login(token: str | None = None, *args: Any, **options: Any) -> Any:
    """``huggingface_hub.login``: without a token it would ask the user for one, in the middle of a run."""
    return _NOT_SERVED if token else None


def _folder_of(repo_id: str, kind: Any) -> Path | None:
    return local_folder(repo_id) if kind == "dataset" else None


def local_folder(repo_id: str) -> Path | None:
    """The folder that the run names in place of a dataset; ``None`` if it names none, or a file."""
    place, _ = local_place(Source(repo_id), guest_context().data)
    return place.resolve() if place is not None and place.is_dir() else None


def _files_behind(place: Path, config: str, splits: Sequence[str]) -> Iterator[str]:
    """The tables whose rows are read, by their names: a clone of a repository holds others as well, and each is read to
    learn whether it has changed.
    """
    files = [place] if place.is_file() else [file for file in sorted(place.rglob("*")) if file.suffix in TABLE_SUFFIXES]
    for names in ([config], [split.partition("[")[0] for text in splits for split in text.split("+")]):
        named = [file for file in files if any(name and name in str(file.relative_to(place)) for name in names)]
        files = named or files
    return (str(file) for file in files)


_SERVED: Mapping[str, Mapping[str, _Serve]] = {
    "datasets": {"load_dataset": _load_dataset},
    "huggingface_hub": {"hf_hub_download": _hf_hub_download, "snapshot_download": _snapshot_download, "login": _login},
}
_WITHOUT_DATA = frozenset({"login"})
