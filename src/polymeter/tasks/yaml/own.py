"""Our own dialect of task YAML, which is lmms-eval's, and the format that any dialect makes.

Functions import what they need when they are called, so that listings stay fast.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.format import Format, HubSource, Loaded, OpenContext, Outline, PageKeys
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec
from polymeter.guests.held import forget_modules
from polymeter.tasks.yaml.files.dialects import NAME, Dialect, Locate, TaskFields
from polymeter.tasks.yaml.files.index import describe
from polymeter.tasks.yaml.files.index import index as index_roots
from polymeter.tasks.yaml.files.reader import Resolved, YamlReader


def _validate(values: Mapping[str, Any], where: Locate, file: Path) -> TaskFields:
    from polymeter.tasks.yaml.config import validate

    return validate(values, where, file)


def _aggregates(listed: Any, where: str) -> tuple[Mapping[str, Any], ...]:
    from polymeter.tasks.yaml.files.load import aggregates

    return aggregates(listed, where)


def _problems(config: Any, resolved: Resolved) -> Iterable[Problem]:
    from polymeter.tasks.yaml.files.inspection import field_problems

    return field_problems(config, resolved)


def _outline(spec: TaskSpec) -> Outline:
    from polymeter.tasks.yaml.files.outline import outline

    return outline(spec)


def _metrics(spec: TaskSpec) -> Collection[str] | None:
    from polymeter.tasks.yaml.config import config_of
    from polymeter.tasks.yaml.scoring.metrics import metric_names

    return metric_names(config_of(spec))


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext, dialect: Dialect) -> Task:
    from polymeter.tasks.yaml.compile import compile_task

    return compile_task(spec, traits, context, dialect)


OWN_DIALECT = Dialect(
    name="",
    format=NAME,
    title="a task YAML",
    package=(),
    is_surely=lambda values, roots: False,  # its own fields show it, see ``dialects.shown_by``
    make_reader=lambda parity: YamlReader(is_working_directory_first=parity.on("include-order")),
    describe=describe,
    validate=_validate,
    group_keys=frozenset({"group", "group_alias", "task", "tag", "aggregate_metric_list", "metadata", "include"}),
    aggregates=_aggregates,
    is_member_stronger=False,
    is_inline_prefixed=False,
    is_own_kind_first=False,
    are_tags_sorted=False,
    is_class_unchecked=False,
    problems=_problems,
    templates=("doc_to_text", "doc_to_target", "doc_to_choice", "description"),
    metrics=_metrics,
    outline=_outline,
    compile=_compile,
    modules=("polymeter.tasks.yaml.compile", "pyarrow"),
)
PAGE_KEYS = PageKeys(
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
    kinds=dict.fromkeys(
        ("generate_until_multi_round", "generate_until_agentic", "generate_visual_cot", "generate_with_tools"),
        "generate",
    ),
)


def dialect_format(dialect: Dialect, labels: Mapping[str, str], page_keys: PageKeys = PAGE_KEYS) -> Format:
    """The format of a dialect's tasks. Its files are listed by our own format, whose index reads every ``.yaml``.

    Args:
        dialect: The dialect.
        labels: The names of the format on documentation pages, by language.
        page_keys: The keys from which these pages take their facts.
    """
    return Format(
        dialect.format,
        index=_nothing,
        load=_loading(dialect),
        describe=_describing(dialect),
        flatten=_flattening(dialect),
        check=_checking(dialect),
        compile=lambda spec, traits, context: dialect.compile(spec, traits, context, dialect),
        labels=labels,
        page_keys=page_keys,
        metrics=dialect.metrics,
        outline=dialect.outline,
        sources=_sources,
        code=_code,
        get_ready=lambda: _import_all(dialect.modules),
    )


def own_format() -> Format:
    """The format of our own tasks, which lists the files of all dialects."""
    labels = {"en": "task YAML", "zh": "任务 YAML"}
    return replace(dialect_format(OWN_DIALECT, labels), index=_index, endings=(".yaml", ".yml"))


def _nothing(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    return Catalog()


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All tasks and groups under the roots. Each run begins here, so guest modules are forgotten and run anew."""
    forget_modules()
    return index_roots(roots, cache_dir)


def _loading(dialect: Dialect) -> Callable[[Entry, Catalog], Loaded]:
    def load(entry: Entry, catalog: Catalog) -> Loaded:
        from polymeter.tasks.yaml.files.load import load

        return load(entry, catalog, dialect)

    return load


def _describing(dialect: Dialect) -> Callable[[Entry, Catalog], list[tuple[str, Any, Path]]]:
    def describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
        from polymeter.tasks.yaml.files import inspection

        return inspection.describe(entry, dialect)

    return describe


def _flattening(dialect: Dialect) -> Callable[[Entry, Catalog], str]:
    def flatten(entry: Entry, catalog: Catalog) -> str:
        from polymeter.tasks.yaml.files import inspection

        return inspection.flatten(entry, dialect)

    return flatten


def _checking(dialect: Dialect) -> Callable[[Entry, Catalog], list[Problem]]:
    def check(entry: Entry, catalog: Catalog) -> list[Problem]:
        from polymeter.tasks.yaml.files import inspection

        return inspection.check(entry, catalog, dialect)

    return check


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """The dataset that the task names; ``None`` if its code opens what it reads."""
    from polymeter.tasks.yaml.prompts.rows import hub_sources

    return None if spec.config.get("custom_dataset") else hub_sources(spec)


def _code(spec: TaskSpec) -> Collection[Path]:
    """The files that the task's tags name, and the metrics beside it."""
    from polymeter.tasks.yaml.task_code import loaded_files

    return loaded_files(spec)


def _import_all(modules: Iterable[str]) -> None:
    for name in modules:
        import_module(name)
