"""The datasets that are open in this process, by name: code of models and benchmarks asks for the type of one by its
name alone.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

_OPEN: WeakValueDictionary[str, Any] = WeakValueDictionary()


def note_open(name: str, dataset: Any) -> None:
    """Remember a dataset under its name, for as long as somebody else holds it."""
    _OPEN[name] = dataset


def open_dataset(name: str) -> Any:
    """The dataset of a name that was opened last; ``None`` when none is open."""
    return _OPEN.get(name)
