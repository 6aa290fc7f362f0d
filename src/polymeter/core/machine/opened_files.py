"""Files that code opens, and checks that they are still the same.

A result rests on every file that the code behind it has read: the image at a path in a row, a reference that a hook
opens while it scores. ``noting`` collects the files that are opened on this thread; a ``FileState`` is kept of each, so
that a resumed run can detect whether the file has changed meanwhile.

Files are noticed through Python's audit events, so code that opens them in another way (a C library that is given a
path) is not; media that is shown to a model is noted by its path in any case. An audit hook cannot be removed: there
is one, and it does nothing on a thread that notes nothing.
"""

from __future__ import annotations

import mimetypes
import os
import stat
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from polymeter.core.media.sources import digest_file
from polymeter.core.names.installed import is_benchmark_file

DIGESTED_BYTES = 64 * 2**20
"""Up to this size a file is known by its content too, so that one that was only touched counts as the same."""
_MOST_DIGESTED_BYTES = 512 * 2**20
_REMEMBERED = 10_000
_WRITES = os.O_WRONLY | os.O_RDWR

Noted = dict[str, tuple[int, int]]
"""Absolute path → size in bytes and time of modification in ns, as the file was when it was opened."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was when it was read.

    Attributes:
        path: Its absolute path.
        size: In bytes.
        mtime_ns: Time of its last modification.
        digest: Hex digest of its content; ``None`` if it is larger than ``DIGESTED_BYTES`` or changed meanwhile.
    """

    path: str
    size: int
    mtime_ns: int
    digest: str | None

    def as_list(self) -> list[Any]:
        """Its values, to be written as JSON."""
        return [self.path, self.size, self.mtime_ns, self.digest]


# An audit hook is called on the thread that opens a file, and is passed nothing else. Each block ends its own.
class _OpenedHere(threading.local):
    """The list in which this thread notes files."""

    now: tuple[Noted | None, Callable[[str], bool] | None] = (None, None)
    """The list, and the files that count; both in one, because each sample passes through several blocks."""


_here = _OpenedHere()
_installing = threading.Lock()
# Of the process: Python removes no audit hook.
_installed: list[bool] = []
_written: set[str] = set()  # by noted code: what it wrote itself is its own and no source
# Of the process, the last ones: size and time of a file are part of the key, and every run reads the same.
_digests: OrderedDict[tuple[str, int, int], str] = OrderedDict()
_digests_lock = threading.Lock()


class noting:
    """Note the files that are opened for reading on this thread, for as long as the block lasts.

    Files that the same code has written are left out, and so are folders, devices and files that are not wanted. A
    block inside this one notes its files here too, if they are wanted here.

    Args:
        noted: Where they are noted.
        is_wanted: Returns whether a file of this absolute path counts.
    """

    __slots__ = ("_before", "_noted", "_now")

    def __init__(self, noted: Noted, is_wanted: Callable[[str], bool]) -> None:
        self._noted = noted
        self._now = noted, is_wanted

    def __enter__(self) -> Noted:
        if not _installed:
            _install()
        self._before = _here.now
        _here.now = self._now
        return self._noted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        outer, is_wanted = _here.now = self._before
        if outer is not None and is_wanted is not None and outer is not self._noted:
            for path, size_and_time in self._noted.items():
                if path not in outer and is_wanted(path):
                    outer[path] = size_and_time


class not_noting:
    """Note no files on this thread for as long as the block lasts: what is read there is accounted for otherwise."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = _here.now
        _here.now = None, None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _here.now = self._before


def note_here(paths: Iterable[str]) -> None:
    """Note files on this thread as if they were opened now, if it notes any."""
    noted, is_wanted = _here.now
    if noted is None or is_wanted is None:
        return
    for path in paths:
        if path not in noted and is_wanted(path):
            note(noted, path)


def note_own(path: str | Path) -> None:
    """Let a file count as written by the code that is noted here: it holds what that code would write, as an earlier
    run left it.
    """
    noted, _ = _here.now
    own = os.path.abspath(path)
    if noted is not None:
        _note_written(own)
        noted.pop(own, None)


def is_noting(is_wanted: Callable[[str], bool]) -> bool:
    """Return whether this thread notes the files of this event."""
    return _here.now[1] is is_wanted


def note(noted: Noted, path: str | Path) -> None:
    """Note a file as it is now; nothing if it is not a regular file."""
    absolute = os.path.abspath(path)
    if absolute in noted or absolute in _written:
        return
    try:
        found = os.stat(absolute)
    except (OSError, ValueError):
        return
    if stat.S_ISREG(found.st_mode):
        noted[absolute] = found.st_size, found.st_mtime_ns


def states_of(noted: Mapping[str, tuple[int, int]]) -> list[FileState]:
    """The states of noted files, sorted by path."""
    return [
        FileState(path, size, mtime_ns, _digest_if_same(path, size, mtime_ns))
        for path, (size, mtime_ns) in sorted(noted.items())
        if path not in _written
    ]


def is_current(state: FileState) -> bool:
    """Return whether a file is still as it was: same size, and same time of modification or same content."""
    try:
        found = os.stat(state.path)
    except (OSError, ValueError):
        return False
    if found.st_size != state.size:
        return False
    if found.st_mtime_ns == state.mtime_ns:
        return True
    return state.digest is not None and _digest_of(state.path, found.st_size, found.st_mtime_ns) == state.digest


def read_file(path: str) -> tuple[bytes, FileState | None]:
    """Read a regular file; returns its bytes, and its state without a digest, or ``None`` if it changed meanwhile.

    Raises:
        OSError: if it cannot be read, or is not a regular file.
    """
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise FileNotFoundError(path)
    with open(path, "rb", buffering=0) as file:
        data = file.read()
        then = os.fstat(file.fileno())
    is_same = (found.st_size, found.st_mtime_ns) == (then.st_size, then.st_mtime_ns)
    return data, FileState(os.path.abspath(path), found.st_size, found.st_mtime_ns, None) if is_same else None


def remember_digest(state: FileState, digest: str) -> None:
    """Remember the digest of a file that ``read_file`` has read, so that it is not read and digested once more."""
    _remember((state.path, state.size, state.mtime_ns), digest)


def digest_of_file(path: str) -> str | None:
    """The digest of a file, which is read once as long as its size and time of modification stay the same; ``None`` if
    it cannot be read, or is not a regular file.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return _digest_of(os.path.abspath(path), found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def content_mark(path: str) -> str:
    """Return a stand-in for the content of a file: its digest; of a very large one, size and time of modification."""
    found = os.stat(path)
    if found.st_size > _MOST_DIGESTED_BYTES:
        return f"{found.st_size}:{found.st_mtime_ns}"
    return _digest_of(path, found.st_size, found.st_mtime_ns) or ""


def is_own_file(path: str) -> bool:
    """Return whether a file may be a benchmark's or a wrapper's own: none of the system, of Python, of an installed
    package (other than the benchmarks that it brings) or of a cache of downloads, and not hidden (``.env`` and the like
    are settings of a machine).
    """
    name = path.rpartition("/")[2]
    return not (
        name.startswith(".")
        or (("site-packages" in path or "dist-packages" in path) and not _is_of_benchmark(path))
        or "/.git/" in path
        or path.startswith(_foreign_folders())
    )


def _is_of_benchmark(path: str) -> bool:
    """Return whether a file lies among the benchmarks of an installed package."""
    with not_noting():  # packages are found by opening their metadata
        return is_benchmark_file(path)


def is_of_row(path: str, row: str) -> bool:
    """Return whether a file seems to belong to one row: it is a medium, or the row's text holds its name."""
    name = path.rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    kind = (mimetypes.guess_type(name)[0] or "").partition("/")[0]
    return kind in _MEDIA or suffix.lower() in _MORE_MEDIA or (stem or name) in row


_MEDIA = ("image", "audio", "video")
_MORE_MEDIA = ("webp", "npy", "npz", "pt", "mkv", "flac", "opus", "ogg", "m4a", "parquet", "arrow")
# Of the process: its folders are those of Python, of the system and of caches.
_foreign: list[tuple[str, ...]] = []


def _foreign_folders() -> tuple[str, ...]:
    """Beginnings of the paths of files that no benchmark brings."""
    if not _foreign:
        stdlib = os.path.dirname(os.path.abspath(os.__file__))
        package = str(Path(__file__).absolute().parents[2])
        ours = [f"{prefix}/{part}" for prefix in {sys.prefix, sys.base_prefix} for part in ("lib", "lib64", "share")]
        system = ["/proc", "/dev", "/sys", "/etc", "/run", "/usr/lib", "/usr/share"]
        hub = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
        named = [
            os.environ.get(f"HF_{name}_CACHE") or str(hub / name.lower())
            for name in ("HUB", "DATASETS", "MODULES", "ASSETS", "XET")
        ]
        home = Path.home()
        caches = [str(home / ".cache" / name) for name in ("torch", "matplotlib", "polymeter", "fontconfig", "pip")]
        caches += [str(home / name) for name in (".config", ".local/lib", ".local/share", ".triton", ".keras")]
        told = os.environ.get("POLYMETER_CACHE_DIR")
        folders = [stdlib, package, *ours, *system, *named, *caches, *([os.path.abspath(told)] if told else [])]
        _foreign.append(tuple(f"{folder.rstrip('/')}/" for folder in folders))
    return _foreign[0]


def _digest_if_same(path: str, size: int, mtime_ns: int) -> str | None:
    """The digest of a file that is small enough and as it was when it was opened."""
    if size > DIGESTED_BYTES:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    if (found.st_size, found.st_mtime_ns) != (size, mtime_ns):
        return None
    return _digest_of(path, size, mtime_ns)


def _digest_of(path: str, size: int, mtime_ns: int) -> str | None:
    key = (path, size, mtime_ns)
    with _digests_lock:
        known = _digests.get(key)
    if known is not None:
        return known
    try:
        made = digest_file(Path(path))
    except OSError:
        return None
    _remember(key, made)
    return made


def _remember(key: tuple[str, int, int], digest: str) -> None:
    with _digests_lock:
        _digests[key] = digest
        while len(_digests) > _REMEMBERED:
            _digests.popitem(last=False)


def _source_of(path: str) -> str:
    """The source file of a module's compiled code, which is what is opened in its place."""
    folder, _, name = path.rpartition("/")
    return f"{folder.removesuffix('/__pycache__')}/{name.partition('.')[0]}.py"


def _note_written(path: str) -> None:
    if len(_written) >= _REMEMBERED:
        _written.clear()
    _written.add(path)


def _install() -> None:
    with _installing:
        if not _installed:
            sys.addaudithook(_on_event)
            _installed.append(True)


def _on_event(event: str, args: tuple[Any, ...], here: _OpenedHere = _here) -> None:
    if event not in ("open", "os.rename"):
        return
    noted, is_wanted = here.now
    if noted is None or is_wanted is None:
        return
    name = args[1] if event == "os.rename" else args[0]
    if not isinstance(name, (str, bytes)):
        return
    # What this raises would be raised where the file is opened.
    try:
        path = os.path.abspath(os.fsdecode(name))
        if event == "os.rename" or (isinstance(args[2], int) and args[2] & _WRITES):
            _note_written(path)
            noted.pop(path, None)
        elif is_wanted(path):
            note(noted, _source_of(path) if path.endswith(".pyc") else path)
    except (OSError, ValueError):
        return
