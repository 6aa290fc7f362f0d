"""Which published tasks are tried: every task folder, and in each the tasks that differ in their hooks.

Tasks that share all hooks and settings are one task to a measuring tool; the rows, which would differ, are generated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.made_rows.schema import FunctionName, read_yaml

PER_FOLDER = 3
_HOOKS = (
    "doc_to_text", "doc_to_visual", "doc_to_target", "doc_to_choice", "doc_to_messages", "process_docs",
    "process_results",
)  # fmt: skip
_TELLING = (
    "output_type", "doc_to_text", "doc_to_visual", "doc_to_target", "doc_to_choice", "doc_to_messages", "process_docs",
    "process_results", "filter_list", "repeats", "fewshot_config",
)  # fmt: skip


@dataclass(frozen=True)
class Published:
    """A task file of the installed package.

    Attributes:
        name: The task's name.
        file: Its YAML.
        config: Its configuration, functions by name.
    """

    name: str
    file: Path
    config: Mapping[str, Any]

    @property
    def splits(self) -> list[str]:
        """The names of the splits that it reads, without slices; never empty."""
        keys = ("test_split", "validation_split", "training_split", "fewshot_split")
        named = [str(value).split("[")[0] for key in keys if (value := self.config.get(key))]
        return list(dict.fromkeys(named)) or ["test"]

    @property
    def hooks(self) -> list[str]:
        """What kinds of hooks it has, and the other fields that change how it runs."""
        kinds = [key for key in _HOOKS if isinstance(self.config.get(key), FunctionName)]
        kinds += [key for key in ("filter_list", "fewshot_config", "repeats") if self.config.get(key)]
        if isinstance(self.config.get("doc_to_visual"), str):
            kinds.append("doc_to_visual: column")
        metrics = self.config.get("metric_list")
        items = [item for item in metrics if isinstance(item, dict)] if isinstance(metrics, list) else []
        return kinds + (
            ["aggregation"] if any(isinstance(item.get("aggregation"), FunctionName) for item in items) else []
        )

    @property
    def has_messages(self) -> bool:
        return isinstance(self.config.get("doc_to_messages"), FunctionName)


def published_tasks(folder: Path) -> list[Published]:
    """Every task file below a folder that can be read."""
    found: dict[str, Published] = {}
    for file in sorted(folder.rglob("*.yaml")):
        try:
            config = read_yaml(file)
        except (OSError, yaml.YAMLError):
            continue
        name = config.get("task")
        if isinstance(name, str) and "dataset_path" in config and "class" not in config:
            found[name] = Published(name, file, config)
    return list(found.values())


def task_files(folder: Path) -> dict[str, Path]:
    """The file of every task below a folder, also where it cannot be read; of two with one name, the last."""
    found: dict[str, Path] = {}
    for file in sorted(folder.rglob("*.yaml")):
        try:
            name = read_yaml(file).get("task")
        except (OSError, yaml.YAMLError):
            match = re.search(r"^task:\s*[\"']?([^\s\"'#\[]+)", file.read_text(encoding="utf-8"), re.M)
            name = match[1] if match else None
        if isinstance(name, str):
            found[name] = file
    return found


def chosen_tasks(tasks: list[Published], folder: Path, per_folder: int = PER_FOLDER) -> list[Published]:
    """Of each task folder, tasks with different hooks; of output types other than text, all that differ."""
    chosen, seen = [], set[str]()
    counts: dict[str, int] = {}
    for task in tasks:
        place = task.file.relative_to(folder).parts[0]
        is_rare = task.config.get("output_type", "generate_until") != "generate_until"
        kind = telling(task, folder)
        if kind in seen or (counts.get(place, 0) >= per_folder * (2 if is_rare else 1)):
            continue
        seen.add(kind)
        counts[place] = counts.get(place, 0) + 1
        chosen.append(task)
    return chosen


def telling(task: Published, folder: Path) -> str:
    """What tells a task from others of its folder: its hooks and settings. Tasks that share them can share rows."""
    return repr([task.file.relative_to(folder).parts[0], *(_plain(task.config.get(key)) for key in _TELLING)])


def _plain(value: Any) -> Any:
    return f"{value.file.name}:{value.name}" if isinstance(value, FunctionName) else value


def main() -> None:
    """Write the names of the tasks to try."""
    import json
    import sys

    from conformance.lmms_eval.templates import add_templates_once

    folder = add_templates_once()
    names = [task.name for task in chosen_tasks(published_tasks(folder), folder)]
    Path(sys.argv[1]).write_text(json.dumps(names), encoding="utf-8")


if __name__ == "__main__":
    main()
