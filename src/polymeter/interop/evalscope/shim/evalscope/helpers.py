"""Small helpers of ``evalscope.utils``: arguments as objects, deprecation, packages, the process, the logger."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import random
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping
from enum import Enum
from functools import wraps
from typing import Any, TypeVar

from polymeter.interop.evalscope.shim.evalscope.io_utils import json_to_dict, yaml_to_dict
from polymeter.interop.evalscope.tasks.guest import get_logger

__all__ = [
    "BaseArgument",
    "EvalBackend",
    "configure_logging",
    "deprecated",
    "get_device",
    "get_logger",
    "get_module_path",
    "get_supported_params",
    "is_module_installed",
    "logger",
    "parse_int_or_float",
    "seed_everything",
]

T = TypeVar("T", bound="BaseArgument")
F = TypeVar("F", bound="Callable[..., Any]")

logger = get_logger()


class BaseArgument:
    """Base of data classes that are made from mappings and files."""

    @classmethod
    def from_dict(cls: type[T], d: Mapping[str, Any]) -> T:
        """An object from a mapping."""
        return cls(**d)

    @classmethod
    def from_json(cls: type[T], json_file: str) -> T:
        """An object from a JSON file."""
        return cls.from_dict(json_to_dict(json_file))

    @classmethod
    def from_yaml(cls: type[T], yaml_file: str) -> T:
        """An object from a YAML file."""
        return cls.from_dict(yaml_to_dict(yaml_file))

    @classmethod
    def from_args(cls: type[T], args: Namespace) -> T:
        """An object from parsed arguments; those that are ``None`` keep their defaults."""
        return cls.from_dict({name: value for name, value in vars(args).items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """All attributes."""
        return dict(vars(self))

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), indent=4, default=str, ensure_ascii=False)


def parse_int_or_float(num: Any) -> int | float:
    """A number, as an integer if it is whole."""
    number = float(num)
    return int(number) if number.is_integer() else number


def get_supported_params(func: Callable[..., Any]) -> list[str]:
    """Names of a function's parameters."""
    return list(inspect.signature(func).parameters)


def deprecated(since: str, remove_in: str | None = None, alternative: str | None = None) -> Callable[[F], F]:
    """A decorator that warns when a function is called.

    Args:
        since: The version that deprecates it.
        remove_in: The version that removes it.
        alternative: What to use instead.
    """
    removal = f" and will be removed in {remove_in}" if remove_in else ""
    hint = f"; use {alternative}" if alternative else ""

    def mark(function: F) -> F:
        @wraps(function)
        def warned(*args: Any, **kwargs: Any) -> Any:
            text = f"{function.__name__} is deprecated since {since}{removal}{hint}."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return warned  # type: ignore[return-value]

    return mark


def is_module_installed(module_name: str) -> bool:
    """Return whether a module can be imported. It is not imported, but for ``a.b`` its package ``a`` is."""
    try:
        return importlib.util.find_spec(module_name) is not None
    except ModuleNotFoundError:
        return False


def get_module_path(module_name: str) -> str:
    """The file of a module, which is imported.

    Raises:
        ImportError: if it has none.
    """
    file = getattr(importlib.import_module(module_name), "__file__", None)
    if file is None:
        raise ImportError(f"Module {module_name!r} has no file.")
    return str(file)


class EvalBackend(Enum):
    """The tool that runs the benchmarks."""

    NATIVE = "Native"
    OPEN_COMPASS = "OpenCompass"
    VLM_EVAL_KIT = "VLMEvalKit"
    RAG_EVAL = "RAGEval"
    THIRD_PARTY = "ThirdParty"


def get_device() -> str:
    """``cuda:0``, ``mps`` or ``cpu``; without torch, ``cpu``."""
    try:
        import torch
    except ModuleNotFoundError:
        return "cpu"
    if torch.cuda.is_available():
        return "cuda:0"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def seed_everything(seed: int) -> None:
    """Seed Python's generator, and those of NumPy and torch if they are loaded. A run seeds them itself."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def configure_logging(debug: bool = False, log_file: str | None = None, **kwargs: Any) -> None:
    """Do nothing: a run decides where its log goes."""
