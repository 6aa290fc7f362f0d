"""``ulmeval.utils.mp_util``: many calls of one function, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextvars import copy_context
from pathlib import Path
from typing import Any

from polymeter.data.formats import dump, load
from polymeter.guests.door import in_this_mode

__all__ = ["track_progress_rich"]

_SAVE_EVERY_S = 1.0


def track_progress_rich(
    func: Callable[..., Any],
    tasks: Iterable[Any] = (),
    nproc: int = 1,
    save: str | None = None,
    keys: Sequence[Any] | None = None,
    **kwargs: Any,
) -> list[Any]:
    """What a function gives for each of several inputs, in their order.

    The calls run in threads that see the run's judge as the caller does. The first exception ends it; calls that have
    not begun then never begin.

    Args:
        func: The function.
        tasks: Its inputs: a tuple or list holds its arguments, a mapping its arguments by name, anything else is its
            only argument.
        nproc: How many calls run at a time.
        save: A ``.pkl`` file with a mapping of what is there so far, rewritten as calls end. What it holds already
            stays in it; those inputs are called again all the same.
        keys: What each input is called in ``save``.
        **kwargs: Not used (``chunksize``, ``description``, …).

    Raises:
        TypeError: ``func`` cannot be called, or ``tasks`` is no collection.
        ValueError: ``nproc`` is not positive, there is not one key for each input, or the folder of ``save`` is
            missing.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, not {type(func).__name__}.")
    if not isinstance(tasks, Iterable):
        raise TypeError(f"tasks must be a collection, not {type(tasks).__name__}.")
    inputs = list(tasks)
    if nproc <= 0:
        raise ValueError(f"nproc must be positive, not {nproc}.")
    if keys is not None and len(keys) != len(inputs):
        raise ValueError(f"There are {len(keys)} keys for {len(inputs)} tasks.")
    kept = None if save is None else _Kept(Path(save))
    call = in_this_mode(_call)
    pool = ThreadPoolExecutor(nproc, thread_name_prefix="polymeter-guest")
    try:
        places: dict[Future[Any], int] = {
            pool.submit(copy_context().run, call, func, given): place for place, given in enumerate(inputs)
        }
        for done in as_completed(places):
            found = done.result()
            if kept is not None and keys is not None:
                kept.put(keys[places[done]], found)
        return [future.result() for future in places]
    finally:
        pool.shutdown(cancel_futures=True)
        if kept is not None:
            kept.write()


class _Kept:
    """A mapping in a file.

    Args:
        path: The file; made when it is not there.
    """

    def __init__(self, path: Path) -> None:
        if not path.parent.is_dir():
            raise ValueError(f"There is no folder {path.parent} to save into.")
        self._path = path
        self._values: dict[Any, Any] = load(str(path)) if path.is_file() else {}
        self._written = time.monotonic()
        self.write()

    def put(self, key: Any, value: Any) -> None:
        self._values[key] = value
        if time.monotonic() - self._written > _SAVE_EVERY_S:
            self.write()

    def write(self) -> None:
        dump(self._values, str(self._path))
        self._written = time.monotonic()


def _call(func: Callable[..., Any], given: Any) -> Any:
    if isinstance(given, dict):
        return func(**given)
    return func(*given) if isinstance(given, (tuple, list)) else func(given)
