"""The proof that Polymeter enters guests through their door: a profile function that looks at every call of a guest's
function, on every thread, and notes those for which ``guests.door`` says that the thread is outside.

A guest's function is one that was loaded by ``guests.loading.imports`` or ``--import``, or whose file lies in a folder
named ``guests`` or below the folder of a test's own files. A thread that a guest starts is inside if its starter was;
a thread of Polymeter's own pools has to enter by itself.

Two callers need no door, because no engine is at work: a test that calls a guest's function by hand (``BY_HAND`` lists
their files, with reasons), and a script under ``polymeter python``, which is a program that drives Polymeter.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from polymeter.cli import python
from polymeter.guests.door import current_mode

TESTS = Path(__file__).parents[1]
BY_HAND = {
    "conformance/evalscope/test_adapter_runs.py": "runs a script by runpy, as a user would without our command",
    "conformance/lmms_eval/shim/test_model_helpers.py": "calls a function of a guest that imports the shim",
    "conformance/lmms_eval/shim/test_surface.py": "calls a function of a guest that imports the shim",
    "conformance/lmms_eval/test_classes.py": "compiles a task and calls its functions one by one",
    "conformance/lmms_eval/test_guide.py": "compiles a task and calls its functions one by one",
    "conformance/lmms_eval/test_rounds.py": "compiles a task and answers its rollout itself",
    "conformance/test_door_probe.py": "looks at the probe itself",
    "conformance/ulmeval/shim/test_imports_loading.py": "constructs a wrapper and calls it, as a script would",
    "conformance/ulmeval/shim/test_judges_asking.py": "asks a judge that a guest makes",
    "conformance/ulmeval/test_checklist.py": "constructs a wrapper and calls it, as a script would",
    "conformance/ulmeval/test_facts.py": "makes a dataset class and calls its methods",
    "conformance/ulmeval/test_guide.py": "makes a dataset class and calls its evaluate",
    "tasks/yaml/kit.py": "compiles tasks and runs them without an engine, for single prompts and scores",
}
"""Test files that call functions of guests themselves, below ``tests``, each with what for."""

_POLYMETER = str(Path(sys.modules["polymeter"].__file__ or "").parent) + "/"
_GUEST_MODULES = ("_polymeter_guest_", "_polymeter_import_")
_RUNNERS = tuple(f"{_POLYMETER}{room}/" for room in ("analysis", "api", "catalog", "cli", "exchange", "run"))
_SCRIPT = python._execute.__code__
_POOLS = tuple(str(Path(threading.__file__).with_name(name)) for name in ("threading.py", "concurrent"))
_DEEPEST_STACK = 12


class DoorProbe:
    """Notes calls of guests from outside the door.

    Args:
        folder: The folder below which tests write guests of their own.
        by_hand: The test files that may call guests by hand.

    Attributes:
        outside: Each function that was called from outside, with where from.
        n_inside: How many calls came from inside.
    """

    def __init__(self, folder: Path, by_hand: Callable[[str], bool] = BY_HAND.__contains__) -> None:
        self.outside: dict[str, str] = {}
        self.n_inside = 0
        self._folder = f"{folder}/"
        self._by_hand = by_hand
        self._inherited = threading.local()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at this thread, and at all that are started meanwhile."""
        start = threading.Thread.start

        def start_inheriting(thread: threading.Thread) -> None:
            if self._is_inside() and not _is_started_by_us(sys._getframe(1)):
                thread.run = self._inside(thread.run)  # type: ignore[method-assign]
            start(thread)

        profile = self._profile()
        before, before_of_threads = sys.getprofile(), threading.getprofile()
        threading.Thread.start = start_inheriting  # type: ignore[method-assign]
        threading.setprofile(profile)
        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(before)
            threading.setprofile(before_of_threads)  # type: ignore[arg-type]
            threading.Thread.start = start  # type: ignore[method-assign]

    def _profile(self) -> Callable[[FrameType, str, Any], None]:
        # Keyed by identity, because hashing a code object hashes all that it holds. The objects are kept, so that none
        # takes over the identity of another.
        is_guest: dict[int, bool] = {}
        kept: list[CodeType] = []

        def look(frame: FrameType, event: str, argument: Any) -> None:
            if event != "call":
                return
            code = frame.f_code
            answer = is_guest.get(id(code))
            if answer is None:
                kept.append(code)
                answer = is_guest[id(code)] = self._is_guest(frame)
            if answer:
                self._note(frame)

        return look

    def _note(self, frame: FrameType) -> None:
        if self._is_inside():
            self.n_inside += 1
            return
        code = frame.f_code
        where = f"{code.co_filename}:{frame.f_lineno} {code.co_name}"
        if where not in self.outside and not self._needs_no_door(frame):
            self.outside[where] = _callers(frame)

    def _is_guest(self, frame: FrameType) -> bool:
        file = frame.f_code.co_filename
        if str(frame.f_globals.get("__name__", "")).startswith(_GUEST_MODULES):
            return True
        if file.startswith(_POLYMETER) or not file.endswith(".py"):
            return False
        return "/guests/" in file or file.startswith(self._folder)

    def _is_inside(self) -> bool:
        return current_mode() is not None or getattr(self._inherited, "is_inside", False)

    def _inside(self, run: Callable[[], None]) -> Callable[[], None]:
        def run_inside() -> None:
            self._inherited.is_inside = True
            run()

        return run_inside

    def _needs_no_door(self, frame: FrameType) -> bool:
        """Whether the innermost caller that is neither a guest nor what it builds on is a script or a test."""
        caller = frame.f_back
        while caller is not None:
            file = caller.f_code.co_filename
            if file.startswith(_RUNNERS):
                return caller.f_code is _SCRIPT
            if file.startswith(f"{TESTS}/") and not _is_passed_over(file):
                return self._by_hand(str(Path(file).relative_to(TESTS)))
            caller = caller.f_back
        return False


def _is_passed_over(file: str) -> bool:
    """Whether a file of the tests is no caller: a guest, or the oracle, which stands between wrappers and callers."""
    return "/guests/" in file or file.startswith(f"{TESTS}/oracle/")


def _is_started_by_us(frame: FrameType | None) -> bool:
    """Whether Polymeter's own code starts a thread here, by itself or through a pool of the standard library."""
    while frame is not None and frame.f_code.co_filename.startswith(_POOLS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_POLYMETER)


def _callers(frame: FrameType) -> str:
    lines = []
    caller = frame.f_back
    while caller is not None and len(lines) < _DEEPEST_STACK:
        lines.append(f"    from {caller.f_code.co_filename}:{caller.f_lineno} {caller.f_code.co_name}")
        caller = caller.f_back
    return "\n".join(lines)
