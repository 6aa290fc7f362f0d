"""Single files from URLs: verified, limited in size, complete or not at all.

There are two kinds of URL. One that *code* or the user names (a class's table, ``download``) is fetched from any
address, as its author chose. One that *data* names (an image in a row) is fetched from public addresses only, also
after redirects, and never with credentials: neither a user in the URL, nor cookies, nor a ``.netrc``.

TLS certificates are always verified. If the MD5 of a file is given, the download is checked against it and discarded
if it does not match. Two processes that need the same file fetch it once. A large download that broke off continues, if
its MD5 or the server's own tag of the file shows that both halves are of one file.

Files are fetched with httpx, and endpoints are asked with aiohttp: a download is a plain call, also on a thread that
runs an event loop. aiohttp rewrites the escapes of a URL, which a signature in it may cover, and knows no SOCKS proxy.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from polymeter.core.errors import DataError, boundary
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.files import replacing, sweep
from polymeter.core.media.pixels import opened_image
from polymeter.core.media.sources import digest, is_elsewhere, original
from polymeter.core.text.secrets import hide_secrets
from polymeter.data.fetching.arriving import BLOCK, NO_SUCH_RANGE, PARTIAL, AbsentError, PartialFile, ServerError, Sink
from polymeter.data.fetching.public import answer_of

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

MAX_BYTES = 64 << 30
MAX_IMAGE_BYTES = 64 << 20
TIMEOUT_S = 60.0
_HUB = "hf://"
_SWITCH = "HF_HUB_OFFLINE"
_ON = ("1", "true", "yes", "on")
_TRIES = 2
_WAIT_S = 0.5
_ABSENT = (404, 410)
_LOCAL_HOSTS = ("", "localhost")
_HEADERS = {"User-Agent": "polymeter", "Accept-Encoding": "identity"}


def download(
    url: str,
    target: Path,
    *,
    md5: str | None,
    max_bytes: int = MAX_BYTES,
    timeout_s: float = TIMEOUT_S,
    is_offline: bool = False,
) -> Path:
    """Fetch a file into its place.

    Args:
        url: ``https://``, ``http://`` or ``file://``. The latter two prove nothing about the file's origin: without an
            MD5 a warning is logged.
        target: The place of the file. An existing file is replaced once the new one has been verified.
        md5: Hex MD5 that the file must have; ``None``: any.
        max_bytes: The largest size that is accepted.
        timeout_s: The longest wait for a connection or for the next bytes.
        is_offline: Refuse everything that is not on this machine; so does the environment variable ``HF_HUB_OFFLINE``.

    Returns:
        ``target``.

    Raises:
        DataError: if the file cannot be fetched, is too large, or has another MD5. An existing file is unchanged then,
            and nothing is left behind but the beginning of a large file if its download broke off; the next one
            continues from there.
    """
    target, shown = Path(target), hide_secrets(url)
    if not md5 and not url.lower().startswith("https://"):
        log.warning("%s is not fetched over TLS and has no MD5: its content is not verified", shown)
    existed = target.exists()
    with boundary(DataError, f"Putting {shown} at {target}"), _locked(target):
        if target.exists() and (md5_of(target) == md5.lower() if md5 else not existed):
            return target  # another process fetched it while this one waited for the lock
        sweep([target.parent])
        part = PartialFile(target, url, md5)
        for is_last in (False, True):
            with _errors_naming(target), part.open() as file:
                sink = Sink(file, shown, max_bytes, part)
                actual_md5 = _fetch(url, sink, timeout_s=timeout_s, is_offline=is_offline)
            if not md5 or actual_md5 == md5.lower():
                break
            part.discard()
            if is_last or not sink.is_resumed:  # else what was kept may be of a former file
                raise DataError(
                    f"The file at {shown} has MD5 {actual_md5}, not {md5.lower()}; it was deleted.",
                    where=str(target),
                    hint="The file at that address has changed, or the MD5 in DATASET_MD5 is wrong.",
                )
        part.finish()
    return target


def size_of(url: str, *, timeout_s: float = TIMEOUT_S) -> int | None:
    """The size in bytes of the file at a URL that code or the user names; ``None`` if its server does not report it, or
    nothing may be asked.

    Raises:
        DataError: if there is no such file, or its server cannot be reached.
    """
    parts, shown = urlsplit(url), hide_secrets(url)
    if parts.scheme.lower() == "file":
        path = Path(unquote(parts.path))
        return path.stat().st_size if path.is_file() else None
    if is_offline_now(guest_context().is_offline):
        return None
    import httpx

    with (
        boundary(DataError, f"Asking for the size of {shown}", hint="Check the address and the connection."),
        httpx.Client(follow_redirects=True, timeout=timeout_s) as client,
    ):
        response = client.head(url, headers=_HEADERS)
        if response.is_success:
            return int(response.headers.get("content-length") or 0) or None
        # Some servers give files but no facts about them.
        with client.stream("GET", url, headers={**_HEADERS, "Range": "bytes=0-0"}) as response:
            if response.is_server_error:
                return None
            if response.status_code == NO_SUCH_RANGE:
                return None
            _check_status(url, response)
            total = response.headers.get("content-range", "").rpartition("/")[2]
            size = total if response.status_code == PARTIAL else response.headers.get("content-length") or ""
            return int(size) or None if size.isdecimal() else None


def fetched_image(url: str, folder: Path, *, is_offline: bool = False) -> Path:
    """The local copy of an image at an http(s) URL that data names. Each URL is fetched once into a folder.

    Args:
        url: The image's address.
        folder: Where copies are kept, under digests of their addresses.
        is_offline: Refuse to fetch; an existing copy is still returned.

    Raises:
        DataError: if it cannot be fetched, leads to an address that is not public, is larger than 64 MiB, or is not an
            image.
    """
    name = digest(url.encode())
    copy = _existing_copy(folder, name)
    if copy is not None:
        return copy
    if not url.lower().startswith(("http://", "https://")):
        raise DataError(
            f"{url[:120]!r} is not an address that an image can be fetched from.", hint="Give an http(s) URL."
        )
    with boundary(DataError, f"Putting {hide_secrets(url)} into {folder}"), _locked(folder / name):
        copy = _existing_copy(folder, name)
        if copy is not None:
            return copy
        buffer = io.BytesIO()
        fetch_named_by_data(url, buffer, max_bytes=MAX_IMAGE_BYTES, is_offline=is_offline)
        target = folder / f"{name}{_image_suffix(buffer.getvalue(), url)}"
        with replacing(target, binary=True) as file:
            file.write(buffer.getvalue())
    return target


def fetch_named_by_data(url: str, file: IO[bytes], *, max_bytes: int, is_offline: bool = False) -> None:
    """Write to a file what an http(s) URL gives that data names.

    Raises:
        DataError: if it cannot be fetched, leads to an address that is not public, or is too large.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise DataError(f"{url[:120]!r} is not an address that data can be fetched from.", hint="Give an http(s) URL.")
    sink = Sink(file, hide_secrets(url), max_bytes)
    _fetch(url, sink, timeout_s=TIMEOUT_S, is_offline=is_offline, stream=_stream_from_public_addresses)


def bytes_named_by_data(path: str) -> bytes:
    """The content of a file that data names: by its path, an http(s) URL, or an address of the hub (``hf://…``).

    Raises:
        DataError: if there is no such file, it cannot be fetched, or is named in another way.
    """
    if "://" not in path:
        return bytes(original(path))
    if is_elsewhere(path):
        buffer = io.BytesIO()
        fetch_named_by_data(path, buffer, max_bytes=MAX_IMAGE_BYTES)
        return buffer.getvalue()
    if not path.startswith(_HUB) or "::" in path:  # others could lead anywhere, with the user's credentials
        raise DataError(
            f"{hide_secrets(path)[:120]!r} is not a file, not an http(s) address and not a file of the Hub.",
            hint="Name the file itself.",
        )
    from datasets.utils.file_utils import xopen

    with boundary(DataError, f"Fetching {path!r}"), xopen(path, "rb") as file:
        return bytes(file.read())


def md5_of(path: Path) -> str:
    """Hex MD5 of a file."""
    state = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            state.update(block)
    return state.hexdigest()


def is_offline_now(is_offline: bool = False) -> bool:
    """Return whether nothing may be fetched: because the caller or the environment says so."""
    return is_offline or os.environ.get(_SWITCH, "").strip().lower() in _ON


def _existing_copy(folder: Path, name: str) -> Path | None:
    return next(iter(sorted(folder.glob(f"{name}.*"))), None)


def _image_suffix(data: bytes, url: str) -> str:
    """The suffix of an image's format. Decodes the whole image, so that one that is cut off is refused."""
    with boundary(DataError, f"Decoding what {hide_secrets(url)} gives as an image"):
        image = opened_image(data, f"The image at {hide_secrets(url)}")
        image.load()
    return f".{(image.format or 'png').lower()}".replace("jpeg", "jpg")


@contextmanager
def _errors_naming(target: Path) -> Iterator[None]:
    """Let errors inside this name the place of the file, so that a user can put it there."""
    try:
        yield
    except DataError as error:
        raise DataError(error.what, where=error.where or str(target), hint=error.hint) from error


def _fetch(
    url: str,
    sink: Sink,
    *,
    timeout_s: float,
    is_offline: bool,
    stream: Callable[[str, Sink, float], None] | None = None,
) -> str:
    """Write the content of a URL; returns its hex MD5."""
    stream = stream or _stream
    parts, shown = urlsplit(url), hide_secrets(url)
    scheme = parts.scheme.lower()
    if scheme == "file":
        _copy(url, Path(unquote(parts.path)), parts.netloc, sink)
        return sink.hexdigest
    if scheme not in ("http", "https"):
        raise DataError(f"{shown!r} cannot be fetched: only https, http and file addresses can.")
    if is_offline_now(is_offline):
        hint = f"Allow the network (unset {_SWITCH}), or put the file in its place."
        raise DataError(f"{shown} is not fetched: the run is offline.", hint=hint)
    for tries_left in reversed(range(_TRIES)):
        try:
            with boundary(DataError, f"Fetching {shown}", hint="Check the address and the connection."):
                stream(url, sink, timeout_s)
        except DataError as error:
            if not tries_left or not _is_transient(error):
                raise
            log.info("%s; trying again", error)
            time.sleep(_WAIT_S)
        else:
            break
    return sink.hexdigest


def _stream(url: str, sink: Sink, timeout_s: float) -> None:
    import httpx

    with httpx.Client(follow_redirects=True, timeout=timeout_s) as client:
        if asked := sink.headers:
            with client.stream("GET", url, headers=_HEADERS | asked) as response:
                is_of_use = response.status_code != NO_SUCH_RANGE and (
                    response.status_code != PARTIAL or sink.is_rest(response)
                )
                if is_of_use:
                    _take(url, response, sink)
                    return
        sink.restart()
        with client.stream("GET", url, headers=_HEADERS) as response:
            _take(url, response, sink)


def _take(url: str, response: httpx.Response, sink: Sink) -> None:
    _check_status(url, response)
    _check_tls(url, response)
    _pour(response, sink)


def _stream_from_public_addresses(url: str, sink: Sink, timeout_s: float) -> None:
    with answer_of(url, timeout_s=timeout_s) as response:
        _check_status(url, response)
        _pour(response, sink)


def _pour(response: httpx.Response, sink: Sink) -> None:
    sink.begin(response)
    for block in response.iter_bytes(BLOCK):
        sink.write(block)
    sink.end()


def _check_status(url: str, response: httpx.Response) -> None:
    if response.is_error:
        what = f"{hide_secrets(url)} answers {response.status_code} {response.reason_phrase}."
        if response.status_code in _ABSENT:
            raise AbsentError(what)
        raise ServerError(what) if response.is_server_error else DataError(what)


def _check_tls(url: str, response: httpx.Response) -> None:
    plain = next((step.url for step in (*response.history, response) if step.url.scheme != "https"), None)
    if url.lower().startswith("https:") and plain is not None:
        raise DataError(f"{hide_secrets(url)} leads to {plain.host} over plain http, which is not verified by TLS.")


def _is_transient(error: DataError) -> bool:
    """Return whether another attempt may succeed: the connection or the server failed."""
    import httpx

    return isinstance(error, ServerError) or isinstance(error.__cause__, httpx.TransportError)


def _copy(url: str, source: Path, host: str, sink: Sink) -> None:
    if host not in _LOCAL_HOSTS:
        raise DataError(f"{url} names a file on another machine ({host}).", hint="Write file:///PATH.")
    if not source.is_file():
        raise AbsentError(f"{url}: there is no such file.")
    sink.restart()
    sink.expect(source.stat().st_size)
    with source.open("rb") as opened:
        shutil.copyfileobj(opened, sink, BLOCK)


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Let one process at a time fetch a file.

    The holder removes the lock's file, which for an instant may allow two holders. One of them may fail then, and
    fetches nothing wrong.
    """
    from filelock import FileLock

    target.parent.mkdir(parents=True, exist_ok=True)
    lock = target.with_name(f".{target.name}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            with suppress(PermissionError):  # on systems where an open file cannot be removed
                lock.unlink(missing_ok=True)
