"""The format of data adapters: benchmarks written as Python classes that ``@Benchmark.register(...)`` makes known.

``reading`` and ``index`` list and describe them without running their code, ``checks`` finds faults in it. ``guest``
runs it, up to the prompts; ``compile`` makes the Task, whose parts stand in ``settings``, ``prompts``, ``scoring`` and
``reduction``. What authors subclass, call and import is in ``base``, ``registration``, ``filters``, ``datasets``,
``metrics``, ``parsers``, ``constants`` and the modules for reports.
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
    from polymeter.interop.evalscope.tasks.index import index

    return index(roots)


def _load(entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry."""
    from polymeter.interop.evalscope.tasks.index import load

    return load(entry, catalog)


def _describe(entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the values of the registration: key, value as far as it is known without running it, and the file."""
    from polymeter.interop.evalscope.tasks.index import describe

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
    from polymeter.interop.evalscope.tasks.checks import check

    return check(entry, catalog.parity)


def _compile(spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open."""
    from polymeter.interop.evalscope.tasks.compile import compile_task

    return compile_task(spec, traits, context)


def _sources(spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """Return the dataset that the registration names; ``None`` if only the adapter's code knows it."""
    from polymeter.interop.evalscope.tasks.index import hub_sources

    return hub_sources(spec, context)


def _code(spec: TaskSpec) -> Collection[Path]:
    """The adapter's file."""
    return [spec.file]


_PAGE_KEYS = PageKeys(
    default_output="generation",
    kinds={
        "generation": "generate",
        "multiple_choice_logits": "loglikelihood",
        "continuous_logits": "loglikelihood",
        "image_generation": "generate_image",
    },
)
FORMAT = Format(
    "adapter",
    _index,
    _load,
    _describe,
    _flatten,
    _check,
    _compile,
    endings=(".py",),
    labels={"en": "data adapter", "zh": "数据适配器"},
    page_keys=_PAGE_KEYS,
    sources=_sources,
    code=_code,
)
