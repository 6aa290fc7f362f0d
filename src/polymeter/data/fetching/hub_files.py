"""The files of a dataset of the Hugging Face Hub: the ones that are read, their sizes, and fetching them.

Files go into the hub's own cache, where every tool finds them. A download that broke off continues, and a file counts
as fetched only with the content that the hub states. The address of a mirror (``HF_ENDPOINT``) and the token
(``HF_TOKEN``, ``hf auth login``) are those of the hub's own library.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.data.fetching.fetch import is_offline_now
from polymeter.data.source import Source, cleaned

_ADDRESS = re.compile(r"hf://datasets/(?P<repo>[^@]+)@(?P<commit>[0-9a-f]{40})/(?P<path>.+)")
_BLOCK = 1 << 20
_AT_ONCE = 500
"""The number of files in one request to the hub."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a dataset at one commit.

    Attributes:
        repo: The id of the dataset.
        commit: The commit.
        path: Its path there.
        size: In bytes.
        sha256: Hex digest of its content; empty if the hub states none, as for small text files.
        is_here: Whether the cache of this machine holds it.
    """

    repo: str
    commit: str
    path: str
    size: int
    sha256: str
    is_here: bool


def files_of(source: Source) -> list[HubFile]:
    """The files that the rows of a dataset are read from, and the media that lie beside them. Fetches its card alone.

    Raises:
        DataError: if there is no such dataset or revision, it is gated, or the hub cannot be reached.
    """
    kwargs = dict(source.kwargs)
    has_media = bool(kwargs.get("video"))
    with _asking(source):
        import datasets

        arguments = cleaned(kwargs, source.directory)
        arguments.pop("num_proc", None)
        builder = datasets.load_dataset_builder(source.path, source.name, **arguments)
        named = [str(file) for files in (builder.config.data_files or {}).values() for file in files]
        found = [match for name in dict.fromkeys(named) if (match := _ADDRESS.fullmatch(name))]
        by_commit: dict[tuple[str, str], list[str]] = {}
        for match in found:
            by_commit.setdefault((match["repo"], match["commit"]), []).append(match["path"])
        if has_media:
            from huggingface_hub import HfApi

            revision, token = kwargs.get("revision"), arguments.get("token")
            facts = HfApi(token=token).dataset_info(source.path, revision=revision)
            by_commit[source.path, str(facts.sha)] = [file.rfilename for file in facts.siblings or ()]
        return [file for (repo, commit), paths in by_commit.items() for file in _facts(repo, commit, paths, arguments)]


def fetch_file(file: HubFile, *, token: Any = None, told: Callable[[int], None] | None = None) -> Path:
    """Download a file into the cache of the hub, or find it there; what is there already is checked too.

    Args:
        file: The file.
        token: The token of the hub, if its dataset asks for one of its own.
        told: Called with each number of bytes that has arrived.

    Returns:
        Its place.

    Raises:
        DataError: if it cannot be fetched, or has other content than the hub states; then it is not kept.
    """
    from huggingface_hub import hf_hub_download

    with _asking(Source(file.repo)):
        place = Path(
            hf_hub_download(
                file.repo,
                file.path,
                repo_type="dataset",
                revision=file.commit,
                token=token,
                tqdm_class=_bar(told) if told else _bar(lambda _: None),
            )
        )
    content = place.resolve()
    if content.stat().st_size == file.size and (not file.sha256 or _sha256(content) == file.sha256):
        return place
    content.unlink(missing_ok=True)
    place.unlink(missing_ok=True)
    raise DataError(
        f"{file.path} of dataset {file.repo} has arrived with other content than the hub states; it was deleted.",
        hint="Fetch it again. If that does not help, its server (a mirror or proxy) is at fault.",
    )


def _facts(repo: str, commit: str, paths: list[str], arguments: dict[str, Any]) -> Iterator[HubFile]:
    from huggingface_hub import HfApi, try_to_load_from_cache

    api = HfApi(token=arguments.get("token"))
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        for info in api.get_paths_info(repo, some, revision=commit, repo_type="dataset"):
            large = getattr(info, "lfs", None)
            here = try_to_load_from_cache(repo, info.path, revision=commit, repo_type="dataset")
            digest = large.sha256 if large is not None else ""
            yield HubFile(repo, commit, info.path, int(getattr(info, "size", 0)), digest, isinstance(here, str))


@contextmanager
def _asking(source: Source) -> Iterator[None]:
    """Ask the hub about a dataset inside this, and its refusals say what to do.

    Raises:
        DataError: if it refuses, or cannot be reached.
    """
    try:
        hint = "Check the name and the network."
        if is_offline_now():
            hint = "HF_HUB_OFFLINE is set. Unset it to download, or use local files: --data ID=PATH."
        with boundary(DataError, f"Asking the hub about dataset {source}", hint=hint):
            yield
    except DataError as error:
        text = f"{error.what} {error.__cause__!r} {getattr(error.__cause__, '__cause__', None)!r}".lower()
        if "gated" in text or "401" in text:
            raise DataError(
                f"Dataset {source} is gated or private: you need access to it.",
                hint=f"Ask for access on the page of {source.path}, then log in with 'hf auth login' or set HF_TOKEN.",
            ) from error
        raise


def _sha256(file: Path) -> str:
    state = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def _bar(told: Callable[[int], None]) -> type:
    """Return a progress bar for the hub's library. It draws nothing and passes on the numbers of bytes."""
    from huggingface_hub.utils.tqdm import tqdm

    def update(bar: object, n: float | None = 1) -> None:
        told(int(n or 0))

    return type("Bar", (tqdm,), {"update": update, "display": lambda bar, *_, **__: None})
