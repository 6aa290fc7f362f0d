"""A file while it arrives: its beginning, kept from one attempt to the next, and the sink that its bytes go through.

Two halves are joined only if they are proven to be of one file: by the MD5 of the whole, or by the server's own tag.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from polymeter.core.errors import DataError
from polymeter.core.guest_context import guest_context
from polymeter.core.machine.files import replacing
from polymeter.core.media.sources import digest

if TYPE_CHECKING:
    import httpx

BLOCK = 1 << 20
PARTIAL, NO_SUCH_RANGE = 206, 416
_WORTH_KEEPING = 1 << 20
"""From how many bytes on a download that broke off is kept."""
_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d+)-(?P<last>\d+)/(?P<total>\d+|\*)")


class ServerError(DataError):
    """A server failed, which may be transient."""


class AbsentError(DataError):
    """There is no file at an address."""


class TooLargeError(DataError):
    """A file is larger than what is taken."""


class PartialFile:
    """The beginning of a file, under another name in its folder until it is whole.

    Args:
        target: The place of the whole file.
        url: Its address.
        md5: Its MD5, if it is known: it shows that the parts of the whole fit together. Else the server's own tag of
            the file shows it and is noted beside it; without one nothing is kept.
    """

    def __init__(self, target: Path, url: str, md5: str | None) -> None:
        self._target = target
        self._url = digest(url.encode())
        self._md5 = (md5 or "").lower()
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
        """True if it can be checked that the rest is of the same file."""
        return self._is_plain and bool(self.tag or self._md5)

    @property
    def n_kept(self) -> int:
        """The number of bytes that a download can continue from."""
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
            if isinstance(error, TooLargeError) or self.n_kept < _WORTH_KEEPING:
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


class Sink:
    """Writes bytes to a file: counted, hashed, and up to a limit. It continues after the bytes that the file holds
    already.

    Args:
        file: The file.
        url: Its address, as messages show it.
        max_bytes: Most bytes that are taken.
        part: Facts about the bytes that the file holds; ``None``: none of them are usable.
    """

    def __init__(self, file: IO[bytes], url: str, max_bytes: int, part: PartialFile | None = None) -> None:
        self._file = file
        self._url = url
        self._max_bytes = max_bytes
        self._part = part
        self._told = guest_context().bytes_arrived
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._total: int | None = None
        self.size, self.is_resumed = 0, False
        if part is None or not part.n_kept:
            self.restart()
            return
        while block := file.read(BLOCK):
            self._md5.update(block)
            self.size += len(block)
        self._tell(self.size)

    @property
    def hexdigest(self) -> str:
        """The MD5 of the whole file."""
        return self._md5.hexdigest()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that ask for the rest of the file alone, if it can be checked that it is the same file."""
        if not self.size or self._part is None or not self._part.can_be_joined:
            return {}
        condition = {"If-Range": self._part.tag} if self._part.tag else {}
        return {"Range": f"bytes={self.size}-", **condition}

    def restart(self) -> None:
        """Discard the bytes so far."""
        self._tell(-self.size)
        self._file.seek(0)
        self._file.truncate()
        self._md5 = hashlib.md5(usedforsecurity=False)
        self.size, self.is_resumed = 0, False

    def expect(self, size: int) -> None:
        """Raise DataError if this size is over the limit."""
        if size > self._max_bytes:
            what = f"{self._url} gives {size} bytes or more; at most {self._max_bytes} are accepted."
            raise TooLargeError(what)

    def is_rest(self, response: httpx.Response) -> bool:
        """Return whether a response is the rest of the file that is begun, up to its end."""
        found = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        is_to_end = found is not None and found["total"] in ("*", str(int(found["last"]) + 1))
        is_same = self._part is not None and self._part.tag in ("", _tag_of(response))
        return is_to_end and is_same and int(found["first"]) == self.size  # type: ignore[index]

    def begin(self, response: httpx.Response) -> None:
        """A response comes: the rest of the file, or all of it."""
        if response.status_code == PARTIAL:
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
            raise ServerError(f"{self._url} broke off after {self.size} of {self._total} bytes.")

    def write(self, block: bytes) -> int:
        """Take the next bytes. Raise DataError if they are too many."""
        self.size += len(block)
        self.expect(self.size)
        self._md5.update(block)
        self._tell(len(block))
        return self._file.write(block)

    def _tell(self, n_bytes: int) -> None:
        if self._told is not None and n_bytes:
            self._told(n_bytes)


def _tag_of(response: httpx.Response) -> str:
    """Return the tag of a file's version; empty if the server sends none."""
    tag = str(response.headers.get("etag") or "")
    # A weak tag says that two files mean the same, not that they are the same bytes.
    return str(response.headers.get("last-modified") or "") if tag.startswith("W/") or not tag else tag
