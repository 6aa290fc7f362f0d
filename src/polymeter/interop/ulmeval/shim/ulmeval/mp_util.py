"""``ulmeval.utils.mp_util``: concurrent calls of one function."""

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
    """The results of a function for each of several inputs, in their order.

    The calls run in threads that see the run's judge as the caller does. The first exception ends the whole call; calls
    that have not begun then never begin.

    Args:
        func: The function.
        tasks: Its inputs: a tuple or list of arguments, a mapping of keyword arguments, or anything else as the only
            argument.
        nproc: The number of concurrent calls.
        save: A ``.pkl`` file with a mapping of the results so far, rewritten as calls end. Its earlier entries stay in
            it, but their inputs are called again.
        keys: The key of each input in ``save``.
        **kwargs: Not used (``chunksize``, ``description``, …).

    Raises:
        TypeError: if ``func`` is not callable, or ``tasks`` is not a collection.
        ValueError: if ``nproc`` is not positive, there is not one key for each input, or the folder of ``save`` is
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
    call = in_this_mode(_call)
    saved = None if save is None else _SavedResults(Path(save))
    pool = ThreadPoolExecutor(nproc, thread_name_prefix="polymeter-guest")
    try:
        positions: dict[Future[Any], int] = {
            pool.submit(copy_context().run, call, func, one): position for position, one in enumerate(inputs)
        }
        for done in as_completed(positions):
            result = done.result()
            if saved is not None and keys is not None:
                saved.put(keys[positions[done]], result)
        return [future.result() for future in positions]
    finally:
        pool.shutdown(cancel_futures=True)
        if saved is not None:
            saved.write()


class _SavedResults:
    """A mapping that is saved in a file.

    Args:
        path: The file; made if it is missing.
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


def _call(func: Callable[..., Any], arguments: Any) -> Any:
    if isinstance(arguments, dict):
        return func(**arguments)
    return func(*arguments) if isinstance(arguments, (tuple, list)) else func(arguments)
