"""Objects that task classes work with besides their methods: the configuration they read and change, splits that open
at first use, and the settings that the run passes to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polymeter.tasks.yaml import config


@dataclass(frozen=True, slots=True)
class LmmsTaskContext:
    """The settings that the run passes to a task class. An object has them before its constructor runs, because
    constructors written for lmms-eval have no parameter for them and many open their dataset there.

    Attributes:
        name: The task's name in its YAML.
        directory: Folder of the YAML.
        model_key: Selects the model-specific blocks.
        data: Local files in place of dataset ids.
        cache_dir: The folder for prepared datasets.
    """

    name: str = ""
    directory: Path = field(default_factory=Path)
    model_key: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    cache_dir: Path | None = None


class TaskConfig:
    """The configuration of a task as its class reads and changes it: attributes, keys, ``to_dict``.

    Raises:
        TypeError: if a field is unknown.
    """

    def __init__(self, **values: Any) -> None:
        field_names = {"class", "group", *config.YamlFields.model_fields} - {"class_"}
        unknown = sorted(set(values) - field_names)
        if unknown:
            raise TypeError(f"TaskConfig has no field {unknown[0]!r}")
        object.__setattr__(self, "_values", {**_defaults(), **values})

    def __getattr__(self, name: str) -> Any:
        values = object.__getattribute__(self, "_values")
        if name in values:
            return values[name]
        raise AttributeError(f"TaskConfig has no field {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """A field's value, or the default if it has none."""
        return self._values.get(name, default)

    def to_dict(self, keep_callable: bool = False) -> dict[str, Any]:
        """The fields that have a value; functions as text unless ``keep_callable``."""
        values = {name: value for name, value in self._values.items() if value is not None}
        return values if keep_callable else {k: str(v) if callable(v) else v for k, v in values.items()}


class LmmsTaskSplits(dict[str, Any]):
    """Splits of a dataset, each opened at first use."""

    def __init__(self, open_split: Callable[[str], Any]) -> None:
        super().__init__()
        self._open = open_split

    def __missing__(self, split: str) -> Any:
        self[split] = self._open(split)
        return self[split]


def _defaults() -> dict[str, Any]:
    """The values of fields that nobody sets, as task code expects them."""
    unset = {name: None for name in config.YamlFields.model_fields if name != "class_"}
    return unset | {
        "full_docs": False,
        "process_results_use_image": False,
        "description": "",
        "target_delimiter": " ",
        "fewshot_delimiter": "\n\n",
        "output_type": "generate_until",
        "repeats": 1,
        "auto_strip_thinking": False,
        "score_key": "score",
        "should_decontaminate": False,
    }
