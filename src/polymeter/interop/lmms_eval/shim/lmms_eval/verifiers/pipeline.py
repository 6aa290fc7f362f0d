"""Stand-in for ``lmms_eval.verifiers.pipeline``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.base import Extractor, Verifier, VerifyResult


class VerificationPipeline:
    """Extractors, one after the other, then a verifier.

    Args:
        extractors: What each answer goes through first.
        verifier: Who decides.
    """

    def __init__(self, extractors: Sequence[Extractor] | None = None, verifier: Verifier | None = None) -> None:
        if verifier is None:
            raise ValueError("A VerificationPipeline needs a verifier")
        self.extractors = list(extractors or ())
        self.verifier = verifier

    def __call__(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        """The verdict; its notes hold the answer before and after extraction."""
        cleaned = prediction
        for extractor in self.extractors:
            cleaned = extractor(cleaned, **kwargs)
        result = self.verifier.verify(question, cleaned, ground_truth, **kwargs)
        result.metadata.update(raw_prediction=prediction, extracted_prediction=cleaned)
        return result

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        """The same."""
        return self(question, prediction, ground_truth, **kwargs)
