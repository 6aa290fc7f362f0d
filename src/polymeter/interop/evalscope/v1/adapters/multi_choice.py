"""``MultiChoiceAdapter``: questions with options, and reading of the letters in answers."""

from __future__ import annotations

from typing import Any, ClassVar

from polymeter.interop.evalscope.v1.adapters.default_adapter import DefaultDataAdapter
from polymeter.interop.evalscope.v1.scoring.choice_parsing import parse_answers, parse_answers_zh
from polymeter.interop.evalscope.v1.scoring.choice_templates import (
    FEW_SHOT_TEMPLATE,
    MultipleChoiceTemplate,
    format_example,
    prompt,
    valid_template,
)
from polymeter.interop.evalscope.v1.types.samples import Sample
from polymeter.interop.evalscope.v1.types.state import Choices, Target, TaskState

CHINESE_ANSWER_TEMPLATES = (
    MultipleChoiceTemplate.CHINESE_SINGLE_ANSWER_TEMPLATE,
    MultipleChoiceTemplate.CHINESE_SINGLE_ANSWER_TEMPLATE_COT,
    MultipleChoiceTemplate.CHINESE_MULTIPLE_ANSWER_TEMPLATE,
    MultipleChoiceTemplate.CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT,
)
"""Exactly these prompts have answers that are read as Chinese."""


class MultiChoiceAdapter(DefaultDataAdapter):
    """A benchmark whose samples have ``choices``. Targets and answers are letters.

    Attributes:
        multiple_correct: Whether several options may be right; set after the constructor.
        decision_noul_positive_choice: For services of decisions, which have no place here.
        decision_fixed_classes: The same.
    """

    decision_noul_positive_choice: ClassVar[str | None] = None
    decision_fixed_classes: ClassVar[bool] = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.multiple_correct = False

    def format_prompt_template(self, sample: Sample) -> str:
        """Return the prompt of a sample.

        Raises:
            AssertionError: if the template lacks ``{question}`` or ``{choices}``.
        """
        _check(self.prompt_template, "prompt_template")
        return prompt(question=str(sample.input), choices=_choices(sample), template=self.prompt_template)

    def format_fewshot_template(self, fewshot: str, sample: Sample) -> str:
        """Return the prompt of a sample behind its examples.

        Raises:
            AssertionError: if the template lacks ``{question}`` or ``{choices}``.
        """
        template = self.few_shot_prompt_template or FEW_SHOT_TEMPLATE + self.prompt_template
        _check(template, "few_shot_prompt_template")
        return prompt(question=str(sample.input), choices=_choices(sample), template=template, fewshot=fewshot)

    def sample_to_fewshot(self, sample: Sample) -> str:
        """Return a sample as an example: question, options, and ``ANSWER:``."""
        return format_example(question=str(sample.input), choices=_choices(sample), answer=Target(sample.target))

    def extract_answer(self, prediction: str, task_state: TaskState) -> str:
        """Return the letters of an answer, sorted and joined."""
        read = parse_answers_zh if self.prompt_template in CHINESE_ANSWER_TEMPLATES else parse_answers
        return "".join(sorted(read(task_state, multiple_correct=self.multiple_correct, completion=prediction)))


def _choices(sample: Sample) -> Choices:
    return Choices(sample.choices or [])


def _check(template: Any, name: str) -> None:
    if not valid_template(template or ""):
        raise AssertionError(f"{name} has no {{question}} or no {{choices}}: {template!r}")
