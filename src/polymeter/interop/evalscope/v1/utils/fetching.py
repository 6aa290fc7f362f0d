"""Files from elsewhere that an adapter names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from polymeter.core.errors import DataError, PlanError
from polymeter.core.guest_context import guest_context
from polymeter.core.names.installing import python_command
from polymeter.core.names.registry import missing_package
from polymeter.data.fetching.fetch import download, size_of

_NLTK = {
    "punkt_tab": "tokenizers/punkt_tab",
    "stopwords": "corpora/stopwords",
    "averaged_perceptron_tagger_eng": "taggers/averaged_perceptron_tagger_eng/",
}
_BLOCK = 1 << 20


def file_sha256(path: str) -> str:
    """Hex SHA-256 of a file."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def download_url(
    url: str,
    save_path: str,
    num_retries: int = 3,
    sha256: str | None = None,
    timeout: int = 30,
    headers: Mapping[str, str] | None = None,
    force: bool = False,
) -> None:
    """Fetch a file into its place, unless it is there already: with the SHA-256, or else of the size.

    Args:
        url: Its address.
        save_path: Its place.
        num_retries: Kept for authors.
        sha256: The SHA-256 that it must have.
        timeout: Seconds to wait for the next bytes.
        headers: Kept for authors: none are sent.
        force: Fetch it in any case.

    Raises:
        DataError: if it cannot be fetched, or is another file.
    """
    target = Path(save_path).absolute()
    if not force and target.exists() and _is_whole(url, target, sha256):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    download(url, target, md5=None, timeout_s=timeout, is_offline=guest_context().is_offline)
    if sha256 is not None and file_sha256(str(target)) != sha256:
        actual = file_sha256(str(target))
        target.unlink()
        raise DataError(f"The file at {url} has SHA-256 {actual}, not {sha256}; it was deleted.", where=save_path)


def check_nltk_data(name: str) -> None:
    """Check that NLTK has one of the data that adapters use.

    Raises:
        PlanError: if it, or NLTK, is missing.
    """
    place = _NLTK.get(name)
    if place is None:
        return
    try:
        import nltk.data
    except ModuleNotFoundError as error:
        raise missing_package("nltk", f"the data {name}") from error
    try:
        nltk.data.find(place)
    except LookupError:
        hint = f"Install them with: {python_command()} -m nltk.downloader {name}"
        raise PlanError(f"NLTK's data {name!r} are not installed.", hint=hint) from None


def _is_whole(url: str, file: Path, sha256: str | None) -> bool:
    if sha256 is not None:
        return file_sha256(str(file)) == sha256
    return guest_context().is_offline or size_of(url) in (None, file.stat().st_size)
