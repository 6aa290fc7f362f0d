"""Inspecting a task without running it: where its values come from, its whole text, and what is wrong with it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, Problem, did_you_mean
from polymeter.core.format import Outline
from polymeter.core.names.catalog import Catalog, Entry
from polymeter.core.task import TaskSpec
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig, check_config, config_of, validate
from polymeter.interop.lm_eval.tasks.dialect import make_reader
from polymeter.interop.lm_eval.tasks.load import load
from polymeter.interop.lm_eval.tasks.scoring.aggregations import AGGREGATIONS
from polymeter.interop.lm_eval.tasks.scoring.filters import FILTERS
from polymeter.interop.lm_eval.tasks.scoring.metrics import KNOWN
from polymeter.tasks.yaml import inspection
from polymeter.tasks.yaml.extensions import check_code_needs
from polymeter.tasks.yaml.prompts.templates import check_syntax
from polymeter.tasks.yaml.reader import Resolved

_TEMPLATES = ("doc_to_text", "doc_to_target", "doc_to_choice", "description", "gen_prefix")


def describe(entry: Entry) -> list[tuple[str, Any, Path]]:
    """Key, value as it is written, and the file that it came from, in the order of the merged file.

    Raises:
        PlanError: if a file is broken.
    """
    return inspection.described(make_reader().read(entry.file))


def flatten(entry: Entry) -> str:
    """A task as one YAML text that loads again from any folder of this machine.

    Raises:
        PlanError: if a file is broken.
    """
    return inspection.flattened(make_reader().read(entry.file))


def check(entry: Entry, catalog: Catalog) -> list[Problem]:
    """Every problem that can be found without running code: wrong keys and values, and names that do not exist.

    Raises:
        PlanError: if a file cannot be parsed.
    """
    resolved = make_reader().read(entry.file)
    problems = inspection.file_problems(resolved)
    # A group may override any field of its members, so only loading the members shows whether its values make sense.
    if entry.kind == "group":
        return problems + inspection.caught(lambda: load(entry, catalog), str(entry.file))
    if "class" in resolved.values:
        return problems + inspection.missing_packages(entry)
    try:
        config = validate(resolved.values, resolved.where, resolved.file)
        check_config(config, resolved.where)
    except PlanError as error:
        return [*problems, Problem(error.where or str(entry.file), f"{error.what} {error.hint}".strip())]
    problems.extend(_unknown_names(config, resolved))
    for field in _TEMPLATES:
        text = resolved.values.get(field)
        if isinstance(text, str):
            problems.extend(
                inspection.caught(lambda text=text, field=field: check_syntax(text, field, resolved.where(field)), "")
            )
    problems.extend(inspection.missing_packages(entry))
    return problems or inspection.caught(lambda: _check_code(entry, catalog), str(entry.file))


def outline(spec: TaskSpec) -> Outline:
    """What listings show of a task's size and prompts.

    Raises:
        PlanError: if its configuration is not valid.
    """
    if "class" in spec.config:
        return Outline()
    config = config_of(spec)
    return Outline(None, tuple(_modalities(config)))


def _modalities(config: LmTaskConfig) -> Iterable[str]:
    yield "text"
    if config.doc_to_image is not None:
        yield "image"
    if config.doc_to_audio is not None:
        yield "audio"


def _unknown_names(config: LmTaskConfig, resolved: Resolved) -> Iterator[Problem]:
    """Names of metrics, aggregations and filters that nothing defines. A metric may be one of the package *evaluate*,
    which alone knows its names.
    """
    registered = inspection.registered_names(resolved)
    for item in config.metric_list or ():
        name, aggregation = item.get("metric"), item.get("aggregation")
        where = resolved.where("metric_list")
        if not name:
            yield Problem(where, "An entry of metric_list needs the key 'metric'.")
        if isinstance(aggregation, str) and aggregation not in {*AGGREGATIONS, *registered}:
            hint = did_you_mean(aggregation, AGGREGATIONS)
            yield Problem(where, f"There is no aggregation {aggregation!r}. {hint}".strip())
        is_elsewhere = config.process_results is not None or item.get("hf_evaluate") is True
        is_known = is_elsewhere or not isinstance(name, str) or name in {*KNOWN, *registered}
        if not is_known and importlib.util.find_spec("evaluate") is None:
            hint = did_you_mean(str(name), KNOWN)
            yield Problem(where, f"There is no metric {name!r} without the package 'evaluate'. {hint}".strip())
    for chain in config.filter_list or ():
        for step in chain.get("filter") or ():
            name = step.get("function") if isinstance(step, dict) else step
            if isinstance(name, str) and name not in {*FILTERS, *registered}:
                hint = did_you_mean(name, FILTERS)
                yield Problem(resolved.where("filter_list"), f"There is no filter {name!r}. {hint}".strip())


def _check_code(entry: Entry, catalog: Catalog) -> None:
    for spec in load(entry, catalog).tasks:
        check_code_needs(spec, catalog.parity)
