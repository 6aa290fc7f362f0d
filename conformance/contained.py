"""A tool that runs on this machine and the rows given to it alone: what drivers of several tools share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def open_locally(places: Mapping[str, str]) -> None:
    """Let ``datasets.load_dataset`` read local rows: whatever is asked for, the rows of the current task are opened.

    Args:
        places: The folder of rows under ``current``, or by dataset, ``ID`` or ``ID:CONFIG``; the caller changes it.
    """
    import datasets

    def load_dataset(path: Any = None, name: Any = None, *_: Any, split: Any = None, **__: Any) -> Any:
        folder = Path(places.get(f"{path}:{name}") or places.get(str(path)) or places["current"])
        splits = {file.stem: read_rows(file) for file in sorted(folder.glob("*.parquet"))}
        return splits[split] if split else datasets.DatasetDict(splits)

    datasets.disable_progress_bars()
    # A mapped split is otherwise read from the last run, with what was drawn at random then.
    datasets.disable_caching()
    datasets.load_dataset = load_dataset
    datasets.load_from_disk = lambda dataset_path=None, *_, **__: load_dataset()


def read_rows(file: Path) -> Any:
    """A dataset of the rows in a Parquet file.

    ``Dataset.from_parquet`` makes a copy on disk and hashes it, which takes longer than most tasks take to read it.
    """
    import datasets
    from pyarrow import parquet

    fingerprint = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return datasets.Dataset(datasets.table.InMemoryTable(parquet.read_table(file)), fingerprint=fingerprint)


def only_this_machine() -> None:
    """Nothing else is reached: what wants the network fails at once, the same in both tools."""
    import socket

    resolve = socket.getaddrinfo

    def resolve_here(host: Any, *arguments: Any, **options: Any) -> Any:
        if host in {"127.0.0.1", "localhost", "::1", None, b"127.0.0.1"}:
            return resolve(host, *arguments, **options)
        raise socket.gaierror(socket.EAI_NONAME, f"{host} is not this machine")

    socket.getaddrinfo = resolve_here


class OutOfTime(BaseException):
    """A time limit is over. Task code that retries after every exception must not swallow it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the main thread after so many seconds of the processor, or ten times as many on the clock.

    The clock alone would stop what others on a busy machine keep waiting.
    """
    import signal

    def stop(*_: Any) -> None:
        raise OutOfTime(f"took more than {seconds} s")

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, 10 * seconds)}
    previous = {number: signal.signal(number, stop) for number, _ in timers.values()}
    for timer, (_, after) in timers.items():
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in previous.items():
            signal.signal(number, handler)


def reason(error: BaseException) -> str:
    """One line about an error."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"
