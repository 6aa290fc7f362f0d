"""Datasets of a hub, and files of theirs. Local files in place of an id (``--data ID=PATH``) come before any hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, boundary, did_you_mean
from polymeter.core.guest_context import guest_context, guest_context_with
from polymeter.data.fetching.modelscope import fetch_files, open_repository
from polymeter.interop.evalscope.tasks import datasets as sources
from polymeter.interop.evalscope.v1 import constants
from polymeter.interop.evalscope.v1.constants import HubType

Patterns = str | Sequence[str] | None
_HUBS = (HubType.MODELSCOPE, HubType.HUGGINGFACE, HubType.LOCAL)
_DEFAULT_SUBSET = "default"


@dataclass(frozen=True)
class DatasetSource:
    """A dataset under the ids of several hubs.

    Attributes:
        dataset_id: Its id, or a local path.
        dataset_revision: The revision.
        hf_dataset_id: Its id at Hugging Face, where it has another one.
        hf_dataset_revision: The revision there.
        hf_file_paths: Places of files there, by those at the other hub.
    """

    dataset_id: str
    dataset_revision: str | None = None
    hf_dataset_id: str | None = None
    hf_dataset_revision: str | None = None
    hf_file_paths: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_local(self) -> bool:
        """True if the id is the path of an existing file or folder."""
        return Path(self.dataset_id).exists()

    def resolve_dataset_id(self, data_source: str | None) -> str:
        """The id at a hub; a local path stays what it is."""
        is_other = data_source == HubType.HUGGINGFACE and not self.is_local
        return self.hf_dataset_id if is_other and self.hf_dataset_id else self.dataset_id

    def resolve_revision(self, data_source: str | None) -> str | None:
        """The revision at a hub."""
        is_other = data_source == HubType.HUGGINGFACE
        return self.hf_dataset_revision if is_other and self.hf_dataset_revision else self.dataset_revision

    def resolve_file_path(self, data_source: str | None, file_path: str) -> str:
        """The place of a file at a hub."""
        return self.hf_file_paths.get(file_path, file_path) if data_source == HubType.HUGGINGFACE else file_path


@dataclass(frozen=True)
class DatasetHub:
    """A dataset of a hub.

    Attributes:
        data_id_or_path: Its id, or a local path.
        data_source: The hub; default: ModelScope.
        revision: The revision.
        trust_remote: Kept for authors: no program of a dataset runs.
        force_redownload: Kept for authors: files are compared with the hub's, so that they need no second download.
        cache_dir: Where ModelScope keeps copies.
    """

    data_id_or_path: str
    data_source: str | None = HubType.MODELSCOPE
    revision: str | None = None
    trust_remote: bool = True
    force_redownload: bool = False
    cache_dir: str | None = None

    def load(self, split: str, subset: str = _DEFAULT_SUBSET, **kwargs: Any) -> Any:
        """A split of a subset, as a dataset of the package ``datasets``.

        Raises:
            DataError: if it is missing or cannot be read.
            PlanError: if the hub is unknown, or its package is not installed.
        """
        return load_dataset_from_hub(
            self.data_id_or_path, split, subset, self.data_source, self.revision, cache_dir=self.cache_dir, **kwargs
        )

    def download_file(self, file_path: str) -> str:
        """The local path of a file of the dataset.

        Raises:
            DataError: if there is none.
        """
        return download_dataset_file(
            self.data_id_or_path, file_path, self.data_source, self.revision, cache_dir=self.cache_dir
        )

    def download_snapshot(self, allow_file_pattern: Patterns = None, ignore_file_pattern: Patterns = None) -> str:
        """The local folder of the dataset's files.

        Args:
            allow_file_pattern: Patterns of the files that are wanted; default: all.
            ignore_file_pattern: Patterns of those that are not.

        Raises:
            DataError: if they cannot be fetched.
        """
        return download_dataset_snapshot(
            self.data_id_or_path,
            self.data_source,
            self.revision,
            cache_dir=self.cache_dir,
            allow_file_pattern=allow_file_pattern,
            ignore_file_pattern=ignore_file_pattern,
        )


def load_dataset_from_hub(
    data_id_or_path: str,
    split: str,
    subset: str = _DEFAULT_SUBSET,
    data_source: str | None = HubType.MODELSCOPE,
    version: str | None = None,
    trust_remote: bool = True,
    force_redownload: bool = False,
    cache_dir: str | None = None,
    **kwargs: Any,
) -> Any:
    """A split of a subset, as a dataset of the package ``datasets``; see ``DatasetHub``.

    Raises:
        DataError: if it is missing or cannot be read.
        PlanError: if the hub is unknown, or its package is not installed.
    """
    place, hub = _resolved(data_id_or_path, data_source)
    if hub == HubType.LOCAL:
        return sources.find_on_disk(place, [subset], [split], is_clone=True)[subset][split]
    name: Any = subset
    if hub == HubType.HUGGINGFACE and subset == _DEFAULT_SUBSET:
        name = None  # the configuration that the hub takes by default
    with _at_revision(place, version):
        found = sources.find_on_hub(place, [name], [split], cache_dir, datasets_hub=hub, **kwargs)
    return found[name][split]


def download_dataset_file(
    data_id_or_path: str,
    file_path: str,
    data_source: str | None = HubType.MODELSCOPE,
    revision: str | None = None,
    force_redownload: bool = False,
    cache_dir: str | None = None,
) -> str:
    """The local path of a file of a dataset.

    Raises:
        ValueError: if the file is outside of the dataset's folder.
        FileNotFoundError: if a local dataset has no such file.
        DataError: if it cannot be fetched.
    """
    place, hub = _resolved(data_id_or_path, data_source)
    root = Path(place if hub == HubType.LOCAL else "/").resolve()
    file = (root / file_path).resolve()
    if not file.is_relative_to(root):
        raise ValueError(f"The file {file_path!r} is outside of the dataset {data_id_or_path}.")
    if hub != HubType.LOCAL:
        folder = download_dataset_snapshot(place, hub, revision, cache_dir=cache_dir, allow_file_pattern=file_path)
        file = Path(folder) / file_path
    if not file.exists():
        raise FileNotFoundError(f"Dataset {data_id_or_path} has no file {file_path!r}.")
    return str(file)


def download_dataset_snapshot(
    data_id_or_path: str,
    data_source: str | None = HubType.MODELSCOPE,
    revision: str | None = None,
    force_redownload: bool = False,
    cache_dir: str | None = None,
    allow_file_pattern: Patterns = None,
    ignore_file_pattern: Patterns = None,
) -> str:
    """The local folder of a dataset's files.

    Raises:
        FileNotFoundError: if a local dataset is not a folder.
        DataError: if they cannot be fetched.
    """
    place, hub = _resolved(data_id_or_path, data_source)
    if hub == HubType.LOCAL:
        if not Path(place).is_dir():
            raise FileNotFoundError(f"The dataset folder {data_id_or_path} does not exist.")
        return str(Path(place).resolve())
    wanted, unwanted = _listed(allow_file_pattern), _listed(ignore_file_pattern)
    with _at_revision(place, revision):
        if hub == HubType.HUGGINGFACE:
            return _huggingface_snapshot(place, wanted, unwanted)
        folder = Path(cache_dir or constants.DEFAULT_DATASET_CACHE_DIR)
        repository = open_repository(place if "/" in place else f"modelscope/{place}", folder)
        files = repository.matching(wanted) if wanted else repository.files
        dropped = {*repository.matching(unwanted)} if unwanted else set()
        return str(fetch_files(repository, [file for file in files if file not in dropped]))


def _resolved(data_id_or_path: str, data_source: str | None) -> tuple[str, str]:
    """Return the place of a dataset, and the hub that it is at: ``local`` for what is on this machine."""
    place = sources.local_place(str(data_id_or_path))
    hub = str(data_source or HubType.MODELSCOPE).lower()
    if Path(place).expanduser().exists():
        return str(Path(place).expanduser()), HubType.LOCAL
    if hub not in _HUBS:
        hint = did_you_mean(hub, _HUBS) or f"Known: {', '.join(_HUBS)}."
        raise PlanError(f"There is no dataset hub {hub!r}.", where="dataset_hub", hint=hint)
    if hub == HubType.LOCAL:
        raise DataError(f"The dataset {data_id_or_path} is not on this machine.", where="dataset_hub local")
    return place, hub


def _at_revision(name: str, revision: str | None) -> Any:
    """Read a dataset at an author's revision, unless the run names one."""
    revisions = guest_context().revisions
    wanted = {} if revision is None or name in revisions else {name: str(revision)}
    return guest_context_with(revisions={**revisions, **wanted})


def _huggingface_snapshot(name: str, wanted: Sequence[str], unwanted: Sequence[str]) -> str:
    context = guest_context()
    with boundary(DataError, f"Fetching files of dataset {name}"):
        from huggingface_hub import snapshot_download

        folder = snapshot_download(
            name,
            repo_type="dataset",
            revision=context.revisions.get(name),
            allow_patterns=list(wanted) or None,
            ignore_patterns=list(unwanted) or None,
        )
    if context.read_revisions is not None:
        context.read_revisions[name] = Path(folder).name  # it is named by its commit
    return str(folder)


def _listed(patterns: Patterns) -> list[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns or ())
