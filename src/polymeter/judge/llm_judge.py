"""``LLMJudge``: the judge that a benchmark's own ``llm_match`` receives.

It asks the model in the role *judge* through the run, so its requests are scheduled, journaled, cached and resumed like
any other, and it reads the judge's answers by the rules of ``polymeter.judge.verdict``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Literal

from polymeter.core.content import Text
from polymeter.core.errors import PlanError, UnscoredError, boundary, did_you_mean
from polymeter.core.guest_context import current_role_client, refuse_verdict
from polymeter.core.request import PROMPT_VERSION, Generate, Message, Origin, Request, Response
from polymeter.judge.prompts import GRADE_PROMPT, RATING_PROMPT, fill, prompt_version
from polymeter.judge.reply import reply_of, shown
from polymeter.judge.verdict import read_grade, read_rating

ROLE = "judge"
ScoreType = Literal["pattern", "numeric"]

_SCORE_TYPES = ("pattern", "numeric")
_MAPPING = {"A": 1.0, "B": 0.0}
_LABELS = {"A": "CORRECT", "B": "INCORRECT"}
_NO_QUESTION = "Not provided"
_MAX_TOKENS = 1024


class LLMJudge:
    """A client that asks the run's judge and turns its answer into a score.

    The option ``--judge`` of the run decides which model answers. An address, a key or a model name given here has no
    effect and is not stored.

    Args:
        api_key: Ignored.
        api_url: Ignored.
        model_id: Ignored.
        system_prompt: Text put before the question; default: the environment variable ``JUDGE_SYSTEM_PROMPT``, else
            none.
        prompt_template: With ``{question}``, ``{gold}`` and ``{pred}``; default: the environment variable
            ``JUDGE_PROMPT_TEMPLATE``, else one of ``polymeter.judge.prompts``.
        generation_config: Generation settings; they override temperature 0 and 1,024 tokens.
        score_pattern: A regular expression for a verdict, as in ``read_grade`` and ``read_rating``.
        score_mapping: The score of each grade; default: A is 1 and B is 0.
        score_type: ``pattern``: the verdict is a grade; ``numeric``: it is the score itself.
        **kwargs: Ignored.

    Raises:
        PlanError: if ``score_type`` is unknown, or ``score_pattern`` is not a regular expression.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (the signature that benchmarks are written against)
        self,
        api_key: str | None = None,
        api_url: str | None = None,
        model_id: str | None = None,
        system_prompt: str | None = None,
        prompt_template: str | None = None,
        generation_config: Mapping[str, Any] | None = None,
        score_pattern: str | None = None,
        score_mapping: Mapping[str, float] | None = None,
        score_type: ScoreType = "pattern",
        **kwargs: Any,
    ) -> None:
        if score_type not in _SCORE_TYPES:
            hint = did_you_mean(str(score_type), _SCORE_TYPES) or f"Known: {', '.join(_SCORE_TYPES)}."
            raise PlanError(f"Unknown score_type of a judge: {score_type!r}.", hint=hint)
        if score_pattern is not None:
            with boundary(PlanError, f"Reading the judge's score_pattern {score_pattern!r}"):
                re.compile(score_pattern)
        default_prompt = GRADE_PROMPT if score_type == "pattern" else RATING_PROMPT
        self.system_prompt = system_prompt or os.environ.get("JUDGE_SYSTEM_PROMPT")
        self.prompt_template = prompt_template or os.environ.get("JUDGE_PROMPT_TEMPLATE") or default_prompt
        self.generation_config = dict(generation_config or {})
        self.score_pattern = score_pattern
        self.score_mapping = dict(score_mapping or _MAPPING)
        self.score_type = score_type
        self._has_default_prompt = self.prompt_template == default_prompt

    @property
    def prompt_version(self) -> str:
        """A digest of the prompt's wording, stored with every request."""
        return prompt_version(self.prompt_template, self.system_prompt)

    def build_prompt(self, pred: Any, gold: Any, question: Any = None) -> str:
        """Return the prompt for the judge, without the reasoning in ``pred``. Values that are not text are converted
        with ``str``.
        """
        fields = {
            "pred": self._shown(str(pred)),
            "gold": str(gold),
            "question": _NO_QUESTION if question is None else str(question),
        }
        return fill(self.prompt_template, fields)

    def __call__(self, prompt: str, system_prompt: str | None = None, **kwargs: Any) -> str:
        """Return the judge's answer.

        Raises:
            UnscoredError: if the judge fails, or its answer ended inside its reasoning. The sample then has no score,
                even if the caller catches this.
            PlanError: if the run has no judge.
        """
        return self._said(self.respond(prompt, system_prompt))

    def respond(self, prompt: str, system_prompt: str | None = None) -> Response:
        """Return the judge's response, which may be an error.

        Raises:
            PlanError: if the run has no judge.
        """
        system = system_prompt or self.system_prompt
        messages = [Message("user", (Text(prompt),))]
        if system:
            messages.insert(0, Message("system", (Text(system),)))
        version = prompt_version(self.prompt_template, system)
        request = Request(tuple(messages), self._parameters(), Origin("", "", metadata={PROMPT_VERSION: version}))
        return current_role_client()(ROLE, request)

    def get_score(self, response: str | None) -> float:
        """Return the score of an answer of the judge.

        Raises:
            UnscoredError: if the answer is not a verdict. The sample then has no score, even if the caller catches
                this.
        """
        try:
            return self._read(response)
        except UnscoredError as error:
            refuse_verdict(str(error))
            raise

    def _shown(self, answer: str) -> str:
        """Return the part of an answer that the judge sees."""
        return shown(answer)

    def _said(self, response: Response) -> str:
        """Return the judge's reply.

        Raises:
            UnscoredError: if it failed, or its answer ended inside its reasoning.
        """
        return reply_of(response)

    def _read(self, response: str | None) -> float:
        if self.score_type == "numeric":
            # Only the default prompt asks for a rating from 0 to 1; a benchmark's own prompt may ask for any number.
            bounds = (0.0, 1.0) if self._has_default_prompt else None
            return read_rating(response, pattern=self.score_pattern, bounds=bounds)
        labels = _LABELS if self.score_mapping == _MAPPING else None
        grade = read_grade(response, self.score_mapping, pattern=self.score_pattern, labels=labels)
        return float(self.score_mapping[grade])

    def _parameters(self) -> Generate:
        settings = {"temperature": 0.0, "max_tokens": _MAX_TOKENS, **self.generation_config}
        max_tokens = settings.pop("max_new_tokens", settings.pop("max_tokens"))
        stop = settings.pop("stop", None) or ()
        return Generate(
            max_tokens,
            settings.pop("temperature"),
            settings.pop("top_p", None),
            (stop,) if isinstance(stop, str) else tuple(stop),
            extra=settings,
        )
