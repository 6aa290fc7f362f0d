"""lm-eval's task files: YAML like ours that means something else by it.

The index of task YAML (``tasks.yaml``) lists these files by the rules of ``dialect``; everything after that is
here:

- ``config`` knows the fields, ``load`` makes specs of tasks, groups and tags, ``inspection`` shows and checks them.
- ``compile`` puts a task together: ``docs`` opens its rows, ``fields`` reads them, ``samplers`` choose examples,
  ``prompts`` writes contexts, ``instances`` says what is asked, and ``asking`` asks it.
- ``scoring``, ``chains``, ``metrics`` and ``reduction`` turn answers into numbers, ``groups`` those of tasks into
  those of groups. ``class_task`` reads tasks that are Python classes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.format import Format, HubSource, Loaded, OpenContext, Outline, PageKeys
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec
from polymeter.interop.lm_eval.tasks.dialect import NAME

__all__ = ["FORMAT"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """Nothing: task YAML has one index for the files of all its dialects, and lists these too."""
    return Catalog()


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The specs behind an entry."""
    from polymeter.interop.lm_eval.tasks.load import load

    return load(entry, catalog)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """The resolved configuration behind an entry."""
    from polymeter.interop.lm_eval.tasks.inspection import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """A task as one YAML text."""
    from polymeter.interop.lm_eval.tasks.inspection import flatten

    return flatten(entry)


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """What is wrong with an entry, found without running its code."""
    from polymeter.interop.lm_eval.tasks.inspection import check

    return check(entry, catalog)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The task for a model, with its dataset open."""
    from polymeter.interop.lm_eval.tasks.compile import compile_task

    return compile_task(spec, traits, context)


def _get_ready() -> None:
    """Import what tasks are made with, and what most data files are read with."""
    import_module("polymeter.interop.lm_eval.tasks.compile")
    import_module("pyarrow")


def _metrics(spec: TaskSpec) -> Collection[str] | None:
    """The metrics of a task, unless only its code knows them."""
    from polymeter.interop.lm_eval.tasks.config import config_of
    from polymeter.interop.lm_eval.tasks.scoring.metrics import metric_names

    return None if "class" in spec.config else metric_names(config_of(spec))


def _outline(spec: TaskSpec) -> Outline:
    """The modalities of a task."""
    from polymeter.interop.lm_eval.tasks.inspection import outline

    return outline(spec)


_PAGE_KEYS = PageKeys(
    description="",  # in this format it is part of the prompt
    tags="tag",
    dataset="dataset_path",
    subsets="dataset_name",
    splits=("training_split", "validation_split", "test_split", "fewshot_split"),
    outputs=("output_type",),
    default_output="generate_until",
    few_shot="num_fewshot",
    settings=("dataset_kwargs", "generation_kwargs", "repeats", "filter_list", "fewshot_config", "gen_prefix"),
    prompts=("description", "doc_to_text", "doc_to_choice", "doc_to_target"),
    kinds=dict.fromkeys(("multiple_choice", "loglikelihood_rolling"), "loglikelihood"),
)


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """The dataset that the task names; ``None`` if its code opens what it reads."""
    from polymeter.tasks.yaml.prompts.rows import hub_sources

    return None if spec.config.get("custom_dataset") else hub_sources(spec)


def _code(spec: TaskSpec) -> Collection[Path]:
    """The files that the task's tags name."""
    from polymeter.tasks.yaml.task_code import loaded_files

    return loaded_files(spec)


FORMAT = Format(
    NAME,
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    labels={"en": "lm-eval task", "zh": "lm-eval 任务"},
    page_keys=_PAGE_KEYS,
    metrics=_metrics,
    outline=_outline,
    sources=_sources,
    code=_code,
    get_ready=_get_ready,
)
