"""Checks of a benchmark's file, which is not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec

from polymeter.core.errors import PlanError, Problem, did_you_mean
from polymeter.core.names.catalog import Entry
from polymeter.core.names.parity import Parity
from polymeter.guests.reading.sources import files_behind
from polymeter.interop.evalscope.tasks.code_needs import check_code_needs
from polymeter.interop.evalscope.tasks.index import protocol_of, registration_of
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, Registration, read_file
from polymeter.interop.evalscope.tasks.registration import SETTABLE

_BASE = "DataAdapter"
_REQUIRED = ("get_gold_answer", "match")


def check(entry: Entry, parity: Parity) -> list[Problem]:
    """Everything that can be found without running code: names of arguments, metrics, splits, missing methods and
    packages, also those that a run at parity would need.

    Raises:
        PlanError: if the file is broken beyond reading, or its protocol is wrong.
    """
    registration = registration_of(entry)
    protocol_of(entry)
    where = f"{entry.file}:{registration.line}"
    methods = _own_methods(registration.adapter)
    messages = [*_arguments(registration), *_metrics(registration, methods), *_splits(registration, methods)]
    problems = [Problem(where, message) for message in messages]
    if registration.adapter is not None:
        where = f"{entry.file}:{registration.adapter.lineno}"
        problems.extend(Problem(where, message) for message in _missing_methods(registration.adapter, methods))
    problems.extend(
        Problem(f"{entry.file}:{line}", f"Its code needs the package {package!r}, which is not installed.")
        for package, line in read_file(entry.file).packages.items()
        if find_spec(package) is None
    )
    if not problems:
        try:
            check_code_needs(entry.file, files_behind([entry.file]), parity)
        except PlanError as error:
            problems.append(Problem(error.where, f"{error.what} {error.hint}"))
    return problems


def _arguments(registration: Registration) -> Iterator[str]:
    arguments = ("name", "dataset_id", *SETTABLE)
    for key in registration.keywords:
        if key not in arguments:
            yield f"Benchmark.register does not take {key!r}. {did_you_mean(key, arguments)}".strip()
    if "dataset_id" not in registration.values and not registration.has_more:
        yield "The registration names no dataset_id."


def _metrics(registration: Registration, methods: set[str]) -> Iterator[str]:
    from polymeter.interop.evalscope.tasks.scoring.metrics import metric_registry

    metrics = registration.value("metric_list", [])
    if metrics == UNKNOWN or "compute_metric" in methods or registration.has_more:
        return
    if not metrics:
        yield "The registration has an empty metric_list."
    registers_own = "__init__" in methods  # where adapters add metrics of their own
    built_in = metric_registry.list_metrics()
    for name in metrics:
        if name != UNKNOWN and name not in built_in and not registers_own:
            yield f"There is no metric {name!r}. {did_you_mean(str(name), built_in)}".strip()


def _splits(registration: Registration, methods: set[str]) -> Iterator[str]:
    if registration.has_more or {"load", "gen_prompts"} & methods:
        return
    if registration.value("eval_split") is None:
        yield "The registration names no eval_split."


def _missing_methods(adapter: ast.ClassDef, methods: set[str]) -> Iterator[str]:
    """Yield the methods that a class has to define, if its only base is ``DataAdapter`` itself."""
    bases = [base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in adapter.bases]
    if bases != [_BASE]:
        return
    for name in _REQUIRED:
        if name not in methods:
            yield f"{adapter.name} defines no {name}."
    if not {"gen_prompt", "gen_prompts"} & methods:
        yield f"{adapter.name} defines no gen_prompt."


def _own_methods(adapter: ast.ClassDef | None) -> set[str]:
    if adapter is None:
        return set()
    return {node.name for node in adapter.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
