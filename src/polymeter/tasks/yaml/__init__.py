"""The task YAML format: benchmarks written as YAML files with ``!function`` hooks.

Three layers, the first two of which run no task code:

- ``reader`` gives pure data; ``config`` knows the fields.
- ``index`` lists names, ``load`` makes specs of them, ``inspection`` shows and checks them; ``task_code`` knows a
  task's files.
- ``compile`` makes a Task of a spec: ``pieces`` collects the task's compiled hooks, ``prompts`` builds its messages
  from rows and forms, an output type (``outputs``) makes its rollout and score, and ``scoring`` makes values of
  answers. What a YAML alone cannot say is attached through ``extensions``.
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
from polymeter.guests.held import forget_modules
from polymeter.tasks.yaml.index import NAME
from polymeter.tasks.yaml.index import index as index_roots

__all__ = ["FORMAT"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All tasks and groups under the roots. Each run begins here, so guest modules are forgotten and run anew."""
    forget_modules()
    return index_roots(roots, cache_dir)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The specs behind an entry."""
    from polymeter.tasks.yaml.load import load

    return load(entry, catalog)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """The resolved configuration behind an entry: key, value as people write it, and the file it came from."""
    from polymeter.tasks.yaml.inspection import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """A task as one YAML text that loads again from any folder of this machine."""
    from polymeter.tasks.yaml.inspection import flatten

    return flatten(entry)


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """What is wrong with an entry, found without running its code."""
    from polymeter.tasks.yaml.inspection import check

    return check(entry, catalog)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The task for a model, with its dataset open."""
    from polymeter.tasks.yaml.compile import compile_task

    return compile_task(spec, traits, context)


def _get_ready() -> None:
    """Import what tasks are made with, and what most data files are read with."""
    import_module("polymeter.tasks.yaml.compile")
    import_module("pyarrow")


def _metrics(spec: TaskSpec) -> Collection[str] | None:
    """The metrics of a task, unless its class knows them."""
    from polymeter.tasks.yaml.load import config_of
    from polymeter.tasks.yaml.scoring.metrics import metric_names

    return metric_names(config_of(spec))


def _outline(spec: TaskSpec) -> Outline:
    """The size and the modalities of a task."""
    from polymeter.tasks.yaml.outline import outline

    return outline(spec)


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """The dataset that the task names; ``None`` if a class opens what it reads."""
    from polymeter.tasks.yaml.prompts.rows import hub_sources

    return hub_sources(spec)


def _code(spec: TaskSpec) -> Collection[Path]:
    """The files that the task's tags name, and the metrics beside it."""
    from polymeter.tasks.yaml.task_code import loaded_files

    return loaded_files(spec)


_PAGE_KEYS = PageKeys(
    description="",  # in this format it is part of the prompt
    tags="tag",
    dataset="dataset_path",
    subsets="dataset_name",
    splits=("training_split", "validation_split", "test_split", "fewshot_split"),
    outputs=("output_type",),
    default_output="generate_until",
    few_shot="num_fewshot",
    settings=("dataset_kwargs", "generation_kwargs", "repeats", "filter_list"),
    prompts=(
        "description",
        "doc_to_text",
        "doc_to_messages",
        "doc_to_choice",
        "doc_to_target",
        "lmms_eval_specific_kwargs",
    ),
    kinds=dict.fromkeys(("generate_until_multi_round", "generate_until_agentic", "generate_visual_cot"), "generate"),
)
FORMAT = Format(
    NAME,
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    endings=(".yaml", ".yml"),
    labels={"en": "task YAML", "zh": "任务 YAML"},
    page_keys=_PAGE_KEYS,
    metrics=_metrics,
    outline=_outline,
    sources=_sources,
    code=_code,
    get_ready=_get_ready,
)
