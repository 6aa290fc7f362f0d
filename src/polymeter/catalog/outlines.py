"""Outlines of benchmarks for listings: their subject, size and needs. Runs none of their code and uses no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polymeter.catalog.pages.beside import keys_behind, readme_summary
from polymeter.catalog.pages.facts import FactReader, Hider, Unknown, Value
from polymeter.catalog.pages.judging import JudgeNeed
from polymeter.core.errors import PolymeterError
from polymeter.core.format import Outline
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.records.protocol import BenchmarkProtocol
from polymeter.run.plan import selection
from polymeter.run.plan.missing_packages import needed_packages


@dataclass(frozen=True, slots=True)
class TaskOutline:
    """One benchmark in a listing. What is known only when its code runs is left out.

    Attributes:
        entry: Its entry in the index.
        title: The name to show.
        description: Its author's description; empty if there is none.
        n_samples: The number of its samples; ``None`` if it is not known.
        modalities: What its prompts show; ``media`` stands for an image, a video or a sound. Empty if it is not known.
        outputs: Its output types, as its format calls them.
        requests: The kinds of requests to the model.
        metrics: The names of its metrics.
        judge: Whether it needs a judge: ``yes``, ``possible`` or ``no``.
        dataset: The dataset that it reads, by the name that its author gives it.
        packages: Packages without which its code cannot be loaded.
        optional_packages: Packages that its code imports only on some of its ways.
        keys: Environment variables with keys that its code reads.
        asks_token: Whether it asks for a token of the hub, as gated data needs it.
        problem: Why it cannot be used; empty if it can.
        protocol: The protocol that it states; ``None``: it states none.
    """

    entry: Entry
    title: str
    description: str = ""
    n_samples: int | None = None
    modalities: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    judge: JudgeNeed = "no"
    dataset: str = ""
    packages: tuple[str, ...] = ()
    optional_packages: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    asks_token: bool = False
    problem: str = ""
    protocol: BenchmarkProtocol | None = None


def outline_tasks(catalog: Catalog, entries: Iterable[Entry]) -> Iterator[TaskOutline]:
    """The outlines of tasks, one after another; of groups nothing is given."""
    reader = FactReader(catalog, Hider([], []))
    for entry in entries:
        if entry.kind != "task":
            continue
        facts = reader.read(entry)
        outline, problem = Outline(), facts.problem
        spec, of_format = reader.specs.get(entry.name), selection.format_of(entry).outline
        if spec is not None and of_format is not None:
            try:
                outline = of_format(spec)
            except PolymeterError as error:
                problem = reader.problem_of(error)
        needed = needed_packages(spec) if spec is not None else ()
        yield TaskOutline(
            entry,
            facts.title,
            next(_known([facts.description]), "") or (readme_summary(entry.file.parent) if entry.origin else ""),
            n_samples=outline.n_samples,
            modalities=outline.modalities,
            outputs=tuple(_known(facts.outputs)),
            requests=facts.requests,
            metrics=tuple(name.rstrip(" ↑↓") for name in _known(facts.metrics)),
            judge=facts.judge,
            dataset=next(_known([facts.dataset]), ""),
            packages=tuple(package.module for package in needed if package.is_certain) or entry.packages,
            optional_packages=tuple(package.module for package in needed if not package.is_certain),
            keys=keys_behind(spec.sources) if spec is not None else (),
            asks_token=spec is not None and _asks_token(spec.config),
            problem=problem,
            protocol=None if spec is None else spec.protocol,
        )


def _asks_token(config: Mapping[str, Any]) -> bool:
    arguments = config.get("dataset_kwargs")
    return isinstance(arguments, Mapping) and bool(arguments.get("token"))


def _known(values: Iterable[Value]) -> Iterator[str]:
    return (value for value in values if not isinstance(value, Unknown))
