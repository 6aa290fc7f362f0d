"""The files that guests open while they load: a table of prompts beside the code, a module outside the folder.

What a guest's results rest on is not only its own code, which reading its imports finds (``sources``), but also what
that code reads when it is loaded. These files are sources too, by their content. They are known only once the code has
run, and a module runs once however many tasks use it, so what each module has opened is remembered.
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
    """Where what is opened on this thread is collected."""

    collected: set[str] | None = None


_here = _LoadingHere()


@contextmanager
def collecting_sources() -> Iterator[set[str]]:
    """Collect the files that guests open while they load on this thread, for as long as the block lasts."""
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
        file: The module that is loaded, so that its files are known where another task uses it, too.
        is_data: Whether a file is data, which is accounted for otherwise, and no source.
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
    """Count files among those that what is loaded on this thread rests on, as if it had opened them: source files of
    code that is known only once data was read.
    """
    if _here.collected is not None:
        _here.collected.update(map(str, files))


@contextmanager
def importing(name: str, fromlist: Sequence[str] = ()) -> Iterator[None]:
    """Import a module for a guest inside this: what the import opens counts, also where it happened before.

    Args:
        name: What ``sys.modules`` calls it, which is not always what the guest does: neighbours have private names.
        fromlist: What is imported from it.
    """
    if not is_noting(is_own_file):
        yield
        return
    items = [f"{name}.{item}" for item in fromlist]
    # A package that was there before opens nothing itself any more: what is opened now belongs to the modules in it.
    # Other modules of the same package must not count, or a hash would depend on what else this process has loaded.
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
    """The files that loading some source files has opened, directly or not, and those of a script that changed what was
    loaded from them, as far as they are not among them; sorted.

    Args:
        sources: The source files.
        collected: Further files, opened by what was loaded from them.
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
