"""Stand-in for ``lmms_eval.llm_judge.utils``: builds judges' prompts and reads their answers, strictly."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from polymeter.interop.lmms_eval.shim.lmms_eval.llm_judge import prompt as prompts
from polymeter.judge.verdict import the_only, unreadable

_ZERO_ONE = ("0/1", "1/0")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD_VERDICTS = {"yes": True, "no": False}
# A lone 0 or 1: not part of a longer number, a fraction or a word.
_BIT = re.compile(r"(?<![\w.,/-])([01])(?:\.0+)?(?![\w/]|[.,]\d)")
_YES_NO = re.compile(r"(?<!\w)(yes|no)(?!\w)", re.IGNORECASE)
# A line that is nothing but a verdict, perhaps marked up, perhaps with a name in front: "**Score: 1**".
_NOTHING_ELSE = re.compile(
    r"[^\w-]*(?:[\w ]{1,30}[:=][^\w-]*)?(?P<verdict>[01](?=\W|$)(?:\.0+)?|yes|no)\W*", re.IGNORECASE
)


class JudgePromptBuilder:
    """Prompts for the questions that a judge is usually asked. A custom prompt is filled in by ``str.format``."""

    @staticmethod
    def build_binary_prompt(
        question: str,
        answer: str,
        prediction: str,
        output_format: str = "0/1",
        custom_prompt: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Is it right? A custom prompt may use ``{question}``, ``{answer}``, ``{prediction}`` or ``{pred}``, and
        ``kwargs``.
        """
        if custom_prompt:
            return custom_prompt.format(
                question=question, answer=answer, pred=prediction, prediction=prediction, **kwargs
            )
        positive, negative = ("1", "0") if output_format in _ZERO_ONE else ("Yes", "No")
        return prompts.BINARY_JUDGE_PROMPT.format(
            question=question, answer=answer, prediction=prediction, positive=positive, negative=negative
        )

    @staticmethod
    def build_comparative_prompt(
        question: str,
        response1: str,
        response2: str,
        context: str | None = None,
        score_range: tuple[int, int] = (1, 10),
        custom_prompt: str | None = None,
        evaluation_instruction: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Which of two is better? A custom prompt may use the arguments' names in braces."""
        if custom_prompt:
            return custom_prompt.format(
                question=question, response1=response1, response2=response2, context=context or "", **kwargs
            )
        low, high = score_range
        return prompts.COMPARATIVE_JUDGE_PROMPT.format(
            question=question,
            response1=response1,
            response2=response2,
            context_section=f"[Context]\n{context}\n\n" if context else "",
            min_score=low,
            max_score=high,
            evaluation_instruction=evaluation_instruction or f"Give scores from {low} to {high}.",
        )

    @staticmethod
    def build_correctness_prompt(
        question: str, answer: str, prediction: str, output_format: str = "yes/no", **kwargs: Any
    ) -> str:
        """Does a solution arrive at the answer?"""
        positive, negative = ("Yes", "No") if output_format == "yes/no" else ("1", "0")
        return prompts.CORRECTNESS_JUDGE_PROMPT.format(
            question=question, answer=answer, prediction=prediction, positive=positive, negative=negative
        )

    @staticmethod
    def build_rubric_prompt(question: str, prediction: str, rubric: Mapping[str, Any]) -> str:
        """How well does it meet each item?"""
        items = "\n".join(f"- {name}: {meaning}" for name, meaning in rubric.items())
        return prompts.RUBRIC_JUDGE_PROMPT.format(question=question, prediction=prediction, rubric=items)


class ResponseParser:
    """Reads verdicts. One that is not clearly there raises ``UnscoredError``."""

    @staticmethod
    def parse_binary_response(response: str, output_format: str = "0/1") -> int | bool:
        """1 or 0, or with an output format of words true or false.

        A line that is nothing but the verdict counts first; without one, the text must name one verdict and not the
        other. ``10`` is no verdict.
        """
        if output_format in _ZERO_ONE:
            return int(_sole(_BIT, response))
        return _WORD_VERDICTS[_sole(_YES_NO, response)]

    @staticmethod
    def parse_score_response(response: str, score_range: tuple[float, float] | None = None) -> float:
        """The first number, moved into the range if one is given."""
        found = _NUMBER.search(response)
        if found is None:
            raise unreadable(response, "a number")
        score = float(found.group())
        return score if score_range is None else max(score_range[0], min(score, score_range[1]))

    @staticmethod
    def parse_comparative_response(response: str) -> tuple[float, float]:
        """The first two numbers of the first line."""
        lines = response.strip().splitlines()
        numbers = _NUMBER.findall(lines[0]) if lines else []
        if len(numbers) < 2:
            raise unreadable(response, "two scores on its first line")
        return float(numbers[0]), float(numbers[1])

    @staticmethod
    def parse_json_response(response: str) -> dict[str, Any]:
        """The JSON object in the text, from its first brace to its last."""
        start, end = response.find("{"), response.rfind("}")
        try:
            found = json.loads(response[start : end + 1]) if 0 <= start < end else None
        except json.JSONDecodeError:
            found = None
        if not isinstance(found, dict):
            raise unreadable(response, "a JSON object")
        return found


def _sole(verdict: re.Pattern[str], response: str) -> str:
    """The verdict in lower case: of the lines that are nothing but one, else of the whole text."""
    alone = [line for line in response.splitlines() if _NOTHING_ELSE.fullmatch(line)]
    for text in ("\n".join(alone), response):
        found = {str(item).lower() for item in verdict.findall(text)}
        if found:
            return the_only(found, response, "a verdict")
    raise unreadable(response, "a verdict")
