"""Datasets of ModelScope: their files, the sizes, and the local folder that they are read from.

The hub is asked through its own client (``modelscope-hub``). It resumes downloads that broke off and compares arrived
files with the size and the SHA-256 that the hub states. ``MODELSCOPE_ENDPOINT`` names a mirror,
``MODELSCOPE_API_TOKEN`` (or ``ms-hub login``) who asks.

Below ``datasets/OWNER--NAME`` each commit has a folder of its own in ``snapshots``, which holds whole files and no
others: incomplete files lie in ``arriving``. ``listings`` holds the files of a commit, ``revisions`` the commit that a
branch was at when all requested files had arrived. So a folder never mixes two commits, and if a download breaks off,
complete files stay usable without a network.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

from polymeter.core.errors import DataError, PlanError, boundary
from polymeter.core.guest_context import guest_context
from polymeter.core.identity import fingerprint
from polymeter.core.machine.bars import without_bars
from polymeter.core.machine.files import replacing
from polymeter.core.names.registry import missing_package
from polymeter.data.fetching.fetch import is_offline_now
from polymeter.data.fetching.hub_files import HubFile
from polymeter.data.opening.local import CARDS, card_configs

log = logging.getLogger(__name__)

_KIND = "dataset"
_NEWEST = "master"
"""ModelScope's name of the branch that is read unless another is wanted."""
_COMMIT = re.compile("[0-9a-f]{40}")
_QUERY = re.compile(r"\?[^\s'\")]+")
_SAVED = ("dataset_dict.json", "state.json")
"""Files of folders that ``save_to_disk`` has written."""
_MOST_PLACEHOLDERS = 20_000


@dataclass(frozen=True, slots=True)
class Repository:
    """A dataset of ModelScope at one revision.

    Attributes:
        name: Its id.
        commit: The commit; empty if it is not known.
        revision: What was asked for: a commit, a branch or a tag.
        cache_dir: Below this folder lies what is kept of ModelScope.
        folder: Where its files lie on this machine.
        files: All its files.
    """

    name: str
    commit: str
    revision: str
    cache_dir: Path
    folder: Path
    files: tuple[HubFile, ...]

    @property
    def script(self) -> str:
        """The program in Python that reads this dataset; empty if its files are read directly."""
        own = f"{self.name.rpartition('/')[2]}.py"
        return own if any(file.path == own for file in self.files) else ""

    def matching(self, patterns: Sequence[str]) -> list[HubFile]:
        """The files of some names, patterns of names, or folders (which end in ``/``)."""
        wanted = [f"{pattern}*" if pattern.endswith("/") else pattern for pattern in patterns]
        return [file for file in self.files if any(fnmatchcase(file.path, pattern) for pattern in wanted)]


def open_repository(name: str, cache_dir: Path) -> Repository:
    """A dataset at the revision of the context, else the newest. Without a network, as it was when it was last
    fetched.

    Args:
        name: Its id.
        cache_dir: Below this folder lies what is kept of ModelScope.

    Raises:
        DataError: if there is no such dataset or revision, the hub does not let the user in, or it cannot be reached
            and this machine has nothing of it.
        PlanError: if the hub's client is not installed.
    """
    context = guest_context()
    revision = context.revisions.get(name) or _NEWEST
    kept = _kept(name, revision, cache_dir)
    if kept is not None and kept.commit == revision:
        repository = kept  # a commit does not change, so that nobody need be asked
    elif not is_offline_now(context.is_offline):
        repository = _asked(name, revision, cache_dir, kept)
    elif kept is not None:
        repository = kept
    else:
        raise DataError(
            f"Dataset {name} of ModelScope, revision {revision}, is not on this machine, and the run is offline.",
            where=str(folder_of(name, cache_dir)),
            hint=f"Fetch it while there is a network: polymeter fetch. {_local_instead(name)}",
        )
    if context.read_revisions is not None:
        if repository.commit:
            context.read_revisions[name] = repository.commit
        else:
            log.warning("ModelScope does not report the commit of dataset %s: it is not recorded.", name)
    return repository


def folder_of(name: str, cache_dir: Path) -> Path:
    """The folder of everything that is kept of a dataset."""
    return cache_dir / "datasets" / name.replace("/", "--")


def fetch_files(repository: Repository, files: Sequence[HubFile], *, is_all: bool = True) -> Path:
    """Download files of a dataset, and check those that arrive.

    Args:
        repository: The dataset.
        files: Which of its files.
        is_all: Whether that is all that is wanted now, so that this commit is the one that is read without a network.

    Returns:
        The folder of the dataset.

    Raises:
        DataError: if a file cannot be fetched, or keeps arriving with other content than the hub states. What has
            arrived of the others is kept.
    """
    missing = [file for file in files if not _is_here(repository.folder, file)]
    if missing and is_offline_now(guest_context().is_offline):
        raise DataError(
            f"{len(missing)} of {len(files)} files of dataset {repository.name} are not on this machine, and the run "
            f"is offline: {missing[0].path}{', …' if missing[1:] else ''}.",
            where=str(repository.folder),
            hint=f"Fetch them while there is a network: polymeter fetch. {_local_instead(repository.name)}",
        )
    repository.folder.mkdir(parents=True, exist_ok=True)
    if missing:
        from filelock import FileLock

        with (
            boundary(DataError, f"Keeping files of dataset {repository.name}"),
            FileLock(folder_of(repository.name, repository.cache_dir) / "fetching.lock"),
        ):
            _download(repository, missing)
    if is_all:
        _keep(repository)
    return repository.folder


def _download(repository: Repository, missing: Sequence[HubFile]) -> None:
    told = guest_context().bytes_arrived
    arriving = repository.folder.parents[1] / "arriving" / repository.folder.name
    with _asking(repository.name, "Fetching files of") as api:
        for file in missing:
            if _is_here(repository.folder, file):  # another process has fetched it while this one waited
                continue
            if not file.sha256:
                # Nothing would show that the bytes so far are of the same file.
                for part in arriving.glob(f"{file.path}.*"):
                    part.unlink(missing_ok=True)
            whole = api.downloader.download_file(
                repository.name,
                _KIND,
                file.path,
                revision=repository.commit or repository.revision,
                local_dir=arriving,
                cache_dir=repository.cache_dir,  # where the client keeps its locks
                expected_sha256=file.sha256 or None,
                file_size=file.size,
                progress_callbacks=[_callback(told)] if told else None,
            )
            place = repository.folder / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            Path(whole).replace(place)


def files_of_configs(repository: Repository, configs: Collection[str]) -> list[HubFile]:
    """The files that configurations are read from: those that the dataset's card names, if it describes configurations
    by their files, else all. Fetches the card.

    Args:
        repository: The dataset.
        configs: Names of configurations; one that the card does not have means its default one.

    Raises:
        DataError: if the card cannot be fetched or read.
    """
    cards = [file for file in repository.files if file.path in CARDS]
    fetch_files(repository, cards, is_all=False)
    described = card_configs(repository.folder)
    texts = [(repository.folder / file.path).read_text(encoding="utf-8", errors="replace") for file in cards]
    # Whether a folder of a configuration exists is asked of all of them, and such a copy is read whole.
    is_whole = any("data_dir:" in text for text in texts) or any(file.path in _SAVED for file in repository.files)
    if not described or is_whole or len(repository.files) > _MOST_PLACEHOLDERS:
        return list(repository.files)
    named = {config if config in described else None for config in configs}
    # The library that reads the folder looks at the files of the first configuration, whichever is wanted.
    read = _files_by_the_card(repository, [*named, described[0]])
    return list(repository.files) if read is None else [file for file in repository.files if file.path in read]


def _files_by_the_card(repository: Repository, configs: Sequence[str | None]) -> set[str] | None:
    """The paths of the files of some configurations, as ``datasets`` finds them, and of the card; ``None`` if it finds
    none without looking into them. It is shown a folder of empty files.
    """
    import datasets

    read = {name for name in CARDS if (repository.folder / name).is_file()}
    with tempfile.TemporaryDirectory() as name:
        shown, scratch = Path(name).resolve() / "shown", Path(name) / "scratch"
        for file in repository.files:
            place = shown / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        for card in read:
            (shown / card).write_bytes((repository.folder / card).read_bytes())
        for config in configs:
            try:
                builder = datasets.load_dataset_builder(str(shown), config, cache_dir=str(scratch))
            except Exception as error:  # noqa: BLE001  (any error: all files are fetched, which is never too few)
                log.debug("the card of %s does not list its files: %r", repository.name, error)
                return None
            files = [Path(str(file)) for some in (builder.config.data_files or {}).values() for file in some]
            if not files:
                return None
            read |= {file.relative_to(shown).as_posix() for file in files if file.is_relative_to(shown)}
    return read


def _asked(name: str, revision: str, cache_dir: Path, kept: Repository | None) -> Repository:
    """A dataset as the hub lists it now. If the hub cannot be reached, as this machine has it."""
    try:
        with _asking(name) as api:
            listed = api.legacy.list_repo_files(name, _KIND, revision=revision)
            commit = revision if _COMMIT.fullmatch(revision) else _commit_of(api, name, revision, listed)
    except DataError as error:
        if kept is None or not _is_unreachable(error):
            raise
        log.warning("%s The copy on this machine is read.", error.what)
        return kept
    blobs = _blobs(listed)
    if not blobs:
        raise DataError(f"ModelScope lists no files of dataset {name}, revision {revision}.", hint=_local_instead(name))
    for one in blobs:
        _check_path(str(one["Path"]), name)
    # Without a commit, the listing itself with all that it says of each file stands for it.
    folder = folder_of(name, cache_dir) / "snapshots" / (commit or f"listing-{fingerprint(_contents(blobs))}")
    files = {str(one["Path"]): (int(one.get("Size") or 0), str(one.get("Sha256") or "").lower()) for one in blobs}
    return _repository(name, commit, revision, cache_dir, folder, files)


def _commit_of(api: Any, name: str, revision: str, listed: Sequence[Mapping[str, Any]]) -> str:
    """The commit that a listing is of; empty if the hub does not report it.

    The hub says of each file which commit has last changed it. The newest of these is the commit, unless a later one
    has removed files: so the listing is asked for again under its name, and counts if it is the same.
    """
    from modelscope_hub.errors import NotExistError

    dated = [(int(one.get("CommittedDate") or 0), str(one.get("Revision") or "")) for one in _blobs(listed)]
    newest = max(dated, default=(0, ""))[1]
    if not _COMMIT.fullmatch(newest):
        return ""
    try:
        again = api.legacy.list_repo_files(name, _KIND, revision=newest)
    except NotExistError:
        return ""
    return newest if _contents(_blobs(again)) == _contents(_blobs(listed)) else ""


def _contents(blobs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return sorted([str(one.get(key) or "") for key in ("Path", "Size", "Sha256", "Revision")] for one in blobs)


def _blobs(listed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for one in listed if one.get("Path") and one.get("Type") != "tree"]


def _check_path(path: str, name: str) -> None:
    """Refuse a path of a listing that could lead out of the dataset's folder, on any system.

    Raises:
        DataError: if it could.
    """
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in path or "\0" in path or PureWindowsPath(path).drive:
        raise DataError(
            f"Dataset {name} of ModelScope lists a file {path[:200]!r}, which is not a path within it.",
            hint=f"Nothing was fetched. {_local_instead(name)}",
        )


def _kept(name: str, revision: str, cache_dir: Path) -> Repository | None:
    """A dataset as this machine has it, if it has that commit, or what that branch was at when it was last fetched."""
    root = folder_of(name, cache_dir)
    own = _kept_listing(root / "revisions" / f"{quote(revision, safe='')}.json")
    key = own.get("folder") if own.get("revision") == revision else revision
    listing = _kept_listing(root / "listings" / f"{key}.json")
    if listing.get("id") != name:  # ids may share a folder
        return None
    files = {path: (int(size), str(digest)) for path, (size, digest) in listing["files"].items()}
    return _repository(name, listing["commit"], revision, cache_dir, root / "snapshots" / str(key), files)


def _keep(repository: Repository) -> None:
    """Note that this is what the revision is read from without a network."""
    root = folder_of(repository.name, repository.cache_dir)
    listing = {
        "id": repository.name,
        "commit": repository.commit,
        "files": {file.path: [file.size, file.sha256] for file in repository.files},
    }
    noted = {"revision": repository.revision, "folder": repository.folder.name}
    _write(root / "listings" / f"{repository.folder.name}.json", listing)
    _write(root / "revisions" / f"{quote(repository.revision, safe='')}.json", noted)


def _kept_listing(file: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _write(file: Path, content: Mapping[str, Any]) -> None:
    if _kept_listing(file) != content:
        with replacing(file) as opened:
            json.dump(content, opened, ensure_ascii=False)


def _repository(
    name: str, commit: str, revision: str, cache_dir: Path, folder: Path, files: Mapping[str, tuple[int, str]]
) -> Repository:
    made = (HubFile(name, commit, path, size, digest, is_here=False) for path, (size, digest) in files.items())
    known = tuple(replace(file, is_here=_is_here(folder, file)) for file in made)
    return Repository(name, commit, revision, cache_dir, folder, known)


def _is_here(folder: Path, file: HubFile) -> bool:
    """A file comes into the folder of its commit when it is whole and has been checked."""
    place = folder / file.path
    return place.is_file() and place.stat().st_size == file.size


@contextmanager
def _asking(name: str, action: str = "Asking ModelScope about") -> Iterator[Any]:
    """The client of the hub, for a dataset; its refusals say what to do.

    Raises:
        DataError: if the hub refuses, or cannot be reached.
        PlanError: if the client is not installed.
    """
    try:
        from modelscope_hub import HubApi, HubConfig
    except ModuleNotFoundError as error:
        missing = missing_package("modelscope-hub", f"dataset {name!r} of ModelScope", "modelscope")
        hint = f"{missing.hint}, or name another dataset_hub. {_local_instead(name)}"
        raise PlanError(missing.what, hint=hint) from error
    from modelscope_hub.errors import AuthenticationError, NotExistError, PermissionDeniedError

    logging.getLogger("modelscope_hub").setLevel(logging.ERROR)  # each request, and each attempt that is made again
    config = HubConfig()  # the client's own is the environment of the first question, for ever
    try:
        hint = f"Check the name and the network. {_local_instead(name)}"
        with without_bars(), boundary(DataError, f"{action} dataset {name}", hint=hint):
            endpoint = HubApi(config=config).resolve_endpoint_for_read(name, repo_type=_KIND)
            yield HubApi(config=replace(config, endpoint=endpoint))
    except DataError as error:
        # An address that the hub has signed lets in everybody who knows it.
        error.what = _QUERY.sub("?...", error.what)
        if isinstance(error.__cause__, (AuthenticationError, PermissionDeniedError)):
            raise DataError(
                f"Dataset {name} of ModelScope is private or gated: you need access to it.",
                hint="Ask for access on its page, then log in with 'ms-hub login' or set MODELSCOPE_API_TOKEN.",
            ) from error
        if isinstance(error.__cause__, NotExistError):
            raise DataError(
                f"ModelScope has no dataset {name}, or not in that revision.",
                hint=f"Check the name and --revision. {_local_instead(name)}",
            ) from error
        if not error.what.isascii():  # the client says some things in Chinese alone
            kind = "no answer in time" if isinstance(error.__cause__, TimeoutError) else type(error.__cause__).__name__
            raise DataError(f"{action} dataset {name} failed: {kind}.", hint=error.hint) from error.__cause__
        raise


def _is_unreachable(error: DataError) -> bool:
    from modelscope_hub.errors import NetworkError, ServerError

    return isinstance(error.__cause__, (NetworkError, ServerError, OSError))


def _callback(told: Callable[[int], None]) -> type:
    """Return a callback for the client that passes on the numbers of arrived bytes."""
    from modelscope_hub import ProgressCallback

    return type("Arriving", (ProgressCallback,), {"update": lambda _, n: told(n)})


def _local_instead(name: str) -> str:
    return f"Local files take its place with --data {name}=./FOLDER."
