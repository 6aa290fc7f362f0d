"""Arguments as objects."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from polymeter.interop.evalscope.shim.evalscope.utils.io_utils import json_to_dict, yaml_to_dict

T = TypeVar("T", bound="BaseArgument")


class BaseArgument:
    """A base of data classes that are made from mappings and files."""

    @classmethod
    def from_dict(cls: type[T], d: Mapping[str, Any]) -> T:
        """One from a mapping."""
        return cls(**d)

    @classmethod
    def from_json(cls: type[T], json_file: str) -> T:
        """One from a JSON file."""
        return cls.from_dict(json_to_dict(json_file))

    @classmethod
    def from_yaml(cls: type[T], yaml_file: str) -> T:
        """One from a YAML file."""
        return cls.from_dict(yaml_to_dict(yaml_file))

    @classmethod
    def from_args(cls: type[T], args: Namespace) -> T:
        """One from parsed arguments; those that are ``None`` keep their defaults."""
        return cls.from_dict({name: value for name, value in vars(args).items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        """All attributes."""
        return dict(vars(self))

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), indent=4, default=str, ensure_ascii=False)


def parse_int_or_float(num: Any) -> int | float:
    """A number, as an integer where it is whole."""
    number = float(num)
    return int(number) if number.is_integer() else number


def get_supported_params(func: Callable[..., Any]) -> list[str]:
    """Names of a function's parameters."""
    return list(inspect.signature(func).parameters)
