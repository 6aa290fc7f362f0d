"""Where an adapter's records come from: files on this machine, a dataset of Hugging Face, or one of ModelScope.

Records are plain dictionaries; media in them is opened when it is looked at. Local files in place of ids and the folder
of prepared copies come from the guest context, because the signatures of authors' own ``load`` leave no room for them.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.guest_context import guest_context
from polymeter.core.registry import missing_package
from polymeter.data import Source, make_rows, open_splits
from polymeter.data.local import card_configs, is_saved
from polymeter.interop.evalscope.tasks.constants import HubType

Records = list[dict[str, Any]]
_ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
_HUBS = (HubType.MODELSCOPE, HubType.HUGGINGFACE, HubType.LOCAL)
_MOST_NAMED = 12
_DEFAULT_SUBSET = "default"


class NoSplitError(DataError, KeyError):
    """What an adapter loaded lacks a split. Authors' code may expect the ``KeyError`` that it is.

    Args:
        benchmark: The benchmark.
        dataset: Its dataset's id or path.
        subset: The subset.
        split: The split that is missing.
        splits: Those that are there.
    """

    def __init__(self, benchmark: str, dataset: str, subset: str, split: str, splits: Iterable[Any]) -> None:
        content = f" {dataset} holds: {_first_names(Path(dataset))}." if Path(dataset).is_dir() else ""
        loaded = ", ".join(map(str, splits)) or "none"
        super().__init__(
            f"Benchmark {benchmark!r} has loaded no split {split!r} of subset {subset!r}.",
            where=dataset,
            hint=f"Splits that were loaded: {loaded}.{content}",
        )


def local_place(dataset: str) -> str:
    """The local files that the run puts in the place of an id; else the id or path itself.

    Raises:
        DataError: if there are no such files.
    """
    replacement = guest_context().data.get(dataset)
    if replacement is None:
        return dataset
    path = Path(replacement).expanduser()
    if not path.exists():
        raise DataError(f"--data {dataset}={replacement}: there is no such file or folder.")
    return str(path)


def open_hub(
    name: str,
    subsets: Sequence[str],
    splits: Sequence[str],
    work_dir: str | None,
    *,
    datasets_hub: str = "",
    split_as_subset: bool = False,
    **kwargs: Any,
) -> dict[str, dict[str, Records]]:
    """Records of a hub's dataset by subset and split.

    Args:
        name: Its id.
        subsets: Configurations, or splits.
        splits: Splits of each.
        work_dir: Where ModelScope keeps copies.
        datasets_hub: ``modelscope`` or ``huggingface``; empty: ModelScope.
        split_as_subset: A subset is a split, and every split of the adapter holds the same.
        **kwargs: For the hub's own loader.

    Raises:
        DataError: if the dataset, a subset or a split is missing.
        PlanError: if the hub is unknown, or its package is not installed.
    """
    hub = _checked_hub(name, datasets_hub)

    def read(subset: str, split: str) -> Records:
        config, part = (None, subset) if split_as_subset else (subset, split)
        if hub == HubType.HUGGINGFACE:
            return _from_hugging_face(name, config, part)
        return _from_modelscope(name, config, part, work_dir, kwargs)

    return {subset: {split: read(subset, split) for split in splits} for subset in subsets}


def open_disk(
    path: str, subsets: Sequence[str], splits: Sequence[str], *, split_as_subset: bool = False
) -> dict[str, dict[str, Records]]:
    """Records of local files by subset and split.

    Raises:
        DataError: if a file is missing; all places where it was looked for are named.
    """
    root = Path(path).resolve()

    def read(subset: str, split: str) -> Records:
        if split_as_subset:
            return _read(root, subset, None)
        return _find_and_read(root, subset, split, is_only=len(subsets) == 1)

    return {subset: {split: read(subset, split) for split in splits} for subset in subsets}


def snapshot(name: str, files: Sequence[str], work_dir: str | None, datasets_hub: str) -> str:
    """The folder of single files of a hub's dataset.

    Raises:
        DataError: if they cannot be fetched.
        PlanError: if the hub is unknown, or its package is not installed.
    """
    hub = _checked_hub(name, datasets_hub)
    with boundary(DataError, f"Fetching files of dataset {name}", hint=_local_instead(name)):
        if hub == HubType.HUGGINGFACE:
            from huggingface_hub import snapshot_download

            return str(snapshot_download(name, repo_type="dataset", allow_patterns=list(files)))
        _require_modelscope(name)
        from modelscope import dataset_snapshot_download

        return str(dataset_snapshot_download(name, cache_dir=work_dir, allow_file_pattern=list(files)))


def load_file_with_extension(file_path: str | list[str]) -> Records:
    """Records of ``.json`` (a list), ``.jsonl`` and ``.txt`` files (one record ``{"text": …}``), one after another.

    Raises:
        FileNotFoundError: if there is no such file.
    """
    records: Records = []
    for path in [file_path] if isinstance(file_path, str) else file_path:
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"There is no file {path}.")
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".json":
            records.extend(json.loads(text))
        elif file.suffix == ".jsonl":
            records.extend(json.loads(line) for line in text.split("\n") if line.strip())
        elif file.suffix == ".txt":
            records.append({"text": text})
    return records


def fingerprint_of(records: Sequence[Any]) -> str:
    """Identity of the content of some records."""
    rows = [record if isinstance(record, dict) else {"": record} for record in records]
    return make_rows(rows, what="the records").fingerprint


def _find_and_read(root: Path, subset: str, split: str, *, is_only: bool) -> Records:
    """The most telling name wins: a subset's own folder or file, then a file of the split, which can only be meant
    where there are no other subsets.
    """
    if root.is_file():
        return _read(root, split, None)
    looked_for = [f"{subset}/{split}", f"{subset}_{split}"]
    configs = card_configs(root)
    if configs:
        return _read(root, split, None if subset == _DEFAULT_SUBSET and subset not in configs else subset)
    if (root / subset).is_dir():
        return _read(root, split, subset)
    own_file = _file_named(root, f"{subset}_{split}")
    if own_file is not None:
        return _read(own_file, split, None)
    # Without a card that says otherwise, a clone has one configuration: several subsets cannot all be it.
    is_whole = is_only or subset == _DEFAULT_SUBSET
    if is_whole or is_saved(root):
        looked_for.append(split)
        if is_whole and any(_file_named(folder, split, or_shards=True) for folder in (root, root / "data")):
            return _read(root, split, None)
        if is_saved(root) or (root / "README.md").is_file():
            return _read(root, split, None if is_whole else subset)
    endings = "|".join(ending[1:] for ending in _ENDINGS)
    raise DataError(
        f"The folder {root} has no records of subset {subset!r}, split {split!r}.",
        hint=f"Looked for {' and '.join(looked_for)} with the ending {endings}. It holds: {_first_names(root)}.",
    )


def _first_names(folder: Path) -> str:
    """The first names in a folder, for messages."""
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "") or "nothing"


def _file_named(folder: Path, stem: str, *, or_shards: bool = False) -> Path | None:
    if not folder.is_dir():
        return None
    exact = (folder / f"{stem}{ending}" for ending in _ENDINGS)
    file = next((file for file in exact if file.is_file()), None)
    if file is None and or_shards:
        file = next((file for file in sorted(folder.glob(f"{stem}-*")) if file.suffix in _ENDINGS), None)
    return file


def _read(path: Path, split: str, config: str | None) -> Records:
    opened = open_splits(Source(str(path), config), [split], cache_dir=guest_context().cache_dir)
    return _records(opened[split], f"split {split!r} of {path}")


def _from_hugging_face(name: str, config: str | None, split: str) -> Records:
    context = guest_context()
    opened = open_splits(Source(name, config), [split], overrides=context.data, cache_dir=context.cache_dir)
    return _records(opened[split], f"split {split!r} of {name}")


def _from_modelscope(
    name: str, config: str | None, split: str, work_dir: str | None, kwargs: Mapping[str, Any]
) -> Records:
    _require_modelscope(name)
    with boundary(DataError, f"Loading dataset {name} from ModelScope", hint=_local_instead(name)):
        from modelscope.msdatasets import MsDataset

        named = {} if config is None else {"subset_name": config}
        loaded = MsDataset.load(
            dataset_name=name, split=split, cache_dir=work_dir, hub=HubType.MODELSCOPE, **named, **kwargs
        )
        # ModelScope wraps a dataset of the package ``datasets``, which is what reads fastest.
        return _records(getattr(loaded, "_hf_ds", loaded), f"split {split!r} of {name}")


def _records(dataset: Any, what: str) -> Records:
    rows = make_rows(dataset, what=what, cache_dir=guest_context().cache_dir)
    return [rows.full_doc(i) for i in range(len(rows))] if rows.media else rows.docs(0, len(rows))


def _checked_hub(name: str, datasets_hub: str) -> str:
    if name.startswith(("/", "./", "../", "~")):
        raise DataError(
            f"The dataset folder {name!r} does not exist.",
            hint=f"It is looked for beside the adapter and in the working directory. {_local_instead(name)}",
        )
    hub = str(datasets_hub or HubType.MODELSCOPE).lower()
    if hub not in _HUBS:
        hint = did_you_mean(hub, _HUBS) or f"Known: {', '.join(_HUBS)}."
        raise PlanError(f"There is no dataset hub {hub!r}.", where="dataset_hub", hint=hint)
    if hub == HubType.LOCAL:
        hint = _local_instead(name)
        raise DataError(f"There is no local file or folder {name!r}.", where="dataset_hub local", hint=hint)
    return hub


def _require_modelscope(name: str) -> None:
    try:
        importlib.import_module("modelscope")
    except ModuleNotFoundError as error:
        missing = missing_package("modelscope", f"dataset {name!r}", "modelscope")
        hint = f"{missing.hint}, or name another dataset_hub. {_local_instead(name)}"
        raise PlanError(missing.what, hint=hint) from error


def _local_instead(name: str) -> str:
    return f"Local files take its place with --data {name}={os.curdir}/FOLDER."
