"""Packages that an adapter needs, and whether they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from collections.abc import Sequence
from typing import Any

from polymeter.core.names.installing import pip_install

logger = logging.getLogger("polymeter.benchmarks")


def is_build_doc() -> bool:
    """Return whether pages of documentation are being made (``BUILD_DOC=1``): packages may then be missing."""
    return os.environ.get("BUILD_DOC", "0") == "1"


def check_import(
    module_name: str | Sequence[str],
    package: str | Sequence[str | None] | None = None,
    raise_warning: bool = True,
    raise_error: bool = False,
    feature_name: str | None = "this feature",
    extra: str | None = None,
) -> bool:
    """Return whether modules can be imported; those that are installed are.

    Args:
        module_name: The modules.
        package: The package of each, for the message.
        raise_warning: Log those that are missing.
        raise_error: Raise an error for them.
        feature_name: What needs them.
        extra: The extra of EvalScope that brings them, named where no package is.

    Raises:
        ImportError: if one is missing and that is wanted.
    """
    modules = [module_name] if isinstance(module_name, str) else list(module_name)
    named: list[Any] = [package] * len(modules) if package is None or isinstance(package, str) else list(package)
    named += [None] * (len(modules) - len(named))
    missing = [(module, name) for module, name in zip(modules, named, strict=False) if not _is_importable(module)]
    if not missing:
        return True
    wanted = list(dict.fromkeys(name for _, name in missing if name)) or ([f"evalscope[{extra}]"] if extra else [])
    shown = ", ".join(module for module, _ in missing)
    verb = "are" if len(missing) > 1 else "is"
    message = f"{feature_name} needs {shown}, which {verb} not installed."
    if wanted:
        message += f" Install with: {pip_install(' '.join(wanted))}"
    if raise_warning:
        logger.warning(message)
    if raise_error and not is_build_doc():
        raise ImportError(message, name=missing[0][0])
    return False


def is_module_installed(module_name: str) -> bool:
    """Return whether a module can be imported. It is."""
    try:
        importlib.import_module(module_name)
    except ImportError:
        return False
    return True


def _is_importable(module: str) -> bool:
    """Import a module that is installed. An error of its own code is no missing module."""
    try:
        found = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError as error:
        if error.name is None or module == error.name or module.startswith(f"{error.name}."):
            return False
        raise
    if found:
        importlib.import_module(module)
    return found
