"""Answers that are kept and not scored (the stage ``infer``): they can be scored later, without asking again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.task import ReduceContext, ScoredRow
from polymeter.interop.evalscope.tasks.reduction import Reduced, Reduction
from polymeter.interop.evalscope.tasks.reviewing import Review, Reviewer

if TYPE_CHECKING:
    from polymeter.interop.evalscope.tasks.task import Prepared


class PredictionKeeper(Reviewer):
    """Scores nothing, and asks no code of the benchmark."""

    def review(self, record: Any, content: Any) -> Review:
        """A review without gold and result; what the model gave stands as it is."""
        return Review("", content, None)


class NoReduction(Reduction):
    """Computes nothing."""

    def reduce(
        self,
        rows: Iterable[ScoredRow],
        prepared: Sequence[Prepared],
        contents_of: Callable[[ScoredRow], list[Any]],
        context: ReduceContext,
    ) -> Reduced:
        """No results and no report."""
        return Reduced((), None, Path(context.output_dir))
