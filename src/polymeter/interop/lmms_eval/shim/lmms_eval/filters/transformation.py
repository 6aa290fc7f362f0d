"""Stand-in for ``lmms_eval.filters.transformation``: each answer as something else."""

from __future__ import annotations

from typing import Any

from polymeter.formats.task_yaml.filters import strip_thinking
from polymeter.interop.lmms_eval.tasks import Filter, LowercaseFilter, MapFilter, UppercaseFilter

__all__ = ["LowercaseFilter", "MapFilter", "StripThinkingFilter", "UppercaseFilter"]


class StripThinkingFilter(Filter):
    """Each answer without its reasoning."""

    def apply(self, resps: Any, docs: Any) -> Any:
        step = strip_thinking()
        return [step(list(answers), {}) for answers in resps]
