"""Media that a hub repository keeps beside its rows: fetched and unpacked into ``$HF_HOME/<cache_dir>``, where task
code looks for them.
"""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.core.errors import DataError, boundary
from polymeter.data.fetching.expansion import check_expansion


def media_folder(kwargs: Mapping[str, Any]) -> Path:
    """The folder for the media of a dataset with ``cache_dir``."""
    home = Path(os.path.expanduser(os.environ.get("HF_HOME", "~/.cache/huggingface")))
    return home / str(kwargs.get("cache_dir", ""))


def fetch_media(repo: str, kwargs: Mapping[str, Any]) -> Path:
    """Make sure that the media of a dataset with ``video: true`` exist on this machine.

    Args:
        repo: Hub id.
        kwargs: The task's ``dataset_kwargs``: ``cache_dir``, ``revision``, ``force_download``, ``force_unzip``,
            ``create_link``.

    Returns:
        Their folder.

    Raises:
        DataError: if they cannot be fetched, or must be taken from a video site.
    """
    folder = media_folder(kwargs)
    if not kwargs.get("cache_dir"):
        raise DataError(f"Dataset {repo} has videos but no 'cache_dir'.", hint="Name one in dataset_kwargs.")
    if kwargs.get("From_YouTube"):
        if not folder.is_dir():
            raise DataError(
                f"The videos of {repo} come from YouTube, which Polymeter does not fetch.",
                hint=f"Put them into {folder}, named by their videoID.",
            )
        return folder
    if folder.exists() and not (kwargs.get("force_download") or kwargs.get("force_unzip")):
        return folder
    from huggingface_hub import snapshot_download

    hint = f"Put the media into {folder} yourself, and use local rows: --data {repo}=PATH."
    with boundary(DataError, f"Fetching the media of {repo}", hint=hint):
        snapshot = Path(
            snapshot_download(
                repo,
                repo_type="dataset",
                revision=kwargs.get("revision"),
                force_download=bool(kwargs.get("force_download")),
            )
        )
        if kwargs.get("create_link"):
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.symlink_to(snapshot, target_is_directory=True)
        else:
            _unpack(snapshot, folder)
    return folder


def _unpack(snapshot: Path, folder: Path) -> None:
    part = folder.with_name(f"{folder.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    for file in sorted(snapshot.rglob("*")):
        if file.suffix in (".zip", ".gz", ".tgz"):
            check_expansion(file)
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                archive.extractall(part)
        elif file.name.endswith((".tar", ".tar.gz", ".tgz")):
            _untar([file], part)
    # Large archives are uploaded in pieces; each set is joined once, when its first piece comes up.
    for first in sorted(snapshot.rglob("*.tar.part*")):
        stem = first.name.partition(".tar.part")[0]
        pieces = sorted(first.parent.glob(f"{stem}.tar.part*"))
        if first == pieces[0]:
            _untar(pieces, part)
    folder.parent.mkdir(parents=True, exist_ok=True)
    part.replace(folder)


def _untar(pieces: list[Path], target: Path) -> None:
    joined = pieces[0]
    if len(pieces) > 1:
        joined = target / f"{pieces[0].name}.joined"
        with joined.open("wb") as whole:
            for piece in pieces:
                whole.write(piece.read_bytes())
    with tarfile.open(joined) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(target, filter="data")
        else:  # pragma: no cover  (Pythons before the security release)
            archive.extractall(target)
    if joined != pieces[0]:
        joined.unlink()
