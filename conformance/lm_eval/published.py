"""The tasks that come with the installed lm-eval, as plain data, and which of them are alike.

This module is imported by drivers in lm-eval's environment only: lm-eval's own index says what there is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from conformance.made_rows.schema import FunctionName

SPLITS = ("test_split", "validation_split", "training_split", "fewshot_split")
_ROWS = (
    "doc_to_text", "doc_to_target", "doc_to_choice", "doc_to_image", "doc_to_audio", "process_docs", "process_results",
    "gen_prefix", "description", "fewshot_config", "output_type", *SPLITS,
)  # fmt: skip
_REST = (
    "filter_list", "metric_list", "generation_kwargs", "repeats", "num_fewshot", "target_delimiter",
    "fewshot_delimiter", "use_prompt", "custom_dataset", "unsafe_code",
)  # fmt: skip


@dataclass(frozen=True)
class Published:
    """A task file of the installed package.

    Attributes:
        name: The task's name.
        file: Its YAML.
        config: Its configuration with its includes, functions by name.
        is_class: Whether it is a class in Python.
    """

    name: str
    file: Path
    config: Mapping[str, Any]
    is_class: bool = False

    @property
    def place(self) -> str:
        """The folder of tasks that it belongs to."""
        return self.file.relative_to(tasks_folder()).parts[0]

    @property
    def output_type(self) -> str:
        return str(self.config.get("output_type", "generate_until"))

    @property
    def splits(self) -> list[str]:
        """The names of the splits that it reads; never empty."""
        few_shot = self.config.get("fewshot_config")
        named = [self.config.get(key) for key in SPLITS]
        named.append(few_shot.get("split") if isinstance(few_shot, dict) else None)
        return list(dict.fromkeys(str(one) for one in named if one)) or ["test"]

    @property
    def dataset(self) -> str:
        """Its dataset as ``--data`` names it."""
        path, name = self.config.get("dataset_path"), self.config.get("dataset_name")
        return f"{path}:{name}" if name else str(path)

    @property
    def rows_key(self) -> str:
        """Equal for tasks that can read the same rows."""
        told = {key: _told(self.config.get(key), is_text=True) for key in _ROWS}
        if "{" not in str(told["description"]):
            told["description"] = None  # words alone read no column
        if isinstance(few_shot := told["fewshot_config"], dict):
            told["fewshot_config"] = {key: value for key, value in few_shot.items() if key != "samples"}
        return _digest([self.place, told])

    @property
    def kind_key(self) -> str:
        """Equal for tasks that are one task to a measuring tool but for their data and words."""
        few_shot = self.config.get("fewshot_config")
        few_shot = {**few_shot, "samples": type(few_shot.get("samples")).__name__} if few_shot else None
        told = [_told(self.config.get(key), is_text=False) for key in (*_ROWS, *_REST) if key != "fewshot_config"]
        return _digest([*told, _told(few_shot, is_text=False)])


def tasks_folder() -> Path:
    """Where the installed lm-eval keeps its tasks."""
    import lm_eval.tasks

    return Path(lm_eval.tasks.__file__).parent


def published_tasks(manager: Any) -> dict[str, Published]:
    """All tasks that lm-eval's index lists, by name.

    Args:
        manager: Its ``TaskManager``.
    """
    folder = tasks_folder()
    found = {}
    for name in manager.all_subtasks:
        entry = manager.task_index[name]
        config = _with_functions(entry.cfg, folder)
        found[name] = Published(name, Path(entry.yaml_path), config, is_class="class" in config)
    return found


def _with_functions(value: Any, folder: Path) -> Any:
    """A configuration in which the texts that the index has in place of functions are their names."""
    if isinstance(value, str) and value.startswith(f"{folder}/"):
        return _function(value, folder)
    if isinstance(value, dict):
        return {key: _with_functions(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_functions(one, folder) for one in value]
    return value


def _function(text: str, folder: Path) -> FunctionName:
    place, _, name = text.rpartition(".")
    base, _, module = place.rpartition("/")
    file = Path(base).joinpath(*module.split(".")).with_suffix(".py")
    if not file.is_file() and module.startswith("lm_eval.tasks."):
        file = folder.joinpath(*module.split(".")[2:]).with_suffix(".py")
    return FunctionName(file, name)


def _told(value: Any, *, is_text: bool) -> Any:
    """What tells values apart: functions by name, texts by what they are, or as they are."""
    if isinstance(value, FunctionName):
        return f"{_source_digest(value.file)}:{value.name}" if is_text else f"function {value.file.parent.name}"
    if isinstance(value, dict):
        return {str(key): _told(one, is_text=is_text) for key, one in value.items()}
    if isinstance(value, list):
        return [_told(one, is_text=is_text) for one in value] if is_text else ["list", *_kinds(value)]
    if isinstance(value, str) and not is_text:
        return "template" if "{{" in value or "{%" in value else value if len(value) < 24 else "text"
    return value


@cache
def _source_digest(file: Path) -> str:
    """What tells files of functions apart: folders of languages often hold copies of one, others one of their own."""
    return _digest(file.read_text(encoding="utf-8") if file.is_file() else str(file))


def _kinds(values: list[Any]) -> list[Any]:
    if values and isinstance(values[0], dict):
        return [_told(one, is_text=False) for one in values]
    return sorted({type(one).__name__ for one in values})


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]
