"""Sources of an adapter's records: files on this machine, a dataset of Hugging Face, or one of ModelScope.

Records are plain dictionaries; media in them is opened when it is looked at. Local files in place of ids and the folder
of prepared copies come from the guest context, because the signatures of authors' own ``load`` leave no room for them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.guest_context import guest_context, guest_context_with
from polymeter.core.names.installing import pip_install
from polymeter.core.text.phrases import first_of
from polymeter.data import Source, make_rows, open_splits
from polymeter.data.fetching.modelscope import Repository, fetch_files, files_of_configs, open_repository
from polymeter.data.opening.explaining import SourceError
from polymeter.data.opening.local import card_configs, is_saved
from polymeter.data.opening.mirrors import first_that_opens, is_missing
from polymeter.interop.evalscope.tasks import constants
from polymeter.interop.evalscope.tasks.constants import HubType

Records = list[dict[str, Any]]
Opened = dict[str, dict[str, Any]]
"""Datasets of the package ``datasets`` by subset and split."""
_ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".arrow")
_HUBS = (HubType.MODELSCOPE, HubType.HUGGINGFACE, HubType.LOCAL)
_MOST_NAMED = 12
_DEFAULT_SUBSET = "default"
_OWN = "modelscope"
"""The owner of a dataset of ModelScope that names none."""
_OF_THE_CLIENT = ("trust_remote_code", "download_mode", "token", "use_streaming")
"""Arguments of ModelScope's loader that are not about which rows there are."""


class NoSplitError(DataError, KeyError):
    """A split is missing from the data that an adapter loaded. Authors' code may expect the ``KeyError`` that it is.

    Args:
        benchmark: The benchmark.
        dataset: Its dataset's id or path.
        subset: The subset.
        split: The split that is missing.
        splits: The splits that were loaded.
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
    """Return the local files that replace an id in this run; else the id or path itself.

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
    mirrors: Sequence[str] = (),
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
        mirrors: Further ids of the same data, tried in order if the first one is missing.
        **kwargs: For the hub's own loader.

    Raises:
        DataError: if the dataset, a subset or a split is missing.
        PlanError: if the hub is unknown, or its package is not installed.
    """
    opened = find_on_hub(
        name,
        subsets,
        splits,
        work_dir,
        datasets_hub=datasets_hub,
        split_as_subset=split_as_subset,
        mirrors=mirrors,
        **kwargs,
    )
    return _all_records(opened, name)


def find_on_hub(
    name: str,
    subsets: Sequence[str],
    splits: Sequence[str],
    work_dir: str | None,
    *,
    datasets_hub: str = "",
    split_as_subset: bool = False,
    mirrors: Sequence[str] = (),
    **kwargs: Any,
) -> Opened:
    """The datasets of which ``open_hub`` reads the records; it has the arguments and the errors."""
    hub = _checked_hub(name, datasets_hub)

    def found(one: str) -> Opened:
        if hub == HubType.MODELSCOPE:
            return _open_modelscope(one, subsets, splits, work_dir, is_split=split_as_subset, kwargs=kwargs)
        return {subset: {split: find(one, subset, split) for split in splits} for subset in subsets}

    def find(one: str, subset: str, split: str) -> Any:
        config, part = (None, subset) if split_as_subset else (subset, split)
        context = guest_context()
        return open_splits(Source(one, config), [part], overrides=context.data, cache_dir=context.cache_dir)[part]

    return first_that_opens((name, *mirrors), found, pinned=guest_context().revisions, is_absent=is_absent)


def open_disk(
    path: str,
    subsets: Sequence[str],
    splits: Sequence[str],
    *,
    split_as_subset: bool = False,
    is_clone: bool = False,
) -> dict[str, dict[str, Records]]:
    """Records of local files by subset and split.

    Args:
        path: A file or folder.
        subsets: Configurations, or splits.
        splits: Splits of each.
        split_as_subset: A subset is a split, and every split of the adapter holds the same.
        is_clone: Whether it is a repository of a hub, also without a card.

    Raises:
        DataError: if a file is missing; all places where it was looked for are named.
    """
    opened = find_on_disk(path, subsets, splits, split_as_subset=split_as_subset, is_clone=is_clone)
    return _all_records(opened, str(Path(path).resolve()))


def find_on_disk(
    path: str,
    subsets: Sequence[str],
    splits: Sequence[str],
    *,
    split_as_subset: bool = False,
    is_clone: bool = False,
) -> Opened:
    """The datasets of which ``open_disk`` reads the records; it has the arguments and the errors."""
    root = Path(path).resolve()

    def find(subset: str, split: str) -> Any:
        if split_as_subset:
            return _split_of(root, subset, None)
        return _find(root, subset, split, is_only=len(subsets) == 1, is_clone=is_clone)

    return {subset: {split: find(subset, split) for split in splits} for subset in subsets}


def snapshot(
    name: str, files: Sequence[str], work_dir: str | None, datasets_hub: str, mirrors: Sequence[str] = ()
) -> str:
    """The folder of single files of a hub's dataset, or of the first of its mirrors that exists.

    Raises:
        DataError: if they cannot be fetched.
        PlanError: if the hub is unknown, or its package is not installed.
    """
    hub = _checked_hub(name, datasets_hub)
    return first_that_opens(
        (name, *mirrors),
        lambda one: _snapshot(one, files, work_dir, hub),
        pinned=guest_context().revisions,
        is_absent=is_absent,
    )


def is_absent(error: DataError) -> bool:
    """Return whether an error means that a dataset is missing; a hub that fails or refuses does not say so."""
    return (not isinstance(error, SourceError) or error.is_absent) and is_missing(error)


def _snapshot(name: str, files: Sequence[str], work_dir: str | None, hub: str) -> str:
    if hub == HubType.MODELSCOPE:
        repository = open_repository(_with_owner(name), _cache_dir(work_dir))
        return str(fetch_files(repository, repository.matching(files)))
    context = guest_context()
    with boundary(DataError, f"Fetching files of dataset {name}", hint=_local_instead(name)):
        from huggingface_hub import snapshot_download

        revision = context.revisions.get(name)
        folder = snapshot_download(name, repo_type="dataset", revision=revision, allow_patterns=list(files))
    if context.read_revisions is not None:
        context.read_revisions[name] = Path(folder).name  # it is named by its commit
    return str(folder)


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


def _find(root: Path, subset: str, split: str, *, is_only: bool, is_clone: bool) -> Any:
    """The most telling name wins: a subset's own folder or file, then a file of the split, which can only be meant
    where there are no other subsets.
    """
    if root.is_file():
        return _split_of(root, split, None)
    looked_for = [f"{subset}/{split}", f"{subset}_{split}"]
    configs = card_configs(root)
    if configs:
        return _split_of(root, split, None if subset == _DEFAULT_SUBSET and subset not in configs else subset)
    if (root / subset).is_dir():
        return _split_of(root, split, subset)
    own_file = _file_named(root, f"{subset}_{split}")
    if own_file is not None:
        return _split_of(own_file, split, None)
    # Without a card that names more, a clone has one configuration: several subsets cannot all be it.
    is_whole = is_only or subset == _DEFAULT_SUBSET
    if is_whole or is_saved(root):
        looked_for.append(split)
        if is_whole and any(_file_named(folder, split, or_shards=True) for folder in (root, root / "data")):
            return _split_of(root, split, None)
        if is_clone or is_saved(root) or (root / "README.md").is_file():
            return _split_of(root, split, None if is_whole else subset)
    endings = "|".join(ending[1:] for ending in _ENDINGS)
    raise DataError(
        f"The folder {root} has no records of subset {subset!r}, split {split!r}.",
        hint=f"Looked for {' and '.join(looked_for)} with the ending {endings}. It holds: {_first_names(root)}.",
    )


def _first_names(folder: Path) -> str:
    """The first names in a folder, for messages."""
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    return first_of(names, _MOST_NAMED) or "nothing"


def _file_named(folder: Path, stem: str, *, or_shards: bool = False) -> Path | None:
    if not folder.is_dir():
        return None
    exact = (folder / f"{stem}{ending}" for ending in _ENDINGS)
    file = next((file for file in exact if file.is_file()), None)
    if file is None and or_shards:
        file = next((file for file in sorted(folder.glob(f"{stem}-*")) if file.suffix in _ENDINGS), None)
    return file


def _split_of(path: Path, split: str, config: str | None, kwargs: Mapping[str, Any] | None = None) -> Any:
    return open_splits(Source(str(path), config, kwargs or {}), [split], cache_dir=guest_context().cache_dir)[split]


def _open_modelscope(
    name: str,
    subsets: Sequence[str],
    splits: Sequence[str],
    work_dir: str | None,
    *,
    is_split: bool,
    kwargs: Mapping[str, Any],
) -> Opened:
    """A dataset of ModelScope: its files are read like those of a clone of it."""
    options = {key: value for key, value in kwargs.items() if key not in _OF_THE_CLIENT and value is not None}
    version = options.pop("version", None)
    revisions = guest_context().revisions
    if version and _with_owner(name) not in revisions:
        revisions = {**revisions, _with_owner(name): str(version)}
    with guest_context_with(revisions=revisions):
        repository = open_repository(_with_owner(name), _cache_dir(work_dir))
    if repository.script:
        return _open_by_script(repository, subsets, splits, work_dir, is_split=is_split, kwargs=kwargs)
    files = repository.files if options else files_of_configs(repository, [""] if is_split else subsets)
    folder = fetch_files(repository, files)
    if not options:
        return find_on_disk(str(folder), subsets, splits, split_as_subset=is_split, is_clone=True)
    # What an author asks of the reader goes to it, as ModelScope's own loader hands it on.
    described = card_configs(folder)

    def find(subset: str, split: str) -> Any:
        config, part = (None, subset) if is_split else (subset if subset in described else None, split)
        return _split_of(folder, part, config, options)

    return {subset: {split: find(subset, split) for split in splits} for subset in subsets}


def _open_by_script(
    repository: Repository,
    subsets: Sequence[str],
    splits: Sequence[str],
    work_dir: str | None,
    *,
    is_split: bool,
    kwargs: Mapping[str, Any],
) -> Opened:
    """A dataset that brings a program to read it, which only ModelScope's own loader still runs."""
    name = repository.name
    try:
        from modelscope.msdatasets import MsDataset
    except ImportError as error:
        raise PlanError(
            f"Dataset {name} of ModelScope is read by a program of its own ({repository.script}), which runs in "
            "ModelScope's loader alone, and that is not installed.",
            hint=f"Install it with: {pip_install('modelscope[datasets]')}. {_local_instead(name)}",
        ) from error

    def find(subset: str, split: str) -> Any:
        named = {} if is_split else {"subset_name": subset}
        part = subset if is_split else split
        with boundary(DataError, f"Loading dataset {name} from ModelScope", hint=_local_instead(name)):
            loaded = MsDataset.load(
                dataset_name=name, split=part, cache_dir=work_dir, hub=HubType.MODELSCOPE, **named, **kwargs
            )
        # ModelScope wraps a dataset of the package ``datasets``, which is what reads fastest.
        return loaded.to_hf_dataset() if hasattr(loaded, "to_hf_dataset") else loaded

    return {subset: {split: find(subset, split) for split in splits} for subset in subsets}


def _with_owner(name: str) -> str:
    return name if "/" in name else f"{_OWN}/{name}"


def _cache_dir(work_dir: str | None) -> Path:
    return Path(work_dir or constants.DEFAULT_DATASET_CACHE_DIR)


def _all_records(opened: Opened, name: str) -> dict[str, dict[str, Records]]:
    return {
        subset: {split: _records(dataset, f"split {split!r} of {name}") for split, dataset in parts.items()}
        for subset, parts in opened.items()
    }


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


def _local_instead(name: str) -> str:
    return f"Local files take its place with --data {name}={os.curdir}/FOLDER."
