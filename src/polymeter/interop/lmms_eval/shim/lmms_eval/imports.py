"""``lmms_eval.imports``: optional packages of task and model files."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from polymeter.core.names.installing import pip_install

__all__ = [
    "MissingOptionalDependencyError",
    "is_package_available",
    "make_lazy_getattr",
    "optional_import",
    "require_package",
]


class MissingOptionalDependencyError(ImportError):
    """A package that is needed now is not installed."""

    def __init__(self, package: str, extras: str | None = None, feature: str | None = None) -> None:
        wanted = f", needed for {feature}," if feature else ""
        super().__init__(f"The package {package!r}{wanted} is not installed. Install it with: {pip_install(package)}")


def is_package_available(package_name: str) -> bool:
    """Return whether a package is installed. It is not imported, but for ``a.b`` its package ``a`` is."""
    try:
        return importlib.util.find_spec(package_name) is not None
    except ModuleNotFoundError:
        return False


def optional_import(module_name: str, attribute: str | None = None, fallback: Any = None) -> tuple[Any, bool]:
    """A module, or an attribute of it, and ``True``; if it is missing, the fallback and ``False``."""
    try:
        module = importlib.import_module(module_name)
        return (module if attribute is None else getattr(module, attribute)), True
    except (ImportError, AttributeError):
        return fallback, False


def require_package(package: str, extras: str | None = None, feature: str | None = None) -> None:
    """Check that a package is installed.

    Raises:
        MissingOptionalDependencyError: if it is not.
    """
    if not is_package_available(package):
        raise MissingOptionalDependencyError(package, extras, feature)


def make_lazy_getattr(lazy_imports: Mapping[str, tuple[str, str]]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that imports at first access: name → (module, attribute)."""

    def __getattr__(name: str) -> Any:
        if name not in lazy_imports:
            raise AttributeError(f"There is no attribute {name!r} here.")
        module, attribute = lazy_imports[name]
        return getattr(importlib.import_module(module), attribute)

    return __getattr__
