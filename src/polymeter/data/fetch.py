"""Single files from URLs: verified, limited in size, complete or not at all.

Two kinds of URL are told apart. One that *code* or the user names (a class's table, ``download``) is fetched from
wherever it leads, as its author chose. One that *data* names (an image in a row) is fetched from public addresses only,
also after redirects, and never with credentials: neither a user in the URL, nor cookies, nor a ``.netrc``.

TLS certificates are always verified. If the MD5 of a file is given, the download is checked against it and discarded
if it does not match. Two processes that need the same file fetch it once. A large download that broke off goes on where
it stopped, if its MD5 or the server's own tag of the file can tell that both halves are of one file.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from polymeter.core.errors import DataError, boundary
from polymeter.core.files import replacing, sweep
from polymeter.core.guest_context import guest_context
from polymeter.core.pixels import check_pixels
from polymeter.core.secrets import hide_secrets
from polymeter.core.sources import digest
from polymeter.data.public import answer_of

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

MAX_BYTES = 64 << 30
MAX_IMAGE_BYTES = 64 << 20
TIMEOUT_S = 60.0
_BLOCK = 1 << 20
_SWITCH = "HF_HUB_OFFLINE"
_ON = ("1", "true", "yes", "on")
_TRIES = 2
_WAIT_S = 0.5
_LOCAL_HOSTS = ("", "localhost")
_WORTH_KEEPING = 1 << 20
"""From how many bytes on a download that broke off is kept."""
_PARTIAL, _NO_SUCH_RANGE = 206, 416
_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d+)-(?P<last>\d+)/(?P<total>\d+|\*)")
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
        target: Where the file goes. An existing file is replaced once the new one has been verified.
        md5: Hex MD5 that the file must have; ``None``: any.
        max_bytes: The largest size that is accepted.
        timeout_s: The longest wait for a connection or for the next bytes.
        is_offline: Refuse everything that is not on this machine; so does the environment variable ``HF_HUB_OFFLINE``.

    Returns:
        ``target``.

    Raises:
        DataError: if the file cannot be fetched, is too large, or has another MD5. An existing file is unchanged then,
            and nothing is left behind but the beginning of a large file whose download broke off, from which the next
            one goes on.
    """
    target, shown = Path(target), hide_secrets(url)
    if not md5 and not url.lower().startswith("https://"):
        log.warning("%s is not fetched over TLS and has no MD5: nothing proves what it is", shown)
    existed = target.exists()
    with boundary(DataError, f"Putting {shown} at {target}"), _locked(target):
        if target.exists() and (md5_of(target) == md5.lower() if md5 else not existed):
            return target  # another process fetched it while this one waited for the lock
        sweep([target.parent])
        part = _Part(target, url, md5)
        for is_last in (False, True):
            with _errors_naming(target), part.open() as file:
                sink = _Sink(file, shown, max_bytes, part)
                actual_md5 = _fetch(url, sink, timeout_s=timeout_s, is_offline=is_offline)
            if not md5 or actual_md5 == md5.lower():
                break
            part.discard()
            if is_last or not sink.is_resumed:  # else what was kept may be of a former file
                raise DataError(
                    f"What {shown} gives has MD5 {actual_md5}, not {md5.lower()}; it was thrown away.",
                    where=str(target),
                    hint="The file at that address has changed, or the MD5 in DATASET_MD5 is wrong.",
                )
        part.finish()
    return target


def size_of(url: str, *, timeout_s: float = TIMEOUT_S) -> int | None:
    """The size in bytes of the file at a URL that code or the user names; ``None`` if its server does not tell, or
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
            if response.status_code == _NO_SUCH_RANGE:
                return None
            _check_status(url, response)
            total = response.headers.get("content-range", "").rpartition("/")[2]
            size = total if response.status_code == _PARTIAL else response.headers.get("content-length") or ""
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
        raise DataError(f"{url[:120]!r} is no address that an image can be fetched from.", hint="Give an http(s) URL.")
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
        raise DataError(f"{url[:120]!r} is no address that data can be fetched from.", hint="Give an http(s) URL.")
    sink = _Sink(file, hide_secrets(url), max_bytes)
    _fetch(url, sink, timeout_s=TIMEOUT_S, is_offline=is_offline, stream=_stream_from_public_addresses)


def md5_of(path: Path) -> str:
    """Hex MD5 of a file."""
    state = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def is_offline_now(is_offline: bool = False) -> bool:
    """Whether nothing may be fetched: because the caller or the environment says so."""
    return is_offline or os.environ.get(_SWITCH, "").strip().lower() in _ON


def _existing_copy(folder: Path, name: str) -> Path | None:
    return next(iter(sorted(folder.glob(f"{name}.*"))), None)


def _image_suffix(data: bytes, url: str) -> str:
    """The suffix of an image's format. Decodes the whole image, so that one that is cut off is refused."""
    from PIL import Image as pil

    with boundary(DataError, f"Decoding what {hide_secrets(url)} gives as an image"):
        image = pil.open(io.BytesIO(data))
        check_pixels(image.size, f"The image at {hide_secrets(url)}")
        image.load()
    return f".{(image.format or 'png').lower()}".replace("jpeg", "jpg")


@contextmanager
def _errors_naming(target: Path) -> Iterator[None]:
    """Let errors inside this name where the file would have gone, so that a user can put it there."""
    try:
        yield
    except DataError as error:
        raise DataError(error.what, where=error.where or str(target), hint=error.hint) from error


def _fetch(
    url: str,
    sink: _Sink,
    *,
    timeout_s: float,
    is_offline: bool,
    stream: Callable[[str, _Sink, float], None] | None = None,
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


class _Part:
    """The beginning of a file, under another name in its folder until it is whole.

    Args:
        target: Where the whole file goes.
        url: Where it comes from.
        md5: Its MD5, if it is known: then the whole tells whether its parts fit together. Else the server's own tag of
            the file does, which is noted beside it, and without one nothing is kept.
    """

    def __init__(self, target: Path, url: str, md5: str | None) -> None:
        self._target, self._url, self._md5 = target, digest(url.encode()), (md5 or "").lower()
        self._file = target.with_name(f".{target.name}.part")
        self._note = target.with_name(f".{target.name}.part.json")
        self.tag, self._is_plain = "", True
        try:
            noted = json.loads(self._note.read_text(encoding="utf-8"))
            if noted["url"] == self._url and noted["md5"] == self._md5:
                self.tag = str(noted["tag"])
            else:
                self.discard()
        except (OSError, ValueError, TypeError, KeyError):
            self.discard()

    @property
    def can_be_joined(self) -> bool:
        """Whether something will tell if the rest is of the same file."""
        return self._is_plain and bool(self.tag or self._md5)

    @property
    def n_kept(self) -> int:
        """How many bytes are there that a download can go on from."""
        return self._file.stat().st_size if self.can_be_joined and self._file.is_file() else 0

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The file, to write to. It is removed if the block fails before much has arrived."""
        try:
            with self._file.open("r+b" if self.n_kept else "w+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:
            if isinstance(error, _TooLargeError) or self.n_kept < _WORTH_KEEPING:
                self.discard()
            raise

    def note(self, tag: str, *, can_be_joined: bool) -> None:
        """The server's tag of the file whose bytes come now, and whether they are the file's own."""
        self.tag, self._is_plain = tag, can_be_joined
        if not can_be_joined:
            self._note.unlink(missing_ok=True)
            return
        with replacing(self._note) as file:
            json.dump({"url": self._url, "md5": self._md5, "tag": tag}, file)

    def finish(self) -> None:
        """The file is whole: it goes into its place."""
        self._file.replace(self._target)
        self._note.unlink(missing_ok=True)

    def discard(self) -> None:
        """Nothing of it is of use."""
        self._file.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)
        self.tag, self._is_plain = "", True


class _Sink:
    """Writes bytes to a file: counted, hashed, and up to a limit. It goes on from what the file holds already.

    Args:
        file: The file.
        url: Where it comes from, as it is shown.
        max_bytes: Most bytes that are taken.
        part: What is known of what the file holds; ``None``: nothing in it is of use.
    """

    def __init__(self, file: IO[bytes], url: str, max_bytes: int, part: _Part | None = None) -> None:
        self._file, self._url, self._max_bytes, self._part = file, url, max_bytes, part
        self._told = guest_context().bytes_arrived
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._total: int | None = None
        self.size, self.is_resumed = 0, False
        if part is None or not part.n_kept:
            self.restart()
            return
        while block := file.read(_BLOCK):
            self._md5.update(block)
            self.size += len(block)
        self._tell(self.size)

    @property
    def hexdigest(self) -> str:
        """The MD5 of the whole file."""
        return self._md5.hexdigest()

    @property
    def headers(self) -> dict[str, str]:
        """What asks for the rest of the file alone, if something will tell whether it is of the same file."""
        if not self.size or self._part is None or not self._part.can_be_joined:
            return {}
        condition = {"If-Range": self._part.tag} if self._part.tag else {}
        return {"Range": f"bytes={self.size}-", **condition}

    def restart(self) -> None:
        """What is there is of no use."""
        self._tell(-self.size)
        self._file.seek(0)
        self._file.truncate()
        self._md5 = hashlib.md5(usedforsecurity=False)
        self.size, self.is_resumed = 0, False

    def expect(self, size: int) -> None:
        """Raise DataError if this size is over the limit."""
        if size > self._max_bytes:
            what = f"{self._url} gives {size} bytes or more; {self._max_bytes} are the most that is taken."
            raise _TooLargeError(what)

    def is_rest(self, response: httpx.Response) -> bool:
        """Whether a response is the rest of the file that is begun, up to its end."""
        found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        is_to_end = found is not None and found["total"] in ("*", str(int(found["last"]) + 1))
        is_same = self._part is not None and self._part.tag in ("", _tag_of(response))
        return is_to_end and is_same and int(found["first"]) == self.size  # type: ignore[index]

    def begin(self, response: httpx.Response) -> None:
        """A response comes: the rest of the file, or all of it."""
        if response.status_code == _PARTIAL:
            self.is_resumed = True
        else:
            self.restart()
        is_plain = response.headers.get("content-encoding", "identity") == "identity"
        length = response.headers.get("content-length") if is_plain else None
        self._total = None if length is None else self.size + int(length)
        self.expect(self._total or 0)
        if self._part is not None:
            self._part.note(_tag_of(response), can_be_joined=is_plain)

    def end(self) -> None:
        """All has come. Raise DataError if it is not the whole file."""
        if self._total is not None and self.size != self._total:
            raise _ServerError(f"{self._url} broke off after {self.size} of {self._total} bytes.")

    def write(self, block: bytes) -> int:
        self.size += len(block)
        self.expect(self.size)
        self._md5.update(block)
        self._tell(len(block))
        return self._file.write(block)

    def _tell(self, n_bytes: int) -> None:
        if self._told is not None and n_bytes:
            self._told(n_bytes)


def _tag_of(response: httpx.Response) -> str:
    """What tells one version of a file from another; empty if the server says nothing that does."""
    tag = str(response.headers.get("etag") or "")
    # A weak tag says that two files mean the same, not that they are the same bytes.
    return str(response.headers.get("last-modified") or "") if tag.startswith("W/") or not tag else tag


class _ServerError(DataError):
    """A server failed, which may be transient."""


class _TooLargeError(DataError):
    """A file is larger than what is taken."""


def _stream(url: str, sink: _Sink, timeout_s: float) -> None:
    import httpx

    with httpx.Client(follow_redirects=True, timeout=timeout_s) as client:
        if asked := sink.headers:
            with client.stream("GET", url, headers=_HEADERS | asked) as response:
                is_of_use = response.status_code != _NO_SUCH_RANGE and (
                    response.status_code != _PARTIAL or sink.is_rest(response)
                )
                if is_of_use:
                    _take(url, response, sink)
                    return
        sink.restart()
        with client.stream("GET", url, headers=_HEADERS) as response:
            _take(url, response, sink)


def _take(url: str, response: httpx.Response, sink: _Sink) -> None:
    _check_status(url, response)
    _check_tls(url, response)
    _pour(response, sink)


def _stream_from_public_addresses(url: str, sink: _Sink, timeout_s: float) -> None:
    with answer_of(url, timeout_s=timeout_s) as response:
        _check_status(url, response)
        _pour(response, sink)


def _pour(response: httpx.Response, sink: _Sink) -> None:
    sink.begin(response)
    for block in response.iter_bytes(_BLOCK):
        sink.write(block)
    sink.end()


def _check_status(url: str, response: httpx.Response) -> None:
    if response.is_error:
        what = f"{hide_secrets(url)} answers {response.status_code} {response.reason_phrase}."
        raise _ServerError(what) if response.is_server_error else DataError(what)


def _check_tls(url: str, response: httpx.Response) -> None:
    plain = next((step.url for step in (*response.history, response) if step.url.scheme != "https"), None)
    if url.lower().startswith("https:") and plain is not None:
        raise DataError(f"{hide_secrets(url)} leads to {plain.host} over plain http, which is not verified by TLS.")


def _is_transient(error: DataError) -> bool:
    """Whether another attempt may succeed: the connection or the server failed."""
    import httpx

    return isinstance(error, _ServerError) or isinstance(error.__cause__, httpx.TransportError)


def _copy(url: str, source: Path, host: str, sink: _Sink) -> None:
    if host not in _LOCAL_HOSTS:
        raise DataError(f"{url} names a file on another machine ({host}).", hint="Write file:///PATH.")
    if not source.is_file():
        raise DataError(f"{url}: there is no such file.")
    sink.restart()
    sink.expect(source.stat().st_size)
    with source.open("rb") as opened:
        shutil.copyfileobj(opened, sink, _BLOCK)


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
