"""Names, hashes and versions as both tools write them into their files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

_UNSAFE = re.compile(r"[\"<>:/|\\?*\[\]]+")
Directions = dict[str, bool | None]
"""The direction of each metric: true if a higher value is better, ``None`` if it is both."""


def safe_name(name: str) -> str:
    """A name as part of a file's: without characters that file systems refuse."""
    return _UNSAFE.sub("__", name)


def hash_text(text: str) -> str:
    """The hash that both give a text: SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def filters_of(task: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of a task's filters, from its part of ``results.json``."""
    return tuple(dict.fromkeys(result["filter"] for result in task["results"])) or ("none",)


def read_version(text: str) -> int | float | str:
    """A version that a run folder holds as text, as YAML reads it."""
    for read in (int, float):
        with suppress(ValueError):
            return read(text)
    return text


def merge_directions(merged: Directions, members: Iterable[Directions]) -> None:
    """Add the directions of a group's members to its own; a metric on which they differ has none."""
    for directions in members:
        for metric, direction in directions.items():
            merged[metric] = direction if merged.get(metric, direction) == direction else None
