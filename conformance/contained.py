"""A tool that runs on this machine and the rows given to it alone: what drivers of several tools share."""

from __future__ import annotations

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
        splits = {
            file.stem: datasets.Dataset.from_parquet(str(file), cache_dir=str(folder / "cache"))
            for file in sorted(folder.glob("*.parquet"))
        }
        return splits[split] if split else datasets.DatasetDict(splits)

    datasets.disable_progress_bars()
    # A mapped split is otherwise read from the last run, with what was drawn at random then.
    datasets.disable_caching()
    datasets.load_dataset = load_dataset
    datasets.load_from_disk = lambda dataset_path=None, *_, **__: load_dataset()


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
def time_limit(seconds: int) -> Iterator[None]:
    """Raise `OutOfTime` in the main thread."""
    import signal

    def stop(*_: Any) -> None:
        raise OutOfTime(f"took more than {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def reason(error: BaseException) -> str:
    """One line about an error."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"
