"""Stand-in for ``lmms_eval.verifiers.composite``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.base import Verifier, VerifyResult


class CompositeVerifier(Verifier):
    """Asks verifiers in turn until one is sure, which it is unless its notes say ``confident: False``; the last one
    decides.

    Args:
        verifiers: The cheap ones first.
    """

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        if not verifiers:
            raise ValueError("A CompositeVerifier needs at least one verifier")
        self.verifiers = list(verifiers)

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        for verifier in self.verifiers[:-1]:
            result = verifier.verify(question, prediction, ground_truth, **kwargs)
            if result.metadata.get("confident", True):
                return result
        return self.verifiers[-1].verify(question, prediction, ground_truth, **kwargs)
