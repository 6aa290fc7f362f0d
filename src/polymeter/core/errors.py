"""The errors of Polymeter: few, flat, and each with what, where and what to do.

Vocabulary
    ``PlanError``   the evaluation cannot run as requested; raised before anything is spent.
    ``DataError``   a dataset, a row or a piece of media is missing or broken.
    ``ModelError``  a model could not answer; ``kind`` shows if a retry can help.
    ``ScoreError``  there is an answer, but it could not be scored.
    ``StorageError``  a file of a run cannot be written or read: a full disk, a lost folder, a damaged file. It ends
        the run, which can be resumed.
    ``TrackerError``  a finished run could not be sent to a tracker. The run is whole, and can be sent again.

Code that Polymeter did not write (task hooks, wrapped models) may raise anything. ``boundary`` is the one place where
such an exception is caught and attributed to the file and line that raised it.
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal

from polymeter.core.text.secrets import scrubbed

ErrorKind = Literal["rate_limit", "transient", "permanent", "refused", "out_of_memory", "data", "score", "guest"]
ErrorScope = Literal["request", "unclear", "endpoint"]
"""The scope of an error: this request, the whole endpoint (its account, key or model), or one of the two."""


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
"""An object's address in a message. It differs between runs, so it is removed: the same failure has one message."""
PIXEL_HINT = "Pass --max-image-pixels N if it is meant to be that large."
_COMPILED = (".pyx", ".pxd", ".pxi")
"""Sources of compiled modules: a traceback names them by a path inside of their package."""
_PIXEL_BOMB = "DecompressionBombError"
"""Pillow's class for an image with too many pixels, by name: Pillow is not imported for it."""
GUEST_PREFIX = "_polymeter_guest_"
"""The prefixes of the names of modules that were loaded as guests (``guests.loading.packages``)."""
_SHORTEST = 3
"""Letters that a beginning needs to be taken for the whole name."""
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "cannot allocate memory")


class PolymeterError(Exception):
    """Base of all errors that Polymeter raises on purpose. Keys that a server or a guest repeats are taken out.

    Args:
        what: What happened, one sentence.
        where: File and line, field, or option; empty if there is none.
        hint: What to do about it; empty if there is nothing useful to say.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = scrubbed(what)
        self.where = scrubbed(where)
        self.hint = scrubbed(hint)
        super().__init__(self.what)

    def __str__(self) -> str:
        where = f" [{self.where}]" if self.where else ""
        hint = f" {self.hint}" if self.hint else ""
        return f"{self.what}{where}{hint}"

    def without_traceback(self) -> PolymeterError:
        """The same error as one that was never raised: without traceback, cause and context.

        An error that is kept must be kept like this, and another copy of it raised each time. The traceback of a
        raised error holds the frames that it passed, and with them all that they held, such as images.
        """
        fresh = type(self).__new__(type(self), *self.args)
        fresh.args = self.args
        fresh.__dict__.update(self.__dict__)
        return fresh


class PlanError(PolymeterError):
    """The evaluation cannot run as requested. Raised before time or money is spent."""


class UnfitError(PlanError):
    """A model cannot do what a task asks for. With ``--skip-unfit`` the other tasks are run."""


class MissingPackageError(PlanError):
    """A package that the evaluation needs is not installed."""


class DataError(PolymeterError):
    """A dataset, row or piece of media is missing or broken."""


class ScoreError(PolymeterError):
    """An answer could not be scored."""


class StorageError(PolymeterError):
    """A file of a run cannot be written or read. It is never the failure of one sample: it passes every place where
    errors become failures of samples and ends the run, which can be resumed.
    """


class TrackerError(PolymeterError):
    """A finished run could not be sent to a tracker. The run itself is whole, and can be sent again."""


class UnscoredError(ScoreError):
    """A judge's verdict is missing or unusable: the sample has no score, which is not a score of zero."""


class ModelError(PolymeterError):
    """A model could not answer.

    Args:
        what: What happened.
        kind: ``rate_limit`` and ``transient`` may be retried, ``out_of_memory`` in a smaller batch; ``permanent`` and
            ``refused`` may not.
        where: The model or endpoint.
        hint: What to do.
        retry_after_s: The wait that the endpoint asked for, if it did.
        scope: ``endpoint``: no other request can succeed either, so the run stops; ``unclear``: the run finds out.
        is_unpaid: Whether the request was certainly declined before any work on it, so that it is not charged.
            Default: a rate limit is.
    """

    def __init__(
        self,
        what: str,
        *,
        kind: ErrorKind = "permanent",
        where: str = "",
        hint: str = "",
        retry_after_s: float | None = None,
        scope: ErrorScope = "request",
        is_unpaid: bool | None = None,
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.is_unpaid = kind == "rate_limit" if is_unpaid is None else is_unpaid
        self.kind: ErrorKind = kind
        self.retry_after_s = retry_after_s
        self.scope: ErrorScope = scope


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be read as a benchmark, which a listing shows and does not raise. ``where`` is
    ``file:line``; ``names`` are the benchmarks in it that are known and cannot be run.
    """

    where: str
    message: str
    names: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """The file without the line."""
        name, _, line = self.where.rpartition(":")
        return Path(name if name and line.isdigit() else self.where)


def count(n: int, noun: str) -> str:
    """``1 sample``, ``1,204 samples``."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def enumerated(noun: str, names: Iterable[int | str], *, n: int = 5) -> str:
    """``row 3``, ``rows 3, 5 and 2 more``. Rows of a file are counted from 1; samples are named by their ids."""
    named = [str(name) for name in names]
    more = f" and {len(named) - n} more" if len(named) > n else ""
    return f"{noun}{'s' if len(named) > 1 else ''} {', '.join(named[:n])}{more}"


def no_folder(path: str | Path) -> str:
    """Return the sentence of an error about a place that is not a folder: it may be a file, or may not exist."""
    return f"{path} is a file, not a folder." if Path(path).is_file() else f"The folder {path} does not exist."


def did_you_mean(name: str, known: Iterable[str], *, n: int = 3) -> str:
    """A sentence with the nearest of the known names; empty if none is near."""
    near = nearest(name, known, n=n)
    return f"Did you mean {' or '.join(repr(x) for x in near)}?" if near else ""


def nearest(name: str, known: Iterable[str], *, n: int = 3) -> list[str]:
    """The known names that somebody may have meant: fewer than half of the letters differ, or one begins the other."""
    from rapidfuzz.distance import OSA

    def is_near(other: str) -> bool:
        begins = min(len(name), len(other)) >= _SHORTEST and (name.startswith(other) or other.startswith(name))
        return bool(begins or OSA.normalized_similarity(name, other) > 1 / 2)

    names = list(known)
    return [*filter(is_near, get_close_matches(name, names, n=max(1, len(names)), cutoff=0.5))][:n]


def blame(error: BaseException) -> str:
    """The innermost ``file:line`` of a traceback that lies outside Polymeter and the standard machinery.

    If there is none, it is the innermost frame of all, so the answer is never empty for an exception that was raised.
    """
    if isinstance(error, SyntaxError) and error.filename and not error.filename.startswith("<"):
        return f"{error.filename}:{error.lineno}"
    places = [(frame, f"{frame.f_code.co_filename}:{line}") for frame, line in traceback.walk_tb(error.__traceback__)]
    for frame, place in reversed(places):
        if is_of_guest(frame):
            return place
    return places[-1][1] if places else ""


def is_of_guest(frame: FrameType) -> bool:
    """Return whether a frame is of a guest's code: of code outside Polymeter, or of a module that was loaded as a guest
    from the benchmarks of an installed package. These count although they are installed, so that their authors' errors
    are attributed to them and the files that they open are sources.
    """
    file = frame.f_code.co_filename
    is_loaded = str(frame.f_globals.get("__name__")).startswith(GUEST_PREFIX)
    return outside_of_polymeter(file) or (is_loaded and not _is_of_polymeter(file))


def outside_of_polymeter(file: str) -> bool:
    """Return whether a file is neither Polymeter's, other than its library of benchmarks, nor Python's, nor that of an
    installed package.
    """
    path = Path(file)
    is_machinery = (
        "site-packages" in path.parts
        or path.suffix in _COMPILED
        or path.is_relative_to(sysconfig.get_path("stdlib"))
        or file.startswith(("<frozen", "<string>"))  # the latter is code that dataclasses and others have made
    )
    return not is_machinery and not _is_of_polymeter(file)


def _is_of_polymeter(file: str) -> bool:
    ours = Path(__file__).parents[1]
    return Path(file).is_relative_to(ours) and not Path(file).is_relative_to(ours / "library")


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that an exception was raised from, the nearest first."""
    cause = error.__cause__
    while cause is not None:
        yield cause
        cause = cause.__cause__


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception on its way to another thread."""

    error: BaseException


def attempt(function: Callable[[], Any]) -> Any:
    """Return the result of a function, or the exception that it raised as ``Raised``.

    It carries an exception, unchanged, from a worker to the thread that decides about it.
    """
    try:
        return function()
    except BaseException as error:  # noqa: BLE001
        return Raised(error)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error, or its cause, says that a device or the machine ran out of memory."""
    if getattr(error, "kind", "") == "out_of_memory" or isinstance(error, MemoryError):
        return True
    if type(error).__name__ == "OutOfMemoryError" or any(sign in str(error).lower() for sign in _OUT_OF_MEMORY):
        return True
    return error.__cause__ is not None and is_out_of_memory(error.__cause__)


class boundary:
    """Call a guest inside this, and all of its exceptions become one attributed error.

    A class and not a generator, because each sample passes through several.

    Polymeter's own errors, ``KeyboardInterrupt`` and the cancellation of a coroutine pass unchanged. Everything else
    is the guest's failure and does not end the run, not even a ``SystemExit`` or an exception that derives from
    ``BaseException`` directly, as those of some time-out packages do.

    Args:
        error_type: What to raise instead.
        doing: What the guest was called for, for the message ("doc_to_text of task 'mme'"), or what returns it.
        hint: What to do about it.
    """

    __slots__ = ("_doing", "_error_type", "_hint")

    def __init__(self, error_type: type[PolymeterError], doing: str | Callable[[], str], *, hint: str = "") -> None:
        self._error_type = error_type
        self._doing = doing
        self._hint = hint

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, (PolymeterError, KeyboardInterrupt, GeneratorExit)):
            return
        if type(error).__name__ == "CancelledError":  # by name: asyncio is not imported for it
            return
        text = _ADDRESS.sub("", " ".join(str(error).split())) or "no message"
        hint = self._hint or (PIXEL_HINT if type(error).__name__ == _PIXEL_BOMB else "")
        doing = self._doing() if callable(self._doing) else self._doing
        message = f"{doing} raised {type(error).__name__}: {text}"
        raise self._error_type(message, where=blame(error), hint=hint) from error
