"""The files that guests open while they load: a table of prompts beside the code, a module outside the folder.

A guest's results depend not only on its own code, which reading its imports finds (``sources``), but also on the files
that this code reads when it is loaded. These files are sources too, by their content. They are known only after the
code has run, and a module runs once for all tasks that use it, so the files that each module has opened are remembered.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from pathlib import Path

from polymeter.core.machine.opened_files import Noted, content_mark, is_noting, is_own_file, note_here, noting
from polymeter.guests.held import changed_by

_opened_by: dict[str, set[str]] = {}  # source file of a module → files that loading it for a guest has opened


# An ``import`` passes nothing to the module that it loads. Each block ends its own.
class _LoadingHere(threading.local):
    """The collection of files that are opened on this thread."""

    collected: set[str] | None = None


_here = _LoadingHere()


@contextmanager
def collecting_sources() -> Iterator[set[str]]:
    """Collect the files that guests open while they load on this thread, inside the block."""
    before, collected = _here.collected, set[str]()
    _here.collected = collected
    try:
        yield collected
    finally:
        _here.collected = before


@contextmanager
def loading_sources(file: Path | None = None, *, is_data: Callable[[str], bool] | None = None) -> Iterator[None]:
    """Run a guest's code that is part of loading it inside this.

    Args:
        file: The module that is loaded, so that its files are known when another task uses it, too.
        is_data: Whether a file is data, which is recorded elsewhere, and not a source.
    """
    noted: Noted = {}
    try:
        with noting(noted, is_own_file):
            yield
    finally:
        if file is not None:
            _opened_by[str(file)] = set(noted)
        if _here.collected is not None:
            _here.collected.update(path for path in noted if is_data is None or not is_data(path))


def add_sources(files: Iterable[Path]) -> None:
    """Count files as if the code that is loading on this thread had opened them: source files of code that is known
    only after data was read.
    """
    if _here.collected is not None:
        _here.collected.update(map(str, files))


@contextmanager
def importing(name: str, fromlist: Sequence[str] = ()) -> Iterator[None]:
    """Import a module for a guest inside this: the files that the import opens count, also if it happened before.

    Args:
        name: Its name in ``sys.modules``, which may differ from the guest's: neighbours have private names.
        fromlist: The names imported from it.
    """
    if not is_noting(is_own_file):
        yield
        return
    items = [f"{name}.{item}" for item in fromlist]
    # A package that was imported before opens nothing itself any more: files opened now belong to the modules in it.
    # Other modules of the same package must not count, or a hash would depend on other code that this process has
    # loaded.
    loaded = items if items and name in sys.modules else [name]
    noted: Noted = {}
    with noting(noted, is_own_file):
        yield
    if noted:
        for file in _files_of(loaded):
            _opened_by.setdefault(file, set()).update(noted)
    parents = accumulate(name.split("."), "{}.{}".format)
    files = _files_of([*parents, *items])
    note_here(chain(files, *(_opened_by.get(file, ()) for file in files)))


def _files_of(modules: Iterable[str]) -> list[str]:
    """The source files of those modules that are loaded."""
    files = (getattr(sys.modules.get(module), "__file__", None) for module in modules)
    return [file for file in files if isinstance(file, str)]


def opened_behind(sources: Iterable[Path], collected: Iterable[str] = ()) -> tuple[Path, ...]:
    """The files that loading some source files has opened, directly or not, and those of a script that changed the
    loaded modules, without the source files themselves; sorted.

    Args:
        sources: The source files.
        collected: Further files, opened by the code loaded from them.
    """
    own = {str(file) for file in sources} | {str(file.resolve()) for file in sources}
    found: set[str] = set()
    waiting = [*own, *collected]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        waiting.extend((*_opened_by.get(path, ()), *changed_by(path)))
    return tuple(sorted(Path(path) for path in found - own if Path(path).is_file()))


def hash_opened(opened: Iterable[Path]) -> str:
    """A hash of opened files alone; empty if there are none."""
    return hash_with_opened("", opened)


def hash_with_opened(source_hash: str, opened: Iterable[Path]) -> str:
    """A source hash that counts opened files, too, by their names and contents; the same hash if there are none."""
    marks = sorted((file.name, content_mark(str(file))) for file in opened)
    if not marks:
        return source_hash
    state = hashlib.blake2b(source_hash.encode(), digest_size=16)
    for name, mark in marks:
        state.update(f"{name}\0{mark}\0".encode(errors="surrogateescape"))
    return state.hexdigest()
