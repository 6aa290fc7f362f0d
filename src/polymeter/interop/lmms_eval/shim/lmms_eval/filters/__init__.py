"""Stand-in for ``lmms_eval.filters``: filters as classes, for task code that subclasses or builds them.

A ``filter_list`` in YAML is read by ``formats.task_yaml``; nothing that is put into ``FILTER_REGISTRY`` reaches it.
Filters are made known to YAML by ``register_filter``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.api.filter import Filter, FilterEnsemble
from polymeter.interop.lmms_eval.shim.lmms_eval.filters import extraction, selection, transformation

__all__ = ["FILTER_REGISTRY", "Filter", "FilterEnsemble", "build_filter_ensemble", "get_filter"]

FILTER_REGISTRY: dict[str, type[Filter]] = {
    "take_first": selection.TakeFirstFilter,
    "take_first_k": selection.TakeKFilter,
    "majority_vote": selection.MajorityVoteFilter,
    "regex": extraction.RegexFilter,
    "multi_choice_regex": extraction.MultiChoiceRegexFilter,
    "remove_whitespace": extraction.WhitespaceFilter,
    "lowercase": transformation.LowercaseFilter,
    "uppercase": transformation.UppercaseFilter,
    "map": transformation.MapFilter,
    "strip_thinking": transformation.StripThinkingFilter,
}


def get_filter(filter_name: Any) -> Any:
    """The class of that name; what is no known name comes back as it is."""
    return FILTER_REGISTRY.get(filter_name, filter_name) if isinstance(filter_name, str) else filter_name


def build_filter_ensemble(
    filter_name: str, components: Iterable[tuple[Any, Mapping[str, Any] | None]]
) -> FilterEnsemble:
    """Filters, each given as its name or class and its arguments, under one name."""
    makers = [partial(get_filter(function), **(kwargs or {})) for function, kwargs in components]
    return FilterEnsemble(filter_name, makers)
