"""Checks of one of lm-eval's tasks without running it: problems of its fields, and its modalities."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator

from polymeter.core.errors import Problem, did_you_mean
from polymeter.core.format import Outline
from polymeter.core.task import TaskSpec
from polymeter.interop.lm_eval.tasks.config import LmTaskConfig, check_config, config_of
from polymeter.interop.lm_eval.tasks.scoring.aggregations import AGGREGATIONS
from polymeter.interop.lm_eval.tasks.scoring.filters import FILTERS
from polymeter.interop.lm_eval.tasks.scoring.metrics import KNOWN
from polymeter.tasks.yaml.files import inspection
from polymeter.tasks.yaml.files.reader import Resolved


def field_problems(config: LmTaskConfig, resolved: Resolved) -> Iterator[Problem]:
    """Yield the problems of a task's fields beyond their types."""
    found = inspection.caught(lambda: check_config(config, resolved.where), str(resolved.file))
    yield from found or _unknown_names(config, resolved)


def outline(spec: TaskSpec) -> Outline:
    """Return the size and the modalities that listings show of a task.

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
