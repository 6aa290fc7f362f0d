"""Wrappers in a checkout of VLMEvalKit, by the names of its ``config.py``: ``--model-path VLMEVALKIT``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.ulmeval.models.vlmevalkit.names import (
    SupportedName,
    checked_out,
    configuration_beside,
    supported,
)

_FOLDERS = ("vlm", "api", "ulm")


@dataclass(frozen=True, slots=True)
class CheckedOutWrapper:
    """A wrapper of a checkout.

    Attributes:
        file: The file that defines its class.
        cls: The class.
        arguments: Arguments of its entry in the list of models.
    """

    file: Path
    cls: str
    arguments: Mapping[str, Any]


def wrapper_in_checkout(name: str, path: str) -> CheckedOutWrapper | None:
    """The wrapper that a name means in a checkout: an entry of its list of models, or a class.

    Args:
        name: The name.
        path: The checkout, its package, or its folder of wrappers.

    Returns:
        The wrapper; ``None`` if the path is no checkout.

    Raises:
        PlanError: if the checkout has no such name, or no file that defines the class.
    """
    config = configuration_beside(Path(path)) if path else None
    if config is None:
        return None
    entries = checked_out(config)
    entry = entries.get(name)
    if entry is None:
        # A name that the checkout makes by running code, unless it is a class's.
        is_class = next(_defining(config.parent, name), None) is not None
        entry = SupportedName(name, is_api=False) if is_class else supported().get(name)
    if entry is None:
        hint = did_you_mean(name, entries) or "'polymeter vlmeval mlist' lists names."
        raise PlanError(f"{path!r} has no model {name!r}.", where="--model", hint=hint)
    file = next(_defining(config.parent, entry.cls), None)
    if file is None:
        raise PlanError(
            f"No file of the checkout defines {entry.cls!r}, which makes {name!r}.",
            where=str(config.parent),
            hint="Its files are incomplete, or of another version.",
        )
    return CheckedOutWrapper(file, entry.cls, entry.arguments)


def _defining(package: Path, cls: str) -> Iterator[Path]:
    """Files of wrappers that define a class, found by their text."""
    sign = f"class {cls}".encode()
    for folder in _FOLDERS:
        for file in sorted((package / folder).rglob("*.py")):
            source = file.read_bytes()
            if sign in source and _defines(source, cls):
                yield file


def _defines(source: bytes, cls: str) -> bool:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ClassDef) and node.name == cls for node in tree.body)
