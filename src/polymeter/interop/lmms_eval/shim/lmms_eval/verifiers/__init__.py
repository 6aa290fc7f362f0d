"""Stand-in for ``lmms_eval.verifiers``: extractors clean an answer, a verifier says whether it is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.base import (
    Extractor,
    Verifier,
    VerifyResult,
    parse_binary_response,
)
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.composite import CompositeVerifier
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.extractors import (
    MCQExtractor,
    NumberExtractor,
    RegexExtractor,
    StripExtractor,
    StripReasoningExtractor,
)
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.openai import OpenAIVerifier
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.pipeline import VerificationPipeline
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers.rule import (
    ContainsVerifier,
    ExactMatchVerifier,
    MCQMatchVerifier,
    NumericToleranceVerifier,
)

__all__ = [
    "EXTRACTOR_REGISTRY",
    "VERIFIER_REGISTRY",
    "CompositeVerifier",
    "ContainsVerifier",
    "ExactMatchVerifier",
    "Extractor",
    "MCQExtractor",
    "MCQMatchVerifier",
    "NumberExtractor",
    "NumericToleranceVerifier",
    "RegexExtractor",
    "StripExtractor",
    "StripReasoningExtractor",
    "VerificationPipeline",
    "Verifier",
    "VerifyResult",
    "build_verification_pipeline",
    "parse_binary_response",
]

EXTRACTOR_REGISTRY: dict[str, type[Extractor]] = {
    "strip_reasoning": StripReasoningExtractor,
    "regex": RegexExtractor,
    "mcq": MCQExtractor,
    "number": NumberExtractor,
    "strip": StripExtractor,
}
VERIFIER_REGISTRY: dict[str, type[Verifier]] = {
    "exact_match": ExactMatchVerifier,
    "contains": ContainsVerifier,
    "mcq_match": MCQMatchVerifier,
    "numeric": NumericToleranceVerifier,
    "composite": CompositeVerifier,
    "openai": OpenAIVerifier,
}


def build_verification_pipeline(config: Mapping[str, Any]) -> VerificationPipeline:
    """A pipeline from plain data: ``{extractors: [{type, …}], verifier: {type, …}}``.

    Raises:
        KeyError: An unknown type.
    """
    extractors = [_made(item, EXTRACTOR_REGISTRY) for item in config.get("extractors", ())]
    return VerificationPipeline(extractors, _verifier(config.get("verifier", {})))


def _verifier(config: Mapping[str, Any]) -> Verifier:
    if config.get("type") == "composite":
        return CompositeVerifier([_verifier(item) for item in config.get("verifiers", ())])
    made: Verifier = _made(config, VERIFIER_REGISTRY)
    return made


def _made(config: Mapping[str, Any], known: Mapping[str, Any]) -> Any:
    kind = str(config.get("type"))
    if kind not in known:
        raise KeyError(f"There is no type {kind!r}; known: {', '.join(sorted(known))}")
    return known[kind](**{name: value for name, value in config.items() if name != "type"})
