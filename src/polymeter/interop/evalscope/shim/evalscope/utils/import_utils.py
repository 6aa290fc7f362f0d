"""Asking for packages."""

from __future__ import annotations

import importlib
import importlib.util

__all__ = ["get_module_path", "is_module_installed"]


def is_module_installed(module_name: str) -> bool:
    """Whether a module can be imported; it is not imported (of ``a.b``, ``a`` is)."""
    try:
        return importlib.util.find_spec(module_name) is not None
    except ModuleNotFoundError:
        return False


def get_module_path(module_name: str) -> str:
    """The file of a module, which is imported.

    Raises:
        ImportError: There is none.
    """
    file = getattr(importlib.import_module(module_name), "__file__", None)
    if file is None:
        raise ImportError(f"Module {module_name!r} has no file.")
    return str(file)
