"""The proof that Polymeter enters guests through their door: a profile function that looks at every call of a guest's
function, on every thread, and notes those that happen while ``guests.door`` says that the thread is outside.

A guest's function is one whose file lies in a folder named ``guests`` or in a folder of a test's own files, or whose
module was loaded by ``guests.imports`` or ``--import``. A thread that a guest starts is inside if its starter was; a
thread of Polymeter's own pools has to enter by itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from polymeter.guests.door import current_mode

_GUEST_MODULES = ("_polymeter_guest_", "_polymeter_import_")
_OWN_SOURCE = str(Path(sys.modules["polymeter"].__file__ or "").parent)
_DEEPEST_STACK = 12


class DoorProbe:
    """Notes calls of guests from outside the door.

    Args:
        folder: The folder below which a test writes its own guests.
    """

    def __init__(self, folder: Path) -> None:
        self.outside: dict[str, str] = {}
        self.n_inside = 0
        self._folder = str(folder)
        # By identity, because hashing a code object hashes all that it holds; the objects are kept so that none reuses
        # another's identity.
        self._is_guest: dict[int, bool] = {}
        self._seen: list[CodeType] = []
        self._inherited = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at one event of the interpreter."""
        if event != "call":
            return
        code = frame.f_code
        is_guest = self._is_guest.get(id(code))
        if is_guest is None:
            is_guest = self._is_guest[id(code)] = self._belongs_to_guest(frame)
            self._seen.append(code)
        if not is_guest:
            return
        if self._is_inside():
            self.n_inside += 1
            return
        where = f"{code.co_filename}:{frame.f_lineno} {code.co_name}"
        if where not in self.outside:
            self.outside[where] = f"{where}\n{_callers(frame)}"

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at this thread, and at all that are started inside this."""
        start = threading.Thread.start

        def start_inheriting(thread: threading.Thread) -> None:
            if self._is_inside() and not _is_ours(thread):
                run = thread.run

                def run_inside() -> None:
                    self._inherited.is_inside = True
                    run()

                thread.run = run_inside  # type: ignore[method-assign]
            start(thread)

        threading.Thread.start = start_inheriting  # type: ignore[method-assign]
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
            threading.Thread.start = start  # type: ignore[method-assign]

    def _is_inside(self) -> bool:
        return current_mode() is not None or getattr(self._inherited, "is_inside", False)

    def _belongs_to_guest(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if str(frame.f_globals.get("__name__", "")).startswith(_GUEST_MODULES):
            return True
        return "/guests/" in file.removeprefix(_OWN_SOURCE) and file.endswith(".py") and not file.startswith(_OWN_SOURCE) or (
            file.startswith(self._folder) and file.endswith(".py")
        )


def _is_ours(thread: threading.Thread) -> bool:
    """Whether a thread belongs to a pool of Polymeter's, which must enter the door by itself."""
    return thread.name.startswith("polymeter-")


def _callers(frame: FrameType) -> str:
    lines = []
    caller = frame.f_back
    while caller is not None and len(lines) < _DEEPEST_STACK:
        lines.append(f"    from {caller.f_code.co_filename}:{caller.f_lineno} {caller.f_code.co_name}")
        caller = caller.f_back
    return "\n".join(lines)
