"""Prompts of questions with options, and the labels of options: ``A``, ``B``, …, after ``Z`` the numbers from 1 on."""

from __future__ import annotations

import re
from typing import Any

_LETTERS = 26


def _english(*, many: bool, reasons: bool) -> str:
    question = "question where multiple answers may be correct" if many else "question"
    scope = "last line of your response" if reasons else "entire content of your response"
    label, count = ("[LETTERS]", "one or more of") if many else ("[LETTER]", "one of")
    ending = " Think step by step before answering." if reasons else ""
    return (
        f"Answer the following multiple choice {question}. The {scope} should be of the following format: "
        f"'ANSWER: {label}' (without quotes) where {label} is {count} {{letters}}.{ending}"
        "\n\n{question}\n\n{choices}"
    )


def _chinese(*, many: bool, reasons: bool) -> str:
    kind, wanted = ("多项", "所有正确答案") if many else ("单项", "正确答案")
    scope = "最后一行" if reasons else "全部内容"
    label, count = ("[LETTERS]", "一个或多个") if many else ("[LETTER]", "一个")
    ending = "请在回答前进行一步步思考。" if reasons else ""
    # The short form for several answers alone has no empty line before the question.
    gap = "\n" if many and not reasons else "\n\n"
    return (
        f"回答下面的{kind}选择题，请选出其中的{wanted}。你的回答的{scope}应该是这样的格式："
        f'"答案：{label}"（不带引号），其中 {label} 是 {{letters}} 中的{count}。{ending}{gap}'
        "问题：{question}\n选项：\n{choices}\n"
    )


FEW_SHOT_TEMPLATE = "Here are some examples of how to answer similar questions:\n\n{fewshot}\n\n"
SINGLE_ANSWER_TEMPLATE = _english(many=False, reasons=False)
SINGLE_ANSWER_TEMPLATE_COT = _english(many=False, reasons=True)
MULTIPLE_ANSWER_TEMPLATE = _english(many=True, reasons=False)
MULTIPLE_ANSWER_TEMPLATE_COT = _english(many=True, reasons=True)
CHINESE_FEW_SHOT_TEMPLATE = "以下是一些示例问题：\n\n{fewshot}\n\n"
CHINESE_SINGLE_ANSWER_TEMPLATE = _chinese(many=False, reasons=False)
CHINESE_SINGLE_ANSWER_TEMPLATE_COT = _chinese(many=False, reasons=True)
CHINESE_MULTIPLE_ANSWER_TEMPLATE = _chinese(many=True, reasons=False)
CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT = _chinese(many=True, reasons=True)


class MultipleChoiceTemplate:
    """The prompts by name."""

    SINGLE_ANSWER = SINGLE_ANSWER_TEMPLATE
    SINGLE_ANSWER_COT = SINGLE_ANSWER_TEMPLATE_COT
    MULTIPLE_ANSWER = MULTIPLE_ANSWER_TEMPLATE
    MULTIPLE_ANSWER_COT = MULTIPLE_ANSWER_TEMPLATE_COT
    CHINESE_FEW_SHOT_TEMPLATE = CHINESE_FEW_SHOT_TEMPLATE
    CHINESE_SINGLE_ANSWER_TEMPLATE = CHINESE_SINGLE_ANSWER_TEMPLATE
    CHINESE_SINGLE_ANSWER_TEMPLATE_COT = CHINESE_SINGLE_ANSWER_TEMPLATE_COT
    CHINESE_MULTIPLE_ANSWER_TEMPLATE = CHINESE_MULTIPLE_ANSWER_TEMPLATE
    CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT = CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT


def answer_character(index: int) -> str:
    """The label of the option at a position, which counts from 0."""
    return chr(ord("A") + index) if index < _LETTERS else str(index - _LETTERS + 1)


def answer_index(char: str) -> int:
    """The position of the option with a label.

    Raises:
        ValueError: if it is neither a letter nor a number.
        TypeError: if it is several letters.
    """
    if char.isalpha() or char in (",", " "):
        return ord(char.upper()) - ord("A")
    if char.isnumeric():
        return _LETTERS - 1 + int(char)
    raise ValueError(f"{char!r} is no label of an option: it must be a letter or a number.")


def answer_options(choices: Any) -> str:
    """The options, one to a line: ``A) first``.

    Args:
        choices: Texts, or the ``Choices`` of a state.
    """
    texts = (choice if isinstance(choice, str) else choice.value for choice in choices)
    return "\n".join(f"{answer_character(at)}) {text}" for at, text in enumerate(texts))


def format_letter_choices(choices: Any) -> str:
    """The labels of the options: ``A,B,C``."""
    return ",".join(answer_character(at) for at in range(len(choices)))


def prompt(question: str, choices: Any, template: str, fewshot: str | None = None) -> str:
    """Fill a template with a question and its options.

    Args:
        question: The question.
        choices: Texts, or the ``Choices`` of a state.
        template: With ``{question}``, ``{choices}``, ``{letters}``, and ``{fewshot}`` where examples are given.
        fewshot: The examples; an empty text is none.

    Raises:
        KeyError: if the template asks for something else.
    """
    parts = {"choices": answer_options(choices), "letters": format_letter_choices(choices), "question": question}
    return template.format(**parts, **({"fewshot": fewshot} if fewshot else {}))


def format_example(question: str, choices: Any, answer: Any) -> str:
    """A solved question as an example.

    Args:
        question: The question.
        choices: Its options.
        answer: Its ``Target``.
    """
    return f"{question}\n{answer_options(choices)}\nANSWER: {answer.compact()}"


def valid_template(template: str) -> bool:
    """Return whether a template has a place for the question and one for the options."""
    return all(re.search(rf"\{{{name}\}}", template) for name in ("question", "choices"))


def unshuffle_choices(choices: Any) -> Any:
    """The options in their original order."""
    return type(choices)(sorted(choices, key=lambda choice: choice.original_position))


def set_choices_based_on_generated_response(state: Any, answers: set[str]) -> None:
    """Mark each option of a state as chosen or not.

    Args:
        state: The state.
        answers: Labels of the chosen ones.
    """
    chosen = {answer_index(label) for label in answers}
    for at in range(len(state.choices)):
        state.choices.mark_choice(at, at in chosen)
