"""Progress bars that other packages draw with tqdm, hidden on one thread: Polymeter shows its own."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


# A thread-local, since a bar is made deep inside another package, to which nothing can be passed. Each block ends it.
class _HiddenHere(threading.local):
    """True if this thread hides bars."""

    is_quiet = False


_here = _HiddenHere()


@contextmanager
def without_bars() -> Iterator[None]:
    """Hide the bars that start on this thread inside this."""
    _check_threads()
    before, _here.is_quiet = _here.is_quiet, True
    try:
        yield
    finally:
        _here.is_quiet = before


def is_quiet() -> bool:
    """Return whether this thread hides bars now."""
    return _here.is_quiet


def _check_threads() -> None:
    """Have bars check, when they start, whether their thread is quiet. Calling it again changes nothing. tqdm reads its
    own switch (``TQDM_DISABLE``) only when it is imported. Bars of a version without ``disable`` are shown.
    """
    from tqdm import tqdm

    begin = tqdm.__init__
    if getattr(begin, "checks_thread", False) or "disable" not in inspect.signature(begin).parameters:
        return

    def check_and_begin(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **{**kwargs, "disable": True} if _here.is_quiet else kwargs)

    check_and_begin.checks_thread = True  # type: ignore[attr-defined]
    tqdm.__init__ = check_and_begin
