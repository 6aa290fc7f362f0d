"""Size and prompts of a task YAML, read without its code and without the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polymeter.core.format import Outline
from polymeter.core.task import TaskSpec
from polymeter.data.opening.counting import count_rows, media_columns
from polymeter.data.source import BUILDERS
from polymeter.tasks.yaml.config import YamlFields, config_of

_ONLY_SPLIT = "train"
"""The split that ``datasets`` gives to data files that are not assigned to any."""


def outline(spec: TaskSpec) -> Outline:
    """The outline of a task.

    Raises:
        PlanError: if its configuration is not valid.
    """
    config = config_of(spec)
    if config.class_ is not None:
        return Outline()
    files = _data_files(config, spec.file.parent)
    counts = [count_rows(file) for file in files]
    is_counted = bool(counts) and config.process_docs is None
    n_samples = sum(count or 0 for count in counts) if is_counted and None not in counts else None
    return Outline(n_samples, _modalities(config, files))


def _data_files(config: YamlFields, folder: Path) -> list[Path]:
    """The local files of the measured split; none if they are not known, or lie elsewhere."""
    if config.dataset_path not in BUILDERS:
        return []
    files: Any = config.dataset_kwargs.get("data_files")
    split = config.eval_split or ""
    if isinstance(files, Mapping):
        files = files.get(split)
    elif split != _ONLY_SPLIT:
        return []
    named = [files] if isinstance(files, str) else files if isinstance(files, list) else []
    paths = [folder / str(name) for name in named]
    return paths if all(path.is_file() for path in paths) else []


def _modalities(config: YamlFields, files: list[Path]) -> tuple[str, ...]:
    """Return the modalities of a task. ``media`` stands for media that only the task's code knows: an image, a video or
    audio.
    """
    if config.doc_to_messages is not None:
        return ()
    if config.doc_to_visual is None:
        return ("text",)
    columns = media_columns(files[0]) if files else {}
    if isinstance(config.doc_to_visual, str):
        columns = {name: kind for name, kind in columns.items() if name == config.doc_to_visual}
    return ("text", *(sorted(set(columns.values())) or ("media",)))
