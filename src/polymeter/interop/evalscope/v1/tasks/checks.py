"""Checks of a file of adapters of EvalScope 1.x, which is not run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from polymeter.core.errors import Problem, did_you_mean
from polymeter.core.names.catalog import Entry
from polymeter.core.names.parity import NO_PARITY, Parity
from polymeter.interop.evalscope.tasks.reading import UNKNOWN, Registration
from polymeter.interop.evalscope.v1.registration import FIELDS
from polymeter.interop.evalscope.v1.tasks.index import is_registered, registration_of
from polymeter.interop.evalscope.v1.tasks.reading import read_file

_BASE = "DefaultDataAdapter"
_LOADS = frozenset({"load", "load_dataset", "load_subset", "load_subsets"})
_SCORES = frozenset({"match_score", "calculate_metrics", "batch_match_score", "judge_definition"})
_REPORTS = frozenset({"aggregate_scores", "aggregate_subset", "generate_report", "_on_generate_report"})


def check(entry: Entry, parity: Parity = NO_PARITY) -> list[Problem]:
    """Everything that can be found without running code: fields, metrics, splits, missing methods and packages. No
    switch of parity changes what that is.

    Raises:
        PlanError: if the file is broken beyond reading.
    """
    if is_registered(entry):
        return []
    registration, why = registration_of(entry)
    where = f"{entry.file}:{registration.line}"
    if why:
        return [Problem(where, why)]
    methods = _own_methods(registration.adapter)
    has_own_base = registration.adapter is None or _bases(registration.adapter) != [_BASE]
    messages = [
        *_fields(registration),
        *_metrics(registration, methods, has_own_base=has_own_base),
        *_examples(registration, methods),
    ]
    if not (registration.has_more or _LOADS & methods or has_own_base) and registration.value("eval_split") is None:
        messages.append("The registration names no eval_split.")
    problems = [Problem(where, message) for message in messages]
    if registration.adapter is not None and not has_own_base and not {"record_to_sample", *_LOADS} & methods:
        line = registration.adapter.lineno
        problems.append(Problem(f"{entry.file}:{line}", f"{registration.adapter.name} defines no record_to_sample."))
    problems.extend(
        Problem(f"{entry.file}:{line}", f"Its code needs the package {package!r}, which is not installed.")
        for package, line in read_file(entry.file).packages.items()
        if find_spec(package) is None
    )
    return problems


def _fields(registration: Registration) -> Iterator[str]:
    for key in registration.keywords:
        if key not in FIELDS:
            yield f"BenchmarkMeta does not take {key!r}. {did_you_mean(key, FIELDS)}".strip()
    if not registration.has_more and registration.name != UNKNOWN and "dataset_id" not in registration.values:
        yield "The registration names no dataset_id."
    version = registration.value("evaluation_version")
    if isinstance(version, str) and version != UNKNOWN and not _is_version(version):
        yield f"evaluation_version must be like 'v1.0', not {version!r}."


def _metrics(registration: Registration, methods: set[str], *, has_own_base: bool) -> Iterator[str]:
    from polymeter.interop.evalscope.v1.registries import METRIC_REGISTRY
    from polymeter.interop.evalscope.v1.report.generator import check_primary
    from polymeter.interop.evalscope.v1.report.legacy_names import migrate_legacy_identity
    from polymeter.interop.evalscope.v1.types.identities import METRIC_LIST_ALIASES

    metrics, aggregation = registration.value("metric_list", []), registration.value("aggregation", "mean")
    if metrics == UNKNOWN or registration.has_more or not isinstance(metrics, list):
        return
    names = [name for entry in metrics if (name := _name_of(entry))]
    if not (_SCORES & methods or has_own_base):
        known = METRIC_REGISTRY.list_keys()
        for name in names:
            if METRIC_LIST_ALIASES.get(name, name) not in known:
                yield f"There is no metric {name!r}. {did_you_mean(name, known)}".strip()
    primary = registration.value("primary_metric")
    if UNKNOWN in [primary, aggregation, *names]:
        return
    identities = [migrate_legacy_identity(name, aggregation, benchmark_name=registration.name) for name in names]
    if isinstance(primary, str):
        named = migrate_legacy_identity(primary, aggregation, benchmark_name=registration.name).name
        if named not in {identity.name for identity in identities}:
            yield f"primary_metric {primary!r} is not in metric_list. {did_you_mean(primary, names)}".strip()
    elif primary is None and aggregation == "mean" and not _REPORTS & methods:
        try:
            check_primary(registration.name, list(dict.fromkeys(identities)), None)
        except ValueError as error:
            yield str(error)


def _examples(registration: Registration, methods: set[str]) -> Iterator[str]:
    number, mode = registration.value("few_shot_num", 0), registration.value("few_shot_mode", "auto")
    if registration.has_more or not isinstance(number, int):
        return
    if number < 0:
        yield f"few_shot_num must be 0 or more, not {number}."
    elif number > 0 and (mode == "disabled" or (mode == "auto" and registration.value("train_split") is None)):
        yield f"few_shot_num is {number}, and the registration names no train_split for examples."


def _name_of(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return str(next(iter(entry), ""))
    return entry if isinstance(entry, str) else ""


def _is_version(version: str) -> bool:
    major, dot, minor = version.removeprefix("v").partition(".")
    return version.startswith("v") and bool(dot) and major.isdecimal() and minor.isdecimal()


def _bases(adapter: ast.ClassDef) -> list[str]:
    return [base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in adapter.bases]


def _own_methods(adapter: ast.ClassDef | None) -> set[str]:
    if adapter is None:
        return set()
    return {node.name for node in adapter.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
