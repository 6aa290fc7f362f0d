"""What foreign wrappers are called with: the two places of Polymeter that the oracle has to look into.

Each is found under the first of some dotted names that exists. When code moves, its new name is added here, and
nothing else of the oracle changes.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.oracle.old_runs import digest

INSTANCE = (
    "polymeter.guests.instance:Instance",
    "polymeter.interop.guests.instance:Instance",
    "polymeter.interop.instance:Instance",
    "polymeter.interop.lmms_eval.instance:Instance",
    "polymeter.interop.lmms_eval.models.instance:Instance",
)
"""The class whose objects a wrapper of lmms-eval is called with: ``request_type``, ``arguments``, ``metadata``."""

CALL_HOOK = (
    "polymeter.models.ulm_hooks:with_known",
    "polymeter.interop.ulmeval.models.hooks:with_known",
    "polymeter.interop.ulmeval.hooks:with_known",
    "polymeter.interop.ulmeval.ulm_hooks:with_known",
)
"""The function that calls a hook of a ULMEvalKit wrapper: ``(hook, message, extra, **known)``."""

Note = Callable[[str, str], None]


def resolve(candidates: tuple[str, ...]) -> tuple[Any, str, Any]:
    """The module, the attribute and the object of the first name that exists.

    Raises:
        LookupError: None does; the list of names has to be brought up to date.
    """
    for candidate in candidates:
        home, _, name = candidate.partition(":")
        try:
            module = import_module(home)
        except ModuleNotFoundError:
            continue
        if hasattr(module, name):
            return module, name, getattr(module, name)
    raise LookupError(f"none of {', '.join(candidates)} exists: add the new name in {__file__}")


def install(note: Note) -> None:
    """Tell ``note(kind, text)`` of every call from now on, also in modules that have imported the function already."""
    _watch_instances(resolve(INSTANCE)[2], note)
    _, name, call = resolve(CALL_HOOK)
    watched = _watched(call, note)
    for module in list(sys.modules.values()):
        if vars(module).get(name) is call:
            setattr(module, name, watched)


def _watch_instances(cls: type, note: Note) -> None:
    before = cls.__post_init__  # type: ignore[attr-defined]

    @functools.wraps(before)
    def made(self: Any) -> None:
        before(self)
        note("lmms", json.dumps([self.request_type, plain(self.arguments), plain(self.metadata)]))

    cls.__post_init__ = made  # type: ignore[attr-defined]


def _watched(call: Callable[..., Any], note: Note) -> Callable[..., Any]:
    @functools.wraps(call)
    def calling(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        @functools.wraps(function)
        def hook(*given: Any, **named: Any) -> Any:
            name = getattr(function, "__name__", "?")
            note("ulm", json.dumps([name, plain(given), plain(named)]))
            return function(*given, **named)

        return call(hook, *args, **kwargs)

    return calling


def plain(value: Any, depth: int = 8) -> Any:
    """A likeness of what was handed over: functions by their kind, images by size, mode and pixels."""
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return _image_file(value) or str(value)
    if hasattr(value, "getbands") and hasattr(value, "tobytes"):
        return ["image", list(value.size), value.mode, digest(value.tobytes())]
    if depth == 0:
        return type(value).__name__
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(plain(item, depth - 1) for item in value)]
    if callable(value):
        return "function"
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return ["array", str(value.dtype), plain(value.tolist(), depth - 1)]
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))[:500]


def _image_file(text: str) -> Any:
    if len(text) > 1000 or not text.lower().endswith((".png", ".jpg", ".jpeg", ".webp")):
        return None
    from PIL import Image

    try:
        with Image.open(Path(text)) as image:
            return ["image file", list(image.size), image.mode, digest(image.tobytes())]
    except OSError:
        return None
