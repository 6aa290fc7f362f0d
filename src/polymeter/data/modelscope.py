"""Datasets of ModelScope: their files, how large they are, and the folder that they are read from once they are here.

The hub is asked through its own client (``modelscope-hub``), which goes on where a download broke off and compares what
arrives with the size and the SHA-256 that the hub states. ``MODELSCOPE_ENDPOINT`` names a mirror,
``MODELSCOPE_API_TOKEN`` (or ``ms-hub login``) who asks. A note beside the files tells which commit they are of, so that
they are enough without a network.
"""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import partialmethod
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, PlanError, boundary
from polymeter.core.files import replacing
from polymeter.core.guest_context import guest_context
from polymeter.core.records import dataclass
from polymeter.core.registry import missing_package
from polymeter.data.fetch import is_offline_now
from polymeter.data.hub_files import HubFile
from polymeter.data.local import CARDS, card_configs

log = logging.getLogger(__name__)

_KIND = "dataset"
_NEWEST = "master"
"""ModelScope's name of the branch that is read unless another is wanted."""
_NOTE = ".polymeter.json"
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
        """The program in Python that reads this dataset; empty if its files are read as they are."""
        own = f"{self.name.rpartition('/')[2]}.py"
        return own if any(file.path == own for file in self.files) else ""

    def matching(self, patterns: Sequence[str]) -> list[HubFile]:
        """The files of some names, patterns of names, or folders (which end in ``/``)."""
        wanted = [f"{pattern}*" if pattern.endswith("/") else pattern for pattern in patterns]
        return [file for file in self.files if any(fnmatchcase(file.path, pattern) for pattern in wanted)]


@dataclass(frozen=True, slots=True)
class _Note:
    """What lies in a folder.

    Attributes:
        commit: The commit that its files are of; empty if it is not known.
        files: The size and SHA-256 of all files of the repository, by path.
        arrived: The SHA-256 of those that were fetched, by path.
    """

    commit: str = ""
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    arrived: Mapping[str, str] = field(default_factory=dict)


def open_repository(name: str, cache_dir: Path) -> Repository:
    """A dataset at the revision that the context wants, else the newest. Without a network, as it was when it was last
    asked for.

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
    noted = _as_noted(name, revision, cache_dir)
    if noted is not None and noted.commit == revision:
        repository = noted  # a commit does not change, so that nobody need be asked
    elif not is_offline_now(context.is_offline):
        repository = _asked(name, revision, cache_dir)
    elif noted is not None:
        repository = noted
    else:
        raise DataError(
            f"Dataset {name} of ModelScope, revision {revision}, is not on this machine, and the run is offline.",
            where=str(folder_of(name, cache_dir)),
            hint=f"Fetch it while there is a network: polymeter fetch. {_local_instead(name)}",
        )
    if context.read_revisions is not None and repository.commit:
        context.read_revisions[name] = repository.commit
    return repository


def folder_of(name: str, cache_dir: Path) -> Path:
    """Where a dataset's revisions lie, laid out as ModelScope's own tools do it."""
    return cache_dir / "datasets" / name.replace("/", "--")


def fetch_files(repository: Repository, files: Sequence[HubFile]) -> Path:
    """Download files of a dataset, and check those that arrive.

    Returns:
        The folder of the dataset.

    Raises:
        DataError: if a file cannot be fetched, or keeps arriving with other content than the hub states. What has
            arrived of the others is kept.
    """
    missing = [file for file in files if not file.is_here]
    if not missing:
        return repository.folder
    if is_offline_now(guest_context().is_offline):
        raise DataError(
            f"{len(missing)} of {len(files)} files of dataset {repository.name} are not on this machine, and the run "
            f"is offline: {missing[0].path}{', …' if missing[1:] else ''}.",
            where=str(repository.folder),
            hint=f"Fetch them while there is a network: polymeter fetch. {_local_instead(repository.name)}",
        )
    told = guest_context().bytes_arrived
    arrived: dict[str, str] = {}
    try:
        with _asking(repository.name, "Fetching files of") as api:
            for file in missing:
                api.downloader.download_file(
                    repository.name,
                    _KIND,
                    file.path,
                    revision=repository.commit or repository.revision,
                    local_dir=repository.folder,
                    cache_dir=repository.cache_dir,  # where the client keeps its locks
                    expected_sha256=file.sha256 or None,
                    file_size=file.size,
                    progress_callbacks=[_callback(told)] if told else None,
                )
                arrived[file.path] = file.sha256
    finally:
        _add_to_note(repository, arrived)
    return repository.folder


def files_of_configs(repository: Repository, configs: Collection[str]) -> list[HubFile]:
    """The files that configurations are read from: those that the dataset's card names, if it describes configurations,
    else all. Fetches the card.

    Args:
        repository: The dataset.
        configs: Names of configurations; one that the card does not have means its default one.

    Raises:
        DataError: if the card cannot be fetched or read.
    """
    cards = [file for file in repository.files if file.path in CARDS]
    fetch_files(repository, cards)
    described = card_configs(repository.folder)
    if not described or len(repository.files) > _MOST_PLACEHOLDERS:
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
            except Exception as error:  # noqa: BLE001  (whatever it is: all files are fetched, which is never too few)
                log.debug("the card of %s does not tell its files: %r", repository.name, error)
                return None
            files = [str(file) for some in (builder.config.data_files or {}).values() for file in some]
            if not files:
                return None
            read |= {Path(file).relative_to(shown).as_posix() for file in files if file.startswith(str(shown))}
    return read


def _asked(name: str, revision: str, cache_dir: Path) -> Repository:
    """A dataset as the hub lists it now. If the hub cannot be reached, as this machine has it."""
    folder = folder_of(name, cache_dir) / "snapshots" / revision.replace("/", "--")
    try:
        with _asking(name) as api:
            listed = api.legacy.list_repo_files(name, _KIND, revision=revision)
            commit = _commit_of(api, name, revision, listed)
    except DataError as error:
        noted = _as_noted(name, revision, cache_dir) if _is_unreachable(error) else None
        if noted is None:
            raise
        log.warning("%s It is read as this machine has it.", error.what)
        return noted
    files = {str(one["Path"]): (int(one.get("Size") or 0), str(one.get("Sha256") or "")) for one in _blobs(listed)}
    before = _read_note(folder)
    for path in before.arrived.keys() - files.keys():
        (folder / path).unlink(missing_ok=True)  # a branch has moved on: a folder is read whole, so none may be left
    note = _Note(commit, files, {path: digest for path, digest in before.arrived.items() if path in files})
    _write_note(folder, note)
    return _repository(name, revision, cache_dir, folder, note)


def _commit_of(api: Any, name: str, revision: str, listed: Sequence[Mapping[str, Any]]) -> str:
    """The commit that a listing is of; empty if the hub does not tell.

    The hub says of each file which commit has last changed it. The newest of these is the commit, unless a later one
    has removed files: so the listing is asked for again under its name, and counts if it is the same.
    """
    dated = [(int(one.get("CommittedDate") or 0), str(one.get("Revision") or "")) for one in _blobs(listed)]
    newest = max(dated, default=(0, ""))[1]
    if not newest or newest == revision:
        return newest
    with suppress(Exception):  # a commit that cannot be asked for is no commit to pin
        if _contents(api.legacy.list_repo_files(name, _KIND, revision=newest)) == _contents(listed):
            return newest
    return ""


def _contents(listed: Sequence[Mapping[str, Any]]) -> set[tuple[Any, Any, Any]]:
    return {(one["Path"], one.get("Size"), one.get("Sha256")) for one in _blobs(listed)}


def _blobs(listed: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for one in listed if one.get("Path") and one.get("Type") != "tree"]


def _as_noted(name: str, revision: str, cache_dir: Path) -> Repository | None:
    """A dataset as this machine has it, if it has that revision, under its own name or that of a branch."""
    snapshots = folder_of(name, cache_dir) / "snapshots"
    own = snapshots / revision.replace("/", "--")
    for folder in (own, *sorted(snapshots.glob("*"))):
        note = _read_note(folder)
        if note.files and (folder == own or note.commit == revision):
            return _repository(name, revision, cache_dir, folder, note)
    return None


def _repository(name: str, revision: str, cache_dir: Path, folder: Path, note: _Note) -> Repository:
    files = tuple(
        HubFile(name, note.commit, path, size, digest, _is_here(folder / path, size, digest, note.arrived.get(path)))
        for path, (size, digest) in note.files.items()
    )
    return Repository(name, note.commit, revision, cache_dir, folder, files)


def _is_here(place: Path, size: int, digest: str, arrived: str | None) -> bool:
    return arrived == digest and place.is_file() and place.stat().st_size == size


def _read_note(folder: Path) -> _Note:
    try:
        stored = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        files = {str(path): (int(size), str(digest)) for path, (size, digest) in stored["files"].items()}
        return _Note(str(stored["commit"]), files, dict(stored["arrived"]))
    except (OSError, ValueError, TypeError, KeyError):
        return _Note()


def _write_note(folder: Path, note: _Note) -> None:
    stored = {"commit": note.commit, "files": dict(note.files), "arrived": dict(note.arrived)}
    with replacing(folder / _NOTE) as file:
        json.dump(stored, file, ensure_ascii=False)


def _add_to_note(repository: Repository, arrived: Mapping[str, str]) -> None:
    if arrived:
        note = _read_note(repository.folder)
        _write_note(repository.folder, replace(note, arrived={**note.arrived, **arrived}))


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
        with _without_its_bars(), boundary(DataError, f"{action} dataset {name}", hint=hint):
            endpoint = HubApi(config=config).resolve_endpoint_for_read(name, repo_type=_KIND)
            yield HubApi(config=replace(config, endpoint=endpoint))
    except DataError as error:
        if isinstance(error.__cause__, (AuthenticationError, PermissionDeniedError)):
            raise DataError(
                f"Dataset {name} of ModelScope is private, or gated: it is given to those alone who have been let in.",
                hint="Ask for access on its page, then log in with 'ms-hub login' or set MODELSCOPE_API_TOKEN.",
            ) from error
        if isinstance(error.__cause__, NotExistError):
            raise DataError(
                f"ModelScope has no dataset {name}, or not in that revision.",
                hint=f"Check the name and --revision. {_local_instead(name)}",
            ) from error
        raise


def _is_unreachable(error: DataError) -> bool:
    from modelscope_hub.errors import NetworkError, ServerError

    return isinstance(error.__cause__, (NetworkError, ServerError, OSError))


@contextmanager
def _without_its_bars() -> Iterator[None]:
    """Let the client draw no progress bars inside this, since Polymeter has its own. It offers no switch."""
    from tqdm.auto import tqdm

    drawn = tqdm.__init__
    tqdm.__init__ = partialmethod(drawn, disable=True)
    try:
        yield
    finally:
        tqdm.__init__ = drawn


def _callback(told: Callable[[int], None]) -> type:
    """What the client tells of a file's bytes that arrive, passed on."""
    from modelscope_hub import ProgressCallback

    return type("Arriving", (ProgressCallback,), {"update": lambda _, n: told(n)})


def _local_instead(name: str) -> str:
    return f"Local files take its place with --data {name}=./FOLDER."
