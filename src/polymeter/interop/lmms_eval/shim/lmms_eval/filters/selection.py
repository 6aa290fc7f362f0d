"""Stand-in for ``lmms_eval.filters.selection``: which of several answers count."""

from polymeter.interop.lmms_eval.tasks import MajorityVoteFilter, TakeFirstFilter, TakeKFilter

__all__ = ["MajorityVoteFilter", "TakeFirstFilter", "TakeKFilter"]
