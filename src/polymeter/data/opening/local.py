"""Opening local files as a dataset: a clone of a hub repository, a folder of split files, a folder written by
``save_to_disk``, or a single file.

A folder whose dataset card describes configurations is opened as the hub opens it, by the same library: the card names
the files of each configuration and the default one. In a folder without such a card a configuration is a subfolder. A
missing configuration is an error, never the rows of another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import DataError, boundary
from polymeter.data.opening.explaining import explain
from polymeter.data.opening.preparing import load_dataset
from polymeter.data.origins import shift_origin
from polymeter.data.repairing import load_files

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
TABLE_SUFFIXES = frozenset(_BUILDER_OF)
CARDS = ("README.md", ".huggingface.yaml")
"""Files that may describe the configurations of the dataset that they lie in."""
_CARD_HINT = "Its dataset card names the files of each configuration; they must exist."
_DEFAULT = "default"
_ONLY_SPLIT = "train"
_INFO = "dataset_info.json"
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-[0-9a-f]+)?$")


def is_saved(folder: Path) -> bool:
    """Return whether a folder was written by ``save_to_disk``."""
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def open_local(
    path: Path,
    splits: Sequence[str],
    *,
    config: str | None = None,
    is_of_config: bool = False,
    cache_dir: Path | None = None,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, datasets.Dataset]:
    """The named splits of a local file or folder. A single file serves as every split of every configuration.

    Args:
        path: The file or folder.
        splits: Names of splits, optionally with a slice.
        config: The configuration; ``None``: the default one.
        is_of_config: Whether the path is known to hold the rows of that configuration, under any name.
        cache_dir: Where prepared copies are kept.
        reading: Further settings of the reader of the files.

    Raises:
        DataError: if the configuration or a split does not exist, or the files cannot be read.
    """
    path = path.resolve()
    options: dict[str, Any] = {**(reading or {}), **({} if cache_dir is None else {"cache_dir": str(cache_dir)})}
    if path.is_file():
        return {split: _split_of_files([path], split, options) for split in splits}
    if not is_saved(path):
        configs = card_configs(path)
        if configs and (not is_of_config or config in configs):
            return _splits_of_card(path, splits, config, configs, options)
    if config and (path / config).is_dir():
        path = path / config
    elif config and config != _DEFAULT and not is_of_config and any(_name_of(split) != config for split in splits):
        # A split that is called like its configuration can only be of that one.
        _check_config(path, config)
    if is_saved(path):
        return open_saved(path, splits)
    files = _split_files(path)
    if files and all(_picked(files, split) for split in splits):
        return {split: _split_of_files(_picked(files, split), split, options) for split in splits}
    return _generic(path, splits, options, known=sorted(files))


def local_splits(path: Path, config: str | None) -> list[str]:
    """The names of all splits of a local file or folder; a single file, or a dataset without splits, is ``train``.

    Raises:
        DataError: if the configuration does not exist, or the files cannot be read.
    """
    if path.is_file():
        return [_ONLY_SPLIT]
    is_described = not is_saved(path) and bool(card_configs(path))
    if not is_described and config and (path / config).is_dir():
        path = path / config
    if is_saved(path):
        is_split = (path / "dataset_dict.json").is_file()
        return sorted(child.name for child in path.iterdir() if is_saved(child)) if is_split else [_ONLY_SPLIT]
    files = {} if is_described else _split_files(path)
    if files:
        return sorted({name.partition("-")[0] for name in files})
    import datasets

    with boundary(DataError, f"Loading {path}", hint=_CARD_HINT):
        return [str(name) for name in datasets.get_dataset_split_names(str(path), config if is_described else None)]


def card_configs(folder: Path) -> tuple[str, ...]:
    """The configurations that a folder's dataset card describes; empty if it describes none.

    Raises:
        DataError: if the card describes some and cannot be read.
    """
    for name in CARDS:
        file = folder / name
        if not file.is_file() or "configs:" not in file.read_text(encoding="utf-8", errors="replace"):
            continue
        from huggingface_hub import DatasetCard

        with boundary(DataError, f"Reading the dataset card {file}"):
            text = file.read_text(encoding="utf-8")
            # The standalone file is the front matter of a card alone.
            card = DatasetCard(text if name == CARDS[0] else f"---\n{text}\n---\n", ignore_metadata_errors=True)
            configs = card.data.get("configs")
        names = [
            str(item["config_name"]) for item in configs or () if isinstance(item, Mapping) and "config_name" in item
        ]
        if names:
            return tuple(names)
    return ()


def _splits_of_card(
    folder: Path, splits: Sequence[str], config: str | None, configs: Sequence[str], options: Mapping[str, Any]
) -> dict[str, datasets.Dataset]:
    """The splits of a configuration that the dataset card describes, by the rules of the hub."""
    import datasets

    if config is not None and config not in configs:
        raise _no_config(folder, config, configs)
    if config is None:
        with boundary(DataError, f"Loading {folder}", hint=_CARD_HINT):
            default = datasets.get_dataset_default_config_name(str(folder))
        if default is None:
            raise DataError(
                f"The dataset in {folder} has several configurations, and none is named.",
                hint=f"Name one of {', '.join(configs)} (dataset_name in a task YAML).",
            )
    return _loaded(folder, splits, options, _CARD_HINT, config)


def _check_config(folder: Path, config: str) -> None:
    """Refuse a configuration that a folder without a card cannot have.

    Raises:
        DataError: if nothing in the folder is of that configuration.
    """
    if not is_saved(folder):
        raise _no_config(folder, config, [child.name for child in sorted(folder.iterdir()) if _may_be_config(child)])
    saved = _saved_config(folder)
    if saved not in (None, _DEFAULT, config):
        raise _no_config(folder, config, [saved])


def _may_be_config(child: Path) -> bool:
    return child.is_dir() and (is_saved(child) or bool(_split_files(child)))


def _saved_config(folder: Path) -> str | None:
    """The configuration that ``save_to_disk`` has noted for a dataset or its first split."""
    file = next((file for file in (folder / _INFO, *sorted(folder.glob(f"*/{_INFO}"))) if file.is_file()), None)
    if file is None:
        return None
    with boundary(DataError, f"Reading {file}"):
        name = json.loads(file.read_text(encoding="utf-8")).get("config_name")
    return None if name is None else str(name)


def open_saved(folder: Path, splits: Sequence[str]) -> dict[str, datasets.Dataset]:
    """The named splits of a folder written by ``save_to_disk``; a dataset without splits serves as every split.

    Raises:
        DataError: if the folder was not written by ``save_to_disk``, or a split is missing.
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


def _picked(files: Mapping[str, list[Path]], split: str) -> list[Path]:
    """The files of a split by their names; none if no name says that it is of that split."""
    name = _name_of(split)
    if name in files:
        return _one_format(files[name])
    shards = [file for stem, members in files.items() if stem.startswith(f"{name}-") for file in members]
    return _one_format(shards) if shards else []


def only_file(folder: Path, split: str) -> Path | None:
    """The file that is a split, of a folder that has no configurations; ``None`` if it has several, or none."""
    picked = _picked(_split_files(folder), split)
    return picked[0] if len(picked) == 1 else None


def _one_format(files: list[Path]) -> list[Path]:
    """The files in the format of the first: a folder may hold the same split in several formats."""
    return [file for file in files if file.suffix == files[0].suffix]


def _split_of_files(files: list[Path], split: str, options: Mapping[str, Any]) -> datasets.Dataset:
    suffix = files[0].suffix
    builder = _BUILDER_OF.get(suffix)
    if builder is None:
        raise DataError(
            f"Cannot read {str(files[0])!r} as a dataset.", hint=f"Supported suffixes: {', '.join(_BUILDER_OF)}."
        )
    if suffix == ".tsv":
        options = {"sep": "\t", **options}
    if not any(file.stat().st_size for file in files):
        raise DataError(f"The dataset file {files[0]} is empty.", where=str(files[0]))
    named = [str(file) for file in files]
    try:
        with boundary(DataError, f"Reading {files[0]}"):
            whole = load_files(builder, data_files=named, split="train", **options)
    except DataError as error:
        explained = explain(error, builder, {"data_files": named}, (builder,), files[0].parent)
        if explained is None:  # raised from itself it would be its own cause
            raise
        raise explained from error
    return _sliced(whole, split)


def _generic(
    folder: Path, splits: Sequence[str], options: Mapping[str, Any], known: Sequence[str]
) -> dict[str, datasets.Dataset]:
    """The splits that ``datasets`` itself recognises: image folders, names of files that hold a split's name.

    Raises:
        DataError: if it cannot read the folder, or a split is missing; ``known`` are those that file names show.
    """
    hint = "It holds neither split files nor anything that datasets can read."
    try:
        return _loaded(folder, splits, options, hint)
    except DataError:
        if not known:
            raise
        missing = next(_name_of(split) for split in splits if _name_of(split) not in known)
        raise _no_split(folder, missing, known) from None


def _loaded(
    folder: Path, splits: Sequence[str], options: Mapping[str, Any], hint: str, config: str | None = None
) -> dict[str, datasets.Dataset]:
    with boundary(DataError, f"Loading {folder}", hint=hint):
        loaded = load_dataset(str(folder), config, **options)
        for split in splits:
            if _name_of(split) not in loaded:
                raise _no_split(folder, split, sorted(map(str, loaded)))
        return {split: _sliced(loaded[_name_of(split)], split) for split in splits}


def _sliced(dataset: datasets.Dataset, split: str) -> datasets.Dataset:
    """The slice that ``name[a:b]`` denotes, in rows or percent."""
    _, bracket, bounds_text = split.partition("[")
    if not bracket:
        return dataset
    n = len(dataset)
    start, _, stop = bounds_text.rstrip("]").partition(":")
    bounds = [_bound(text, n, default) for text, default in ((start, 0), (stop, n))]
    chosen = range(*slice(bounds[0], bounds[1]).indices(n))
    sliced = dataset.select(chosen)
    shift_origin(sliced, chosen.start)
    return sliced


def _bound(text: str, n: int, default: int) -> int:
    text = text.strip()
    if not text:
        return default
    return round(int(text[:-1]) * n / 100) if text.endswith("%") else int(text)


def _name_of(split: str) -> str:
    return split.partition("[")[0]


def _is_metadata(file: Path) -> bool:
    return file.name.startswith(("metadata.", "dataset_info", "dataset_dict", "state.", "."))


def _no_config(folder: Path, config: str, configs: Sequence[str]) -> DataError:
    return DataError(
        f"There is no configuration {config!r} in {folder}.",
        hint=f"It has: {', '.join(configs) or 'only the default one'}. A folder that holds one configuration alone is "
        f"named with --data ID:{config}=PATH.",
    )


def _no_split(folder: Path, name: str, names: Sequence[str]) -> DataError:
    return DataError(f"There is no split {name!r} in {folder}.", hint=f"It has: {', '.join(names) or 'none'}.")
