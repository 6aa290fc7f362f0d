"""A run's changes to a registration: checked here, since they would fail inside an author's code, where the error would
blame him, or change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.evalscope.v1.registration import PROTECTED, BenchmarkMeta, unknown_arguments
from polymeter.interop.evalscope.v1.types.identities import MetricSelector

_AUTHORS = (*PROTECTED, "name", "data_adapter")
_TEXT = (str, "a text")
_FLAG = (bool, "true or false")
_MAPPING = (Mapping, "a mapping")
_LIST = ((list, tuple), "a list")
_NAMES = ((list, tuple), "a list of names")
_NUMBER = ((int, float), "a number")
_KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(("subset_list", "metric_list"), _NAMES),
    **dict.fromkeys(("filters", "extra_params", "sandbox_config"), _MAPPING),
    **dict.fromkeys(("tags", "output_types"), _LIST),
    **dict.fromkeys(("few_shot_random", "shuffle", "force_redownload"), _FLAG),
    **dict.fromkeys(("dataset_id", "local_path", "aggregation", "default_subset", "eval_split", "train_split"), _TEXT),
    **dict.fromkeys(("prompt_template", "few_shot_prompt_template", "system_prompt", "query_template"), _TEXT),
    "shuffle_choices": (int, "true, false or a seed"),
    "max_image_bytes": ((int, str), "a number of bytes, or a text as '5MB'"),
    "review_timeout": _NUMBER,
    "primary_metric": ((str, Mapping, MetricSelector), "a name, or a mapping with name, aggregation and dimensions"),
}
"""The kinds of values that fields take. ``None`` is always one of them."""


def checked_changes(meta: BenchmarkMeta, changes: Mapping[str, Any], *, drops_unknown: bool) -> dict[str, Any]:
    """The changes of ``dataset_args``, with a mapping for ``primary_metric`` as a ``MetricSelector``.

    Args:
        meta: The registration.
        changes: What the run names for it.
        drops_unknown: Leave out what is no field instead of refusing it.

    Raises:
        PlanError: if one is the author's alone, is no field, or is not of the kind that its field has.
    """
    where = f"dataset_args of {meta.name!r}"
    own = next((key for key in changes if key in _AUTHORS), None)
    if own is not None:
        raise PlanError(f"{own!r} is the author's: a run cannot change it.", where=where)
    if not drops_unknown:
        for key, hint in unknown_arguments(changes):
            raise PlanError(f"No benchmark has a setting {key!r}.", where=where, hint=hint)
    for key, value in changes.items():
        kind, said = _KINDS.get(key, (object, ""))
        if value is not None and not isinstance(value, kind):
            raise PlanError(f"{key!r} must be {said}, not {value!r}.", where=where)
    metric = next((one for one in changes.get("metric_list") or () if not isinstance(one, (str, Mapping))), None)
    if metric is not None:
        raise PlanError(f"'metric_list' must be a list of names, not one with {metric!r}.", where=where)
    for key in changes.get("extra_params") or {}:
        if key not in meta.extra_params:
            known = ", ".join(meta.extra_params) or "none"
            raise PlanError(
                f"Benchmark {meta.name!r} has no setting {key!r} in its extra_params.",
                where=where,
                hint=did_you_mean(key, meta.extra_params) or f"It has: {known}.",
            )
    number = changes.get("few_shot_num")
    if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
        raise PlanError(f"'few_shot_num' must be a whole number from 0 on, not {number!r}.", where=where)
    primary = changes.get("primary_metric")
    return {**changes, **({"primary_metric": _selector(primary, where)} if isinstance(primary, Mapping) else {})}


def _selector(primary: Mapping[str, Any], where: str) -> MetricSelector:
    try:
        return MetricSelector.model_validate(dict(primary))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in ("primary_metric", *first["loc"]))
        raise PlanError(f"{place}: {first['msg']}.", where=where) from error
