"""The format of EvalScope 1.x's adapters: classes that ``@register_benchmark(BenchmarkMeta(...))`` makes known.

``reading`` and ``index`` list and describe them without running their code, ``checks`` finds faults in it. ``guest``
runs it, up to the prompts; ``compile`` makes the Task, whose parts stand in ``settings``, ``model``, ``rollout``,
``scoring`` and ``reduction``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.format import Format, HubSource, Loaded, OpenContext, PageKeys
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec

__all__ = ["FORMAT"]


def _index(roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All benchmarks under the roots, and those that the user's own code has registered."""
    from polymeter.interop.evalscope.v1.tasks.index import index

    return index(roots)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry."""
    from polymeter.interop.evalscope.v1.tasks.index import load

    return load(entry, catalog)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the values of the registration: key, value as far as it is known without running it, and the file."""
    from polymeter.interop.evalscope.v1.tasks.index import describe

    return describe(entry)


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """A benchmark in Python is its files; there is no one text of it.

    Raises:
        PlanError: always; it names the files.
    """
    from polymeter.guests.reading.sources import no_yaml

    raise no_yaml(entry, f"Benchmark {entry.name!r} is written in Python")


def _check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """Return the problems of an entry, found without running its code."""
    from polymeter.interop.evalscope.v1.tasks.checks import check

    return check(entry)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open."""
    from polymeter.interop.evalscope.v1.tasks.compile import compile_task

    return compile_task(spec, traits, context)


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """Return the dataset that the registration names; ``None`` if only the adapter's code knows it."""
    from polymeter.interop.evalscope.v1.tasks.index import hub_sources

    return hub_sources(spec, context)


def _code(spec: TaskSpec) -> Collection[Path]:
    """The adapter's file."""
    return [spec.file]


_PAGE_KEYS = PageKeys(
    title=("pretty_name",),
    default_output="generation",
    outputs=("output_types",),
    settings=("extra_params", "filters", "metric_list", "aggregation"),
    prompts=("system_prompt", "few_shot_prompt_template", "prompt_template"),
    kinds={"generation": "generate", "image_generation": "generate_image"},
)
FORMAT = Format(
    "adapter_1x",
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    endings=(".py",),
    labels={"en": "data adapter of EvalScope 1.x", "zh": "EvalScope 1.x 数据适配器"},
    page_keys=_PAGE_KEYS,
    sources=_sources,
    code=_code,
)
