"""Stand-in for ``lmms_eval.api.filter``: what filters of a task's own are subclasses of."""

from polymeter.interop.lmms_eval.tasks import Filter, FilterEnsemble

__all__ = ["Filter", "FilterEnsemble"]
