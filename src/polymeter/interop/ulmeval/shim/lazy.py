"""Names that are imported when they are first used: star imports bind them all, whatever of it a file needs."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from polymeter.core.names.registry import missing_package


class LazyModule(ModuleType):
    """A module that is imported when something of it is asked for.

    Args:
        name: Its dotted name.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        return getattr(_loaded(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(_loaded(self.__name__))


class LazyObject:
    """A function, class or object of a module that is imported when it is called, or something of it asked for.

    Args:
        module: Dotted name of the module.
        name: Name of the object in it.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._real()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._real(), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._real())

    def __repr__(self) -> str:
        return f"<{self._module}.{self._name}>"

    def _real(self) -> Any:
        return getattr(_loaded(self._module), self._name)


def _loaded(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        top = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise missing_package(top, f"what is imported as {name}") from error
