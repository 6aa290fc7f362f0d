"""``lmms_eval.llm_judge.utils``: builds judges' prompts, in Polymeter's own wording, and reads their answers strictly.

The wording does not affect tasks that bring their own prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from polymeter.core.guest_context import guest_context
from polymeter.interop.lmms_eval.original_prompts import original_prompt
from polymeter.judge.passages import unreadable
from polymeter.judge.reply import shown, spoken
from polymeter.judge.verdict import read_bit, read_yes_no
from polymeter.tasks.yaml.scoring.reasoning import strip_reasoning

BINARY_JUDGE_PROMPT = """\
You grade answers. Compare the candidate's answer with the reference and reply with {positive} if it is right, else with
{negative}.

Question:
<question>
{question}
</question>

Reference answer:
<reference>
{answer}
</reference>

Candidate's answer:
<candidate>
{prediction}
</candidate>

How to grade:
- If the candidate thinks aloud, grade only the conclusion.
- In a multiple-choice question the letter of the right option and its text count alike.
- In an open question the meaning counts, not the wording, case, spacing or notation.
- A part of the answer, or the answer with something wrong added to it, is not right.
- Numbers are right if they agree within ordinary rounding; where the question needs a unit, the unit must be right too.

Reply with {positive} or {negative} and nothing else."""

COMPARATIVE_JUDGE_PROMPT = """\
Two assistants answered the same question. Rate each answer from {min_score} to {max_score}: how helpful, relevant,
accurate and detailed it is; higher is better. Which answer comes first must not matter.

[Question]
{question}

{context_section}[Answer of assistant 1]
{response1}
[End of answer 1]

[Answer of assistant 2]
{response2}
[End of answer 2]

[Instruction]
{evaluation_instruction}

Write the two ratings on the first line, that of assistant 1 first, separated by a space and with nothing else. Explain
them from the second line on."""

CORRECTNESS_JUDGE_PROMPT = """\
Decide whether a solution arrives at the correct answer. Only the result counts, not the way to it, and of the result
only what it means: LaTeX, symbols and wrappers such as \\boxed{{}} make no difference.

Question:
{question}

Correct answer:
{answer}

Solution:
{prediction}

Reply with "{positive}" if it does and with "{negative}" if it does not, and with nothing else."""

RUBRIC_JUDGE_PROMPT = """\
Rate an answer by a rubric.

Question:
{question}

Answer:
{prediction}

Rubric:
{rubric}

Reply with one JSON object that gives a score for each item of the rubric, under the item's name."""


_ZERO_ONE = ("0/1", "1/0")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def _said(response: str) -> str:
    """A judge's answer without its reasoning.

    Raises:
        UnscoredError: if the reasoning was never ended; not with parity.
    """
    return strip_reasoning(response) if guest_context().parity.on("loose-verdict") else spoken(response)


def _shown(prediction: str) -> str:
    """A prediction as the judge is shown it: without reasoning, except at parity."""
    return prediction if guest_context().parity.on("judge-prompts") else shown(str(prediction))


def _template(name: str) -> str:
    """A default prompt: ours, or at parity lmms-eval's own, from the installed package."""
    if guest_context().parity.on("judge-prompts"):
        return original_prompt(name)
    template: str = globals()[name]
    return template


class JudgePromptBuilder:
    """Prompts for common questions to a judge. A custom prompt is filled in by ``str.format``."""

    @staticmethod
    def build_binary_prompt(
        question: str,
        answer: str,
        prediction: str,
        output_format: str = "0/1",
        custom_prompt: str | None = None,
        **kwargs: Any,
    ) -> str:
        """The prompt that asks whether an answer is right. A custom prompt may use ``{question}``, ``{answer}``,
        ``{prediction}`` or ``{pred}``, and ``kwargs``.
        """
        if custom_prompt:
            return custom_prompt.format(
                question=question, answer=answer, pred=prediction, prediction=prediction, **kwargs
            )
        positive, negative = ("1", "0") if output_format in _ZERO_ONE else ("Yes", "No")
        return _template("BINARY_JUDGE_PROMPT").format(
            question=question, answer=answer, prediction=_shown(prediction), positive=positive, negative=negative
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
        """The prompt that asks for ratings of two answers. A custom prompt may use the arguments' names in braces."""
        if custom_prompt:
            return custom_prompt.format(
                question=question, response1=response1, response2=response2, context=context or "", **kwargs
            )
        low, high = score_range
        usual = "Please provide scores" if guest_context().parity.on("judge-prompts") else "Give scores"
        return _template("COMPARATIVE_JUDGE_PROMPT").format(
            question=question,
            response1=_shown(response1),
            response2=_shown(response2),
            context_section=f"[Context]\n{context}\n\n" if context else "",
            min_score=low,
            max_score=high,
            evaluation_instruction=evaluation_instruction or f"{usual} from {low} to {high}.",
        )

    @staticmethod
    def build_correctness_prompt(
        question: str, answer: str, prediction: str, output_format: str = "yes/no", **kwargs: Any
    ) -> str:
        """The prompt that asks whether a solution arrives at the answer."""
        positive, negative = ("Yes", "No") if output_format == "yes/no" else ("1", "0")
        return _template("CORRECTNESS_JUDGE_PROMPT").format(
            question=question, answer=answer, prediction=_shown(prediction), positive=positive, negative=negative
        )

    @staticmethod
    def build_rubric_prompt(question: str, prediction: str, rubric: Mapping[str, Any]) -> str:
        """The prompt that asks for a score for each item of a rubric."""
        items = "\n".join(f"- {name}: {meaning}" for name, meaning in rubric.items())
        return _template("RUBRIC_JUDGE_PROMPT").format(question=question, prediction=_shown(prediction), rubric=items)


class ResponseParser:
    """Reads verdicts, outside of a judge's visible reasoning. A verdict that is not clear raises ``UnscoredError``."""

    @staticmethod
    def parse_binary_response(response: str, output_format: str = "0/1") -> int | bool:
        """1 or 0; true or false for an output format of words.

        A line that contains only the verdict counts first; without one, the text must contain one verdict and not the
        other. ``10`` is not a verdict.
        """
        if guest_context().parity.on("loose-verdict"):
            return int("1" in response) if output_format in _ZERO_ONE else response.strip().lower().startswith("yes")
        if output_format in _ZERO_ONE:
            return read_bit(response)
        return read_yes_no(response)

    @staticmethod
    def parse_score_response(response: str, score_range: tuple[float, float] | None = None) -> float:
        """The first number, moved into the range if one is given."""
        response = _said(response)
        number = _NUMBER.search(response)
        if number is None and guest_context().parity.on("loose-verdict"):
            return score_range[0] if score_range else 0.0
        if number is None:
            raise unreadable(response, "a number")
        score = float(number.group())
        return score if score_range is None else max(score_range[0], min(score, score_range[1]))

    @staticmethod
    def parse_comparative_response(response: str) -> tuple[float, float]:
        """The first two numbers of the first line."""
        response = _said(response)
        lines = response.splitlines()
        numbers = _NUMBER.findall(lines[0]) if lines else []
        if len(numbers) < 2 and guest_context().parity.on("loose-verdict"):
            return -1.0, -1.0
        if len(numbers) < 2:
            raise unreadable(response, "two scores on its first line")
        return float(numbers[0]), float(numbers[1])

    @staticmethod
    def parse_json_response(response: str) -> dict[str, Any]:
        """The JSON object in the text, from its first brace to its last."""
        response = _said(response)
        start, end = response.find("{"), response.rfind("}")
        try:
            verdict = json.loads(response[start : end + 1]) if 0 <= start < end else None
        except json.JSONDecodeError:
            verdict = None
        if not isinstance(verdict, dict) and guest_context().parity.on("loose-verdict"):
            return {}
        if not isinstance(verdict, dict):
            raise unreadable(response, "a JSON object")
        return verdict
