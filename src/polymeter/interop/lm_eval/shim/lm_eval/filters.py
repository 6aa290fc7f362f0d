"""``lm_eval.filters``: ensembles that task code makes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from polymeter.interop.lm_eval.shim.lm_eval.registry import get_filter
from polymeter.interop.lm_eval.tasks.scoring.filters import FilterEnsemble


def build_filter_ensemble(
    filter_name: str, components: Iterable[tuple[Any, Mapping[str, Any] | None]]
) -> FilterEnsemble:
    """Several filters under one name; each is given by its name or class, and its arguments."""
    return FilterEnsemble(
        filter_name, [partial(get_filter(function), **(kwargs or {})) for function, kwargs in components]
    )
