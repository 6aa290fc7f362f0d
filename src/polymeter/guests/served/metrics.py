"""The metric ``code_eval`` of the package ``evaluate``, which a guest loads by itself: ours replaces it, with the same
values. The original is fetched from the hub, and runs programs that a model wrote without protection.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import wraps
from typing import Any

_PACKAGE = "evaluate"
_NAMES = frozenset({"code_eval", "evaluate-metric/code_eval"})


class CodeEval:
    """The metric as ``evaluate.load`` returns it."""

    name = "code_eval"

    def compute(
        self,
        *,
        predictions: Sequence[Sequence[str]],
        references: Sequence[str],
        k: Sequence[int] | int = (1, 10, 100),
        num_workers: int = 4,
        timeout: float = 3.0,
    ) -> tuple[dict[str, float], dict[int, list[tuple[int, dict[str, Any]]]]]:
        """See ``polymeter.metrics.code.code_eval``.

        Raises:
            PlanError: if the run does not allow generated code.
        """
        from polymeter.metrics.code import code_eval

        return code_eval(references, predictions, k, num_workers, timeout)


def serve_metrics(package: str) -> None:
    """Make ``evaluate.load`` return ours. Called when a guest has imported a package; more calls change nothing."""
    module = sys.modules.get(package) if package == _PACKAGE else None
    real = getattr(module, "load", None)
    if real is None or getattr(real, "serves_own_metrics", False):
        return

    @wraps(real)
    def load(path: Any, *args: Any, **kwargs: Any) -> Any:
        return CodeEval() if path in _NAMES else real(path, *args, **kwargs)

    load.serves_own_metrics = True  # type: ignore[attr-defined]
    setattr(module, "load", load)  # noqa: B010  (a module has no such attribute to mypy)
