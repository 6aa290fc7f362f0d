"""``lmms_eval.verifiers``: verifiers that call the run's judge, cascades of verifiers, pipelines from plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from polymeter.core.errors import UnscoredError
from polymeter.core.guest_context import guest_context, refuse_verdict
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_prompts import JudgePromptBuilder, ResponseParser
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_protocol import Request, ServerConfig
from polymeter.interop.lmms_eval.shim.lmms_eval.judge_servers import get_server
from polymeter.interop.lmms_eval.shim.lmms_eval.verifiers import (
    ContainsVerifier,
    ExactMatchVerifier,
    Extractor,
    MCQExtractor,
    MCQMatchVerifier,
    NumberExtractor,
    NumericToleranceVerifier,
    RegexExtractor,
    StripExtractor,
    StripReasoningExtractor,
    Verifier,
    VerifyResult,
)
from polymeter.judge.passages import unreadable
from polymeter.judge.verdict import read_correctness


class OpenAIVerifier(Verifier):
    """Asks the judge whether an answer is right.

    If the judge could not answer, the result has ``judge_failed`` in its metadata and the sample has no score, whatever
    the task makes of it. A verdict that cannot be read raises ``UnscoredError``.

    Args:
        model: Recorded but not used: ``--judge`` decides which model answers.
        api_type: The type of server.
        judge_type: ``binary`` (right or wrong) or ``comparative`` (against a reference answer).
        custom_prompt: A prompt with ``{question}``, ``{prediction}``, ``{ground_truth}``, or a function of these.
        response_format: How the answer to a custom prompt is read: ``binary`` or ``score``.
        response_parser: Reads it instead.
        score_range: The range of the judge's scores, which are scaled to 0 to 1.
        max_retries: Not used: the run decides.
        retry_delay: Not used: the run decides.
        temperature: The judge's temperature.
        max_tokens: Maximum number of tokens of the judge's answer.
    """

    _formats: ClassVar[tuple[str, ...]] = ("binary", "score")

    def __init__(  # noqa: PLR0917  (its authors' signature)
        self,
        model: str = "gpt-4o-2024-11-20",
        api_type: str | None = None,
        judge_type: str = "binary",
        custom_prompt: str | Callable[..., str] | None = None,
        response_format: str = "binary",
        response_parser: Callable[[str], VerifyResult] | None = None,
        score_range: tuple[float, float] = (0.0, 10.0),
        max_retries: int = 5,
        retry_delay: float = 2.0,
        temperature: float = 0.0,
        max_tokens: int | None = 1024,
    ) -> None:
        if judge_type not in ("binary", "comparative"):
            raise ValueError(f"There is no judge_type {judge_type!r}; known: binary, comparative")
        if response_format not in self._formats:
            known = ", ".join(self._formats)
            raise ValueError(f"There is no response_format {response_format!r}; known: {known}")
        self.judge_type = judge_type
        self.custom_prompt = custom_prompt
        self.response_format = response_format
        self.response_parser = response_parser
        self.score_range = score_range
        self.max_retries = max_retries
        self.retry_delay = retry_delay
        config = ServerConfig(model, temperature, max_tokens, num_retries=max_retries, retry_delay=retry_delay)
        self._server = get_server(api_type, config)

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        if self.custom_prompt is not None:
            return self._custom(question, prediction, ground_truth, **kwargs)
        if self.judge_type == "comparative":
            return self._comparative(question, prediction, kwargs.get("reference_response", ground_truth), kwargs)
        verdict = self._server.evaluate_binary(
            question, ground_truth, prediction, output_format=kwargs.get("output_format", "0/1")
        )
        if not verdict["success"]:
            return _failed(verdict["error_message"])
        is_correct = bool(verdict["result"])
        return VerifyResult(float(is_correct), is_correct, verdict["raw_response"], {"model": verdict["model"]})

    def _custom(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        if callable(self.custom_prompt):
            prompt = self.custom_prompt(question, prediction, ground_truth, **kwargs)
        else:
            prompt = str(self.custom_prompt).format(
                question=question, prediction=prediction, ground_truth=ground_truth, **kwargs
            )
        request = Request([{"role": "user", "content": prompt}], kwargs.get("images"), self._server.config)
        response = self._server.evaluate(request)
        if not response.success:
            return _failed(response.error_message)
        try:
            return self._read(response.content)
        except UnscoredError as error:
            refuse_verdict(str(error))
            raise

    def _comparative(self, question: str, prediction: str, reference: str, kwargs: dict[str, Any]) -> VerifyResult:
        verdict = self._server.evaluate_comparative(question, prediction, reference, images=kwargs.get("images"))
        if not verdict["success"]:
            return _failed(verdict["error_message"])
        own, other = verdict["scores"]
        metadata = {"score_1": own, "score_2": other, "model": verdict["model"]}
        return VerifyResult(self._scaled(own), own > other, verdict["raw_response"], metadata)

    def _read(self, text: str) -> VerifyResult:
        if self.response_parser is not None:
            return self.response_parser(text)
        if self.response_format == "binary":
            is_correct = read_correctness(text)
            return VerifyResult(float(is_correct), is_correct, text)
        score = self._scaled(ResponseParser.parse_score_response(text))
        return VerifyResult(score, score >= 0.5, text)

    def _scaled(self, score: float) -> float:
        """A score, scaled from its range to 0 to 1.

        Raises:
            ValueError: if it is NaN or infinite, which clamping would turn into full marks.
        """
        if not math.isfinite(score):
            raise ValueError(f"{score} is not a score")
        low, high = self.score_range
        if high <= low:
            return float(score >= high)
        return max(0.0, min(1.0, (score - low) / (high - low)))


class GeminiVerifier(OpenAIVerifier):
    """Asks the judge whether an answer is right, and shows it the images too; see ``OpenAIVerifier``.

    Args:
        model: Recorded but not used: ``--judge`` decides which model answers.
        api_key: Not used and not stored.
        custom_prompt: A prompt with ``{question}``, ``{prediction}``, ``{ground_truth}``, or a function of these.
        response_format: How the answer is read: ``binary``, ``score``, or ``json``.
        score_range: The range of the judge's scores, which are scaled to 0 to 1.
        score_key: The key of the score in an answer in JSON.
        max_retries: Not used: the run decides.
        retry_delay: Not used: the run decides.
        temperature: The judge's temperature.
    """

    _formats = ("binary", "score", "json")

    def __init__(  # noqa: PLR0917  (its authors' signature)
        self,
        model: str = "gemini-2.5-pro",
        api_key: str | None = None,
        custom_prompt: str | Callable[..., str] | None = None,
        response_format: str = "binary",
        score_range: tuple[float, float] = (0.0, 10.0),
        score_key: str = "score",
        max_retries: int = 5,
        retry_delay: float = 2.0,
        temperature: float = 0.0,
    ) -> None:
        super().__init__(
            model,
            custom_prompt=custom_prompt or _is_correct,
            response_format=response_format,
            score_range=score_range,
            max_retries=max_retries,
            retry_delay=retry_delay,
            temperature=temperature,
            max_tokens=None,
        )
        self.model = model
        self.score_key = score_key
        self.temperature = temperature

    def _read(self, text: str) -> VerifyResult:
        if self.response_format != "json":
            return super()._read(text)
        verdict = ResponseParser.parse_json_response(text)
        with suppress(KeyError, TypeError, ValueError):
            score = self._scaled(float(verdict[self.score_key]))
            return VerifyResult(score, score >= 0.5, text, verdict)
        if guest_context().parity.on("loose-verdict"):
            return VerifyResult(0.0, False, text, {"parse_error": True})
        raise unreadable(text, f"a JSON object with a number under {self.score_key!r}")


def _is_correct(question: str, prediction: str, ground_truth: str, **_: Any) -> str:
    return JudgePromptBuilder.build_binary_prompt(question, ground_truth, prediction, "yes/no")


def _failed(message: str | None) -> VerifyResult:
    return VerifyResult(0.0, False, f"error: {message}", {"judge_failed": True})


class CompositeVerifier(Verifier):
    """Calls verifiers in turn until one is confident, which it is unless its metadata has ``confident: False``; the
    last one decides.

    Args:
        verifiers: The verifiers, cheap ones first.
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


class VerificationPipeline:
    """Extractors, one after another, then a verifier.

    Args:
        extractors: Applied to each answer first.
        verifier: Decides whether the extracted answer is right.
    """

    def __init__(self, extractors: Sequence[Extractor] | None = None, verifier: Verifier | None = None) -> None:
        if verifier is None:
            raise ValueError("A VerificationPipeline needs a verifier")
        self.extractors = list(extractors or ())
        self.verifier = verifier

    def __call__(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        """The verdict; its metadata has the answer before and after extraction."""
        cleaned = prediction
        for extractor in self.extractors:
            cleaned = extractor(cleaned, **kwargs)
        result = self.verifier.verify(question, cleaned, ground_truth, **kwargs)
        result.metadata.update(raw_prediction=prediction, extracted_prediction=cleaned)
        return result

    def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
        """As ``__call__``."""
        return self(question, prediction, ground_truth, **kwargs)


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
    "gemini": GeminiVerifier,
}


def build_verification_pipeline(config: Mapping[str, Any]) -> VerificationPipeline:
    """A pipeline from plain data: ``{extractors: [{type, …}], verifier: {type, …}}``.

    Raises:
        KeyError: if a type is unknown.
    """
    extractors = [_make(item, EXTRACTOR_REGISTRY) for item in config.get("extractors", ())]
    return VerificationPipeline(extractors, _verifier(config.get("verifier", {})))


def _verifier(config: Mapping[str, Any]) -> Verifier:
    if config.get("type") == "composite":
        return CompositeVerifier([_verifier(item) for item in config.get("verifiers", ())])
    verifier: Verifier = _make(config, VERIFIER_REGISTRY)
    return verifier


def _make(config: Mapping[str, Any], registry: Mapping[str, Any]) -> Any:
    kind = str(config.get("type"))
    if kind not in registry:
        raise KeyError(f"There is no type {kind!r}; known: {', '.join(sorted(registry))}")
    return registry[kind](**{name: value for name, value in config.items() if name != "type"})
