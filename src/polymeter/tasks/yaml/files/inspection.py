"""Inspecting a task without running it: where its values come from, its whole text, and what is wrong with it."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from polymeter.core.errors import PlanError, PolymeterError, Problem, did_you_mean
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.names.parity import NO_PARITY
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.guests.loading.load import FunctionRef, check_place
from polymeter.metrics import check_kwargs, check_pair
from polymeter.tasks.yaml.config import YamlFields
from polymeter.tasks.yaml.extensions import check_code_needs
from polymeter.tasks.yaml.files.dialects import Dialect
from polymeter.tasks.yaml.files.load import load
from polymeter.tasks.yaml.files.reader import Resolved
from polymeter.tasks.yaml.outputs import image_targets
from polymeter.tasks.yaml.outputs.with_tools import task_environment
from polymeter.tasks.yaml.prompts.misspelt import refuse_unmarked_functions
from polymeter.tasks.yaml.prompts.templates import check_syntax
from polymeter.tasks.yaml.scoring.filters import FILTERS
from polymeter.tasks.yaml.task_code import METRICS_FILE, function_refs

_REGISTERED = re.compile(
    r"register_(?:metric\([^)]*?\bmetric\s*=\s*['\"]([^'\"]+)|(?:metric|aggregation|filter)\(\s*['\"]([^'\"]+))"
)
_DEFINES_BY_NAME = ("globals", "exec", "vars", "setattr")
"""Statements with which a module can define names that its text does not show."""
_FLAT_HEAD = (
    "# This file is complete: functions and data files beside the original are named by their absolute paths.\n"
)


def describe(entry: Entry, dialect: Dialect) -> list[tuple[str, Any, Path]]:
    """Key, value as it is written, and the file that it came from, in the order of the merged file.

    Raises:
        PlanError: if a file is broken.
    """
    resolved = dialect.make_reader(NO_PARITY).read(entry.file)
    return [
        (key, _as_written(value), resolved.places.get(key, (resolved.file, 1))[0])
        for key, value in resolved.values.items()
    ]


def flatten(entry: Entry, dialect: Dialect) -> str:
    """A task as one YAML text that loads again from any folder of this machine.

    Raises:
        PlanError: if a file is broken.
    """
    resolved = dialect.make_reader(NO_PARITY).read(entry.file)
    values = dict(resolved.values)
    kwargs = values.get("dataset_kwargs")
    if isinstance(kwargs, Mapping) and "data_files" in kwargs:
        values["dataset_kwargs"] = {**kwargs, "data_files": _whole_paths(kwargs["data_files"], resolved.file.parent)}
    return _FLAT_HEAD + str(yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))


def check(entry: Entry, catalog: Catalog, dialect: Dialect) -> list[Problem]:
    """Every problem that can be found without running code: wrong keys and values, and names that do not exist.

    Raises:
        PlanError: if a file cannot be parsed.
    """
    resolved = dialect.make_reader(NO_PARITY).read(entry.file)
    problems = _file_problems(resolved)
    # A group may override any field of its members, so only loading the members shows whether its values make sense.
    if entry.kind == "group":
        return problems + caught(lambda: load(entry, catalog, dialect), str(entry.file))
    if dialect.is_class_unchecked and "class" in resolved.values:
        return problems + _missing_packages(entry)
    try:
        config = dialect.validate(resolved.values, resolved.where, resolved.file)
    except PlanError as error:
        return [*problems, _problem(error, str(entry.file))]
    problems.extend(dialect.problems(config, resolved))
    for field in dialect.templates:
        text = resolved.values.get(field)
        if isinstance(text, str):
            problems.extend(caught(lambda text=text, field=field: check_syntax(text, field, resolved.where(field)), ""))
    problems.extend(_missing_packages(entry))
    return problems or caught(lambda: _check_code_needs(entry, catalog, dialect), str(entry.file))


def field_problems(config: YamlFields, resolved: Resolved) -> Iterator[Problem]:
    """Return the problems of the fields of one of our own tasks beyond their types."""
    if config.output_type == image_targets.IMAGES:
        yield from caught(lambda: image_targets.check_config(config, resolved.where), str(resolved.file))
    yield from caught(lambda: task_environment(config, resolved.where), "")
    yield from caught(lambda: refuse_unmarked_functions(config, resolved.file.parent, resolved.where), "")
    yield from _unknown_names(config, resolved, registered_names(resolved))


def _file_problems(resolved: Resolved) -> list[Problem]:
    """Return the problems of a file with any keys: keys that are written twice, and missing functions."""
    twice = [
        Problem(f"{file}:{line}", f"The key {key!r} is written twice.") for key, (file, line) in resolved.duplicates
    ]
    return [*twice, *_missing_functions(resolved)]


def _missing_packages(entry: Entry) -> list[Problem]:
    """The packages that the code of an entry needs and that are not installed."""
    return [
        Problem(str(entry.file), f"Its code needs the package {package!r}, which is not installed.")
        for package in entry.packages
        if importlib.util.find_spec(package) is None
    ]


def _check_code_needs(entry: Entry, catalog: Catalog, dialect: Dialect) -> None:
    for spec in load(entry, catalog, dialect).tasks:
        check_code_needs(spec, catalog.parity)


def _missing_functions(resolved: Resolved) -> Iterator[Problem]:
    for ref in dict.fromkeys(function_refs(resolved.values)):
        yield from caught(lambda ref=ref: check_place(ref), ref.where)
        file = ref.source_file()
        if file is None:
            continue
        names = _top_level_names(file)
        if names is not None and ref.attribute not in names:
            hint = did_you_mean(ref.attribute, names)
            yield Problem(ref.where, f"{file.name} defines no {ref.attribute!r}. {hint}".strip())


def registered_names(resolved: Resolved) -> set[str]:
    """Names that the task's code registers, found in its text: as keyword ``metric`` or as first argument."""
    code = {file.parent for ref in function_refs(resolved.values) if (file := ref.source_file())}
    texts = [file.read_text(encoding="utf-8", errors="replace") for folder in code for file in folder.glob("*.py")]
    beside = resolved.file.parent / METRICS_FILE
    if beside.is_file():
        texts.append(beside.read_text(encoding="utf-8", errors="replace"))
    return {name for text in texts for pair in _REGISTERED.findall(text) for name in pair if name}


def _unknown_names(config: YamlFields, resolved: Resolved, registered: set[str]) -> Iterator[Problem]:
    where = resolved.where("metric_list")
    for item in config.metric_list or ():
        if isinstance(item.aggregation, str) and item.aggregation not in registered:
            name = item.aggregation
            yield from caught(lambda name=name: AGGREGATIONS.find(name), where)
        if isinstance(item.metric, str) and config.process_results is None and item.metric not in registered:
            yield from caught(lambda item=item: _check_metric(item.name, item.kwargs, config.output_type), where)
    for reading in config.filter_list or ():
        for step in reading.filter:
            if isinstance(step.function, str) and step.function not in {*FILTERS, *registered}:
                hint = did_you_mean(step.function, FILTERS)
                yield Problem(resolved.where("filter_list"), f"There is no filter {step.function!r}. {hint}".strip())


def _check_metric(name: str, kwargs: Mapping[str, Any], output_type: str) -> None:
    metric = METRICS.get(name)
    check_pair(metric, output_type)
    if metric.score is not None or metric.of_sets is not None:
        check_kwargs(metric, kwargs)


def _top_level_names(file: Path) -> set[str] | None:
    """Names that a module defines or imports at its top; ``None`` if only running it would show them."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8", errors="replace"))
    except SyntaxError:
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            if any(alias.name == "*" for alias in node.names):
                return None
            names.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Name) and node.id in _DEFINES_BY_NAME:
            return None
    return names


def _as_written(value: Any) -> Any:
    if isinstance(value, FunctionRef):
        return repr(value)
    if isinstance(value, dict):
        return {key: _as_written(item) for key, item in value.items()}
    return [_as_written(item) for item in value] if isinstance(value, list) else value


def caught(do: Any, where: str) -> list[Problem]:
    """The error of a check as a problem; none if it passes."""
    try:
        do()
    except PolymeterError as error:
        return [_problem(error, where)]
    return []


def _problem(error: PolymeterError, where: str) -> Problem:
    return Problem(error.where or where, f"{error.what} {error.hint}".strip())


class _Dumper(yaml.SafeDumper):
    """Writes function tags with the whole path of their folder."""


def _represent_function(dumper: _Dumper, ref: FunctionRef) -> yaml.Node:
    name = ref.name
    if ref.source_file() is not None:
        name = f"{Path(ref.directory).resolve().as_posix()}/{name}"
    return dumper.represent_scalar("!function", name)


def _represent_text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text.strip("\n") else None)


_Dumper.add_representer(FunctionRef, _represent_function)
_Dumper.add_representer(str, _represent_text)


def _whole_paths(files: Any, directory: Path) -> Any:
    if isinstance(files, Mapping):
        return {name: _whole_paths(item, directory) for name, item in files.items()}
    if isinstance(files, (list, tuple)):
        return [_whole_paths(item, directory) for item in files]
    path = directory / str(files)
    return str(path.resolve()) if path.exists() else files
