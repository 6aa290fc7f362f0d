"""Opening local files as a dataset: a folder of split files, a folder written by ``save_to_disk``, or a single file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.data.mending import load_files

if TYPE_CHECKING:
    import datasets

_BUILDER_OF = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
    ".txt": "text",
}
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-[0-9a-f]+)?$")


def is_saved(folder: Path) -> bool:
    """Whether a folder was written by ``save_to_disk``."""
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def open_local(
    path: Path, splits: Sequence[str], *, config: str | None = None, cache_dir: Path | None = None
) -> dict[str, datasets.Dataset]:
    """The named splits of a local file or folder. A single file serves as every split.

    Raises:
        DataError: if a split does not exist, or the files cannot be read.
    """
    path = path.resolve()
    if path.is_file():
        return {split: _read([path], split, cache_dir) for split in splits}
    if config and (path / config).is_dir():
        path = path / config
    if is_saved(path):
        return open_saved(path, splits)
    files = _split_files(path)
    if files:
        return {split: _read(_pick(files, split, path), split, cache_dir) for split in splits}
    return _generic(path, splits, config, cache_dir)


def open_saved(folder: Path, splits: Sequence[str]) -> dict[str, datasets.Dataset]:
    """The named splits of a folder written by ``save_to_disk``; a dataset without splits serves as every split.

    Raises:
        DataError: if the folder was not written by ``save_to_disk``, or lacks a split.
    """
    import datasets

    with boundary(DataError, f"Loading {folder}", hint="It must be a folder written by save_to_disk()."):
        if not (folder / "dataset_dict.json").is_file():
            whole = datasets.load_from_disk(str(folder))
            return {split: _sliced(whole, split) for split in splits}
        opened = {}
        for split in splits:
            name = _name_of(split)
            if not (folder / name).is_dir():
                raise _no_split(folder, name, sorted(child.name for child in folder.iterdir() if child.is_dir()))
            opened[split] = _sliced(datasets.load_from_disk(str(folder / name)), split)
        return opened


def _split_files(folder: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for base in (folder, folder / "data"):
        if not base.is_dir():
            continue
        for file in sorted(base.iterdir()):
            if file.suffix in _BUILDER_OF and file.suffix != ".txt" and not _is_metadata(file):
                files.setdefault(_SHARD.sub("", file.stem), []).append(file)
    return files


def _pick(files: dict[str, list[Path]], split: str, folder: Path) -> list[Path]:
    name = _name_of(split)
    if name in files:
        return _one_format(files[name])
    shards = [file for stem, members in files.items() if stem.startswith(f"{name}-") for file in members]
    if shards:
        return _one_format(shards)
    raise _no_split(folder, name, sorted(files))


def _one_format(files: list[Path]) -> list[Path]:
    """The files in the format of the first: a folder may hold the same split in several formats."""
    return [file for file in files if file.suffix == files[0].suffix]


def _read(files: list[Path], split: str, cache_dir: Path | None) -> datasets.Dataset:
    suffix = files[0].suffix
    builder = _BUILDER_OF.get(suffix)
    if builder is None:
        raise DataError(
            f"Cannot read {str(files[0])!r} as a dataset.", hint=f"Supported suffixes: {', '.join(_BUILDER_OF)}."
        )
    options: dict[str, Any] = {"sep": "\t"} if suffix == ".tsv" else {}
    if cache_dir is not None:
        options["cache_dir"] = str(cache_dir)
    if not any(file.stat().st_size for file in files):
        raise DataError(f"The dataset file {files[0]} is empty.")
    with boundary(DataError, f"Reading {files[0]}"):
        whole = load_files(builder, data_files=[str(file) for file in files], split="train", **options)
    return _sliced(whole, split)


def _generic(
    folder: Path, splits: Sequence[str], config: str | None, cache_dir: Path | None
) -> dict[str, datasets.Dataset]:
    """The splits that ``datasets`` itself recognises: image folders, clones of hub repositories."""
    import datasets

    options: dict[str, Any] = {} if cache_dir is None else {"cache_dir": str(cache_dir)}
    if config:
        has_config = any(name == config for name in _configs(folder))
        options["name"] = config if has_config else None
    with boundary(
        DataError, f"Loading {folder}", hint="It holds neither split files nor anything that datasets can read."
    ):
        loaded = datasets.load_dataset(str(folder), **options)
        for split in splits:
            if _name_of(split) not in loaded:
                raise _no_split(folder, split, sorted(map(str, loaded)))
        return {split: _sliced(loaded[_name_of(split)], split) for split in splits}


def _configs(folder: Path) -> list[str]:
    import datasets

    with boundary(DataError, f"Loading {folder}"):
        return list(datasets.get_dataset_config_names(str(folder)))


def _sliced(dataset: datasets.Dataset, split: str) -> datasets.Dataset:
    """The slice that ``name[a:b]`` denotes, in rows or percent."""
    _, bracket, bounds_text = split.partition("[")
    if not bracket:
        return dataset
    n = len(dataset)
    start, _, stop = bounds_text.rstrip("]").partition(":")
    bounds = [_bound(text, n, default) for text, default in ((start, 0), (stop, n))]
    return dataset.select(range(*slice(bounds[0], bounds[1]).indices(n)))


def _bound(text: str, n: int, default: int) -> int:
    text = text.strip()
    if not text:
        return default
    return round(int(text[:-1]) * n / 100) if text.endswith("%") else int(text)


def _name_of(split: str) -> str:
    return split.partition("[")[0]


def _is_metadata(file: Path) -> bool:
    return file.name.startswith(("metadata.", "dataset_info", "dataset_dict", "state.", "."))


def _no_split(folder: Path, name: str, names: list[str]) -> DataError:
    return DataError(f"There is no split {name!r} in {folder}.", hint=f"It has: {', '.join(names) or 'none'}.")
