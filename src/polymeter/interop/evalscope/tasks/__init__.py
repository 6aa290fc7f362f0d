"""The format of data adapters: benchmarks written as Python classes that ``@Benchmark.register(...)`` makes known.

``reading`` and ``index`` list and describe them without running their code, ``checks`` finds faults in it. ``guest``
runs it, up to the prompts; ``compile`` makes the Task, whose parts stand in ``settings``, ``prompts``, ``scoring`` and
``reduction``. What authors subclass, call and import is in ``base``, ``registration``, ``filters``, ``datasets``,
``metrics``, ``parsers``, ``constants`` and the modules for reports.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from polymeter.core.errors import Problem
from polymeter.core.format import Format, HubSource, Loaded, OpenContext, PageKeys
from polymeter.core.model import ModelTraits
from polymeter.core.names.catalog import Catalog, Entry, Root
from polymeter.core.task import Task, TaskSpec

__all__ = ["FORMAT", "adapter_format"]


def _index(package: str, roots: Sequence[Root], cache_dir: Path | None) -> Catalog:
    """All benchmarks under the roots, and those that the user's own code has registered."""
    found: Catalog = import_module(f"{package}.index").index(roots)
    return found


def _load(package: str, entry: Entry, catalog: Catalog) -> Loaded:
    """The spec behind an entry."""
    loaded: Loaded = import_module(f"{package}.index").load(entry, catalog)
    return loaded


def _describe(package: str, entry: Entry, catalog: Catalog) -> list[tuple[str, Any, Path]]:
    """Return the values of the registration: key, value as far as it is known without running it, and the file."""
    described: list[tuple[str, Any, Path]] = import_module(f"{package}.index").describe(entry)
    return described


def _flatten(entry: Entry, catalog: Catalog) -> str:
    """A benchmark in Python is its files; there is no one text of it.

    Raises:
        PlanError: always; it names the files.
    """
    from polymeter.guests.reading.sources import no_yaml

    raise no_yaml(entry, f"Benchmark {entry.name!r} is written in Python")


def _check(package: str, entry: Entry, catalog: Catalog) -> list[Problem]:
    """Return the problems of an entry, found without running its code."""
    problems: list[Problem] = import_module(f"{package}.checks").check(entry, catalog.parity)
    return problems


def _compile(package: str, spec: TaskSpec, traits: ModelTraits, context: OpenContext) -> Task:
    """The benchmark for a model, with its data open."""
    task: Task = import_module(f"{package}.compile").compile_task(spec, traits, context)
    return task


def _sources(package: str, spec: TaskSpec, context: OpenContext) -> Collection[HubSource] | None:
    """Return the dataset that the registration names; ``None`` if only the adapter's code knows it."""
    sources: Collection[HubSource] | None = import_module(f"{package}.index").hub_sources(spec, context)
    return sources


def _code(spec: TaskSpec) -> Collection[Path]:
    """The adapter's file."""
    return [spec.file]


def adapter_format(name: str, package: str, labels: Mapping[str, str], page_keys: PageKeys) -> Format:
    """The format of one generation's adapters.

    Args:
        name: Its name.
        package: The package whose modules ``index``, ``checks`` and ``compile`` do its work; imported when it is used.
        labels: Its name for readers, by language.
        page_keys: The keys of a registration that pages show.
    """
    return Format(
        name,
        partial(_index, package),
        partial(_load, package),
        partial(_describe, package),
        _flatten,
        partial(_check, package),
        partial(_compile, package),
        endings=(".py",),
        labels=dict(labels),
        page_keys=page_keys,
        sources=partial(_sources, package),
        code=_code,
    )


_PAGE_KEYS = PageKeys(
    default_output="generation",
    kinds={
        "generation": "generate",
        "multiple_choice_logits": "loglikelihood",
        "continuous_logits": "loglikelihood",
        "image_generation": "generate_image",
    },
)
FORMAT = adapter_format("adapter", __name__, {"en": "data adapter", "zh": "数据适配器"}, _PAGE_KEYS)
