"""Opening a dataset by the name that its task gives it: a hub id, a local folder, a file format with data files, or a
folder written by ``save_to_disk``.

``--data`` replaces any of these with local files. Only the splits that a task uses are returned.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from polymeter.core.errors import DataError, boundary, no_folder
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.opened_files import not_noting
from polymeter.core.media.sources import is_elsewhere
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.addresses import UnresolvedError, public_addresses
from polymeter.data.fetching.fetch import is_offline_now
from polymeter.data.opening.cards import check_card
from polymeter.data.opening.explaining import SourceError, explain, missing_split
from polymeter.data.opening.local import is_saved, open_local, open_saved
from polymeter.data.opening.media_folders import folder_problem
from polymeter.data.opening.mirrors import first_that_opens, for_mirror, is_missing
from polymeter.data.opening.snapshot import fetch_media
from polymeter.data.repairing import load_files

if TYPE_CHECKING:
    import datasets

BUILDERS = frozenset(
    {
        "arrow",
        "audiofolder",
        "csv",
        "excel",
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
_COMMIT = re.compile("[0-9a-f]{40}")
_HUB_ID = re.compile(r"(?:[\w-][\w.-]*/)?[\w-][\w.-]*")
# Keys of task YAML that ``datasets.load_dataset`` does not take.
DROPPED = (
    "builder_script",
    "create_link",
    "force_download",
    "force_unzip",
    "trust_remote_code",
    "video",
    "From_YouTube",
)


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset under the name that its task gives it.

    Attributes:
        path: Hub id, folder, file, or name of a file format.
        name: Name of its configuration.
        kwargs: Arguments for ``datasets.load_dataset``, and the special keys of task YAML.
        directory: Folder of the task; relative data files are looked up there first.
        reading: Further settings of the reader of its files, which win over those in ``kwargs``.
        mirrors: Further hub ids of the same data.
    """

    path: str
    name: str | None = None
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    directory: Path = Path()
    reading: Mapping[str, Any] = field(default_factory=dict)
    mirrors: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Its own id, then those of its mirrors."""
        return (self.path, *self.mirrors)

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
        splits: Names of splits, optionally with a slice (``test[:100]``).
        overrides: Local files that replace ids: ``ID`` or ``ID:CONFIG`` → path.
        cache_dir: Where prepared copies of local files are kept.

    Raises:
        DataError: if the dataset or a split is missing, unreadable or empty.
    """
    replacement, is_of_config = local_place(source, overrides or {})
    prepared = cache_dir / "datasets" if cache_dir else None
    with _quiet(), not_noting():  # rows have a fingerprint of their own
        if replacement is not None:
            check_card(replacement)
            opened = _open_instead(replacement, source, splits, is_of_config, prepared)
        else:
            opened = first_that_opens(
                source.ids,
                lambda one: _open(_revised(source, one), splits, prepared),
                pinned=guest_context().revisions,
                is_absent=lambda error: isinstance(error, SourceError) and error.is_absent and is_missing(error),
            )
    _release_buffers()
    for split, dataset in opened.items():
        if len(dataset) == 0:
            raise SourceError(f"Split {split!r} of dataset {source} is empty.", key="split")
    return opened


def _revised(source: Source, path: str) -> Source:
    """Return a dataset under one of its ids, at the revision of the run."""
    kwargs = dict(source.kwargs) if path == source.path else for_mirror(source.kwargs)
    revision = guest_context().revisions.get(path)
    return replace(source, path=path, kwargs=kwargs if revision is None else {**kwargs, "revision": revision})


def _open(source: Source, splits: Sequence[str], cache_dir: Path | None) -> dict[str, datasets.Dataset]:
    kwargs = dict(source.kwargs)
    local = _existing(source.path, source.directory)
    if local is not None and source.path not in BUILDERS:
        check_card(local)
    if kwargs.pop("load_from_disk", False):
        if local is None or not local.is_dir():
            raise DataError(
                no_folder(source.path),
                hint="load_from_disk needs a folder written by save_to_disk().",
            )
        return open_saved(local, splits)
    if source.path not in BUILDERS and local is not None:
        if is_saved(local) or not (set(kwargs) - {"token", *DROPPED}):
            return open_local(local, splits, config=source.name, cache_dir=cache_dir, reading=source.reading)
        return _load(str(local), source, splits, cleaned(kwargs, source.directory), cache_dir)
    is_hub = source.path not in BUILDERS
    if is_hub and (kwargs.get("video") or kwargs.get("From_YouTube")):
        fetch_media(source.path, kwargs)
    if kwargs.get("video") or kwargs.get("From_YouTube"):
        # Here it names the folder of the media, not the cache of ``datasets``.
        kwargs.pop("cache_dir", None)
    if is_hub:
        return _open_hub(source, splits, cleaned(kwargs, source.directory), cache_dir)
    return _load(source.path, source, splits, cleaned(kwargs, source.directory), cache_dir)


def _open_hub(
    source: Source, splits: Sequence[str], kwargs: dict[str, Any], cache_dir: Path | None
) -> dict[str, datasets.Dataset]:
    """The splits of a dataset of the hub: of the commit that is wanted, also where ``datasets``, without a network,
    would take the last one that it has prepared, or finds its way only to whole datasets.
    """
    wanted = str(kwargs.get("revision") or "")
    try:
        opened = _load(source.path, source, splits, dict(kwargs), None)
        commit = commit_of(opened.values())
        if not _COMMIT.fullmatch(wanted) or commit in ("", wanted):
            _note_commit(source, commit)
            return opened
        failure: DataError = SourceError(
            f"This machine has commit {commit} of dataset {source}, not {wanted}.",
            key="dataset_path",
            hint="Fetch it while there is a network: polymeter fetch.",
        )
    except DataError as error:
        if not is_offline_now():
            raise
        failure = error
    snapshot = snapshot_here(source.path, wanted)
    if snapshot is None:
        raise failure
    kept = {name: value for name, value in kwargs.items() if name not in ("revision", "token", "download_config")}
    opened = _open_instead(snapshot, replace(source, kwargs=kept), splits, False, cache_dir)
    _note_commit(source, snapshot.name)
    return opened


def commit_of(opened: Iterable[datasets.Dataset]) -> str:
    """The commit of a hub's dataset, as the folder of its prepared files is called; empty if it is not known."""
    folders = (Path(file["filename"]).parent.name for dataset in opened for file in dataset.cache_files)
    return next((folder for folder in folders if _COMMIT.fullmatch(folder)), "")


def _note_commit(source: Source, commit: str) -> None:
    """Pin a commit by having read it: the manifest keeps it, and a resumed run asks for it."""
    read = guest_context().read_revisions
    if commit and read is not None:
        read[source.path] = commit


def snapshot_here(path: str, revision: str = "") -> Path | None:
    """The folder with the files of a hub's dataset that are on this machine; ``None`` if there are none.

    Args:
        path: Its id.
        revision: Commit, branch or tag; empty: the main branch, as it was when it was last fetched.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    repository = Path(HF_HUB_CACHE) / f"datasets--{path.replace('/', '--')}"
    commit = revision or "main"
    if not _COMMIT.fullmatch(commit):
        reference = repository / "refs" / commit
        commit = reference.read_text().strip() if reference.is_file() else ""
    folder = repository / "snapshots" / commit
    return folder if commit and folder.is_dir() else None


def _open_instead(
    place: Path, source: Source, splits: Sequence[str], is_of_config: bool, cache_dir: Path | None
) -> dict[str, datasets.Dataset]:
    """The splits of a dataset from a local place that stands for it. Files or a folder within the repository that the
    task names are taken where the place has them.
    """
    named = {name: source.kwargs[name] for name in ("data_files", "data_dir") if source.kwargs.get(name)}
    if place.is_dir() and named and all(_is_within(place, value) for value in named.values()):
        return _load(str(place.resolve()), source, splits, named, cache_dir)
    return open_local(
        place, splits, config=source.name, is_of_config=is_of_config, cache_dir=cache_dir, reading=source.reading
    )


def _is_within(folder: Path, names: Any) -> bool:
    """Return whether a folder has all files or folders of some relative names or patterns."""
    if isinstance(names, Mapping):
        return all(_is_within(folder, item) for item in names.values())
    if isinstance(names, (list, tuple)):
        return all(_is_within(folder, item) for item in names)
    name = str(names)
    return not name.startswith("/") and "://" not in name and any(True for _ in folder.glob(name))


def _load(
    path: str, source: Source, splits: Sequence[str], kwargs: dict[str, Any], cache_dir: Path | None
) -> dict[str, datasets.Dataset]:
    import datasets

    if cache_dir is not None:
        kwargs.setdefault("cache_dir", str(cache_dir))
    kwargs |= source.reading
    is_files = path in BUILDERS
    action = f"Loading the {path} files {_files(kwargs)} " if is_files else f"Loading dataset {source}"
    hint = (
        "Check that the files exist and have rows." if is_files else f"Use local files instead: --data {source}=PATH."
    )
    try:
        with boundary(DataError, action.strip(), hint=hint):
            loaded = load_files(path, source.name, **kwargs)
            if isinstance(loaded, datasets.Dataset):
                return dict.fromkeys(splits, loaded)
            opened = {}
            for split in splits:
                if split in loaded:
                    opened[split] = loaded[split]
                elif any(mark in split for mark in "[+"):
                    opened[split] = load_files(path, source.name, split=split, **kwargs)
                else:
                    raise missing_split(str(source), split, loaded)
            return opened
    except DataError as error:
        is_explained = isinstance(error, SourceError) and error.key == "split"  # all could be read
        in_folder = None if is_explained else folder_problem(error, path, kwargs)
        explained = in_folder or explain(error, path, kwargs, BUILDERS, source.directory)
        if explained is None:  # raised from itself it would be its own cause
            raise
        raise explained from error


def _files(kwargs: Mapping[str, Any]) -> str:
    """The files that ``data_files`` or ``data_dir`` names, for messages."""
    files = kwargs.get("data_files") or kwargs.get("data_dir") or ""
    if isinstance(files, Mapping):
        files = list(files.values())
    return ", ".join(str(item) for item in files) if isinstance(files, (list, tuple)) else str(files)


def cleaned(kwargs: dict[str, Any], directory: Path) -> dict[str, Any]:
    """The arguments for ``load_dataset``: special keys resolved, paths of files beside the task made absolute."""
    import datasets

    for key in DROPPED:
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
        _check_address(files)
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


def _check_address(file: str) -> None:
    """Refuse the URL of a data file whose host is not public. ``datasets`` resolves it again when it fetches it.

    Raises:
        DataError: if it is not public, or holds a user name.
    """
    for part in file.split("::"):
        if not is_elsewhere(part):
            continue
        place, shown = urlsplit(part), hide_secrets(part)
        if "@" in place.netloc:
            raise DataError(f"{shown} holds a user name: addresses in data are fetched without credentials.")
        with suppress(UnresolvedError):  # the attempt to fetch it says so too
            public_addresses(place.hostname or "", place.port or 443, shown=shown)


def _existing(path: str, directory: Path) -> Path | None:
    """The path if it exists beside the task or from the working directory, else ``None``: it may be a hub id.

    Raises:
        DataError: if it does not exist but looks like a path.
    """
    for candidate in (directory / path, Path(os.path.expanduser(path))):
        if candidate.exists():
            return candidate
    if path.startswith(("/", "./", "../", "~")):
        raise SourceError(
            f"The dataset folder {path!r} does not exist.",
            key="dataset_path",
            hint=f"It is looked for in {directory} and in the working directory.",
        )
    return None


def local_place(source: Source, overrides: Mapping[str, str]) -> tuple[Path | None, bool]:
    """The local place that stands for a dataset, if there is one, and whether it was named for its configuration alone.

    Raises:
        DataError: if the place does not exist.
    """
    of_config = next((found for one in source.ids if (found := overrides.get(f"{one}:{source.name}"))), None)
    path = of_config or next((found for one in source.ids if (found := overrides.get(one))), None)
    if path is None:
        return None, False
    replacement = Path(os.path.expanduser(path))
    if not replacement.exists():
        raise DataError(
            f"There is no file or folder {path!r}.",
            where=f"--data {source}={path}",
            hint="Check the path after the '='.",
        )
    return replacement, bool(of_config)


def is_of_hub(
    path: str,
    directory: Path,
    overrides: Mapping[str, str],
    mirrors: Sequence[str] = (),
    cache_dir: Path | None = None,
) -> bool:
    """Return whether a dataset lies on the hub alone, as far as its name shows: no local place stands for it or for a
    mirror of it, and no cache of this machine holds one of them.

    Args:
        path: The name that its task gives it.
        directory: Folder of the task.
        overrides: Local files that replace ids.
        mirrors: Further hub ids of the same data.
        cache_dir: Polymeter's own cache; see ``is_cached``.
    """
    ids = (path, *mirrors)
    if any(name.partition(":")[0] in ids for name in overrides):
        return False
    return is_hub_id(path, directory) and not any(is_cached(one, cache_dir) for one in ids)


def is_hub_id(path: str, directory: Path) -> bool:
    """Return whether the name that a task gives a dataset means one of the hub: no file format, and nothing on this
    machine.

    Args:
        path: The name.
        directory: Folder of the task.
    """
    if path in BUILDERS or not _HUB_ID.fullmatch(path):
        return False
    return not any(place.exists() for place in (directory / path, Path(path)))


def is_cached(path: str, cache_dir: Path | None = None) -> bool:
    """Return whether a cache of this machine holds a dataset of a hub, whole or in part.

    Args:
        path: Its id.
        cache_dir: Polymeter's own cache, which keeps datasets of ModelScope.
    """
    home = Path(os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser())
    caches = {
        Path(os.environ.get("HF_HUB_CACHE") or home / "hub") / f"datasets--{path.replace('/', '--')}",
        Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets") / path.replace("/", "___").lower(),
        Path(os.environ.get("MODELSCOPE_CACHE") or Path("~/.cache/modelscope/hub").expanduser()) / "datasets" / path,
    }
    if cache_dir is not None:
        caches.add(cache_dir / "modelscope" / "datasets" / path.replace("/", "--"))
    return any(place.exists() for place in caches)


def _release_buffers() -> None:
    """Give back what Arrow keeps of the buffers through which it read files: up to 100 MB that nothing uses again,
    since the rows are memory-mapped from here on.
    """
    import pyarrow

    pyarrow.default_memory_pool().release_unused()


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn off the progress bars of ``datasets``, since Polymeter has its own, and what its readers log of files that
    they cannot read, with a traceback: it is raised too.
    """
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    was_disabled = are_progress_bars_disabled()
    disable_progress_bars()
    readers = logging.getLogger("datasets.packaged_modules")
    level = readers.level
    readers.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        readers.setLevel(level)
        if not was_disabled:
            enable_progress_bars()
