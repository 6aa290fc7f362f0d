"""Finding the chosen option in a model's text, and the winner in a judge's.

The patterns and their order are EvalScope's, because scores depend on them: the first pattern that occurs in a text
wins, wherever it does, and of several answers in one text the first. See ``docs/differences.md``.
"""

from __future__ import annotations

import ast
import logging
import re
import string
from collections.abc import Sequence
from typing import Any

from polymeter.core.guest_context import guest_context
from polymeter.interop.evalscope.tasks.constants import ArenaWinner

_LOG = logging.getLogger("polymeter")
_NOTHING = "No valid option found"
_LETTERS = tuple(string.ascii_uppercase)
_RATING = re.compile(r"\[\[(\d+\.?\d*)\]\]")
_LOOSE_RATING = re.compile(r"\[(\d+\.?\d*)\]")
_MARKED_WINNERS = {"[[A]]": ArenaWinner.MODEL_A, "[[B]]": ArenaWinner.MODEL_B, "[[C]]": ArenaWinner.TIE}

# Sentences in which a model names the option it chooses. ``{X}`` stands for the options, separated by ``|``. Order is
# meaning: the first pattern that occurs in a text decides.
#
# English, with the option as the first group.
_ANSWER_IS: tuple[str, ...] = (
    r"[Aa]nswer:\s*({X})",
    r"ANSWER:\s*({X})",
    r"answer is \(?({X})\)?",
    r"[Tt]he correct answer is:\s*({X})",
    r"[Tt]he correct answer is:\n\s*({X})",
    r"[Tt]he correct answer is:\n\n-\s*({X})",
    r"[Tt]he answer might be:\n\n-\s*({X})",
    r"[Tt]he answer is \s*({X})",
)

# "The answer is", "so choose", "only ... is right", "therefore", in Chinese; the options are a class of characters.
_CHINESE: tuple[str, ...] = (
    r"答案是?\s?([{X}])",
    r"答案是?\s?：([{X}])",
    r"答案是?\s?:([{X}])",
    r"答案应该?是\s?([{X}])",
    r"答案应该?选\s?([{X}])",
    r"答案为\s?([{X}])",
    r"答案选\s?([{X}])",
    r"选择?\s?([{X}])",
    # One pattern, not two: "so choose X" counts only right before "only X is right".
    r"故选?\s?([{X}])只有选?项?\s?([{X}])\s?是?对",
    r"只有选?项?\s?([{X}])\s?是?错",
    r"只有选?项?\s?([{X}])\s?不?正确",
    r"只有选?项?\s?([{X}])\s?错误",
    r"说法不?对选?项?的?是\s?([{X}])",
    r"说法不?正确选?项?的?是\s?([{X}])",
    r"说法错误选?项?的?是\s?([{X}])",
    r"([{X}])\s?是正确的",
    r"([{X}])\s?是正确答案",
    r"选项\s?([{X}])\s?正确",
    r"所以答\s?([{X}])",
    r"所以\s?([{X}][.。$]?$)",
    r"所有\s?([{X}][.。$]?$)",
    r"[\s，：:,]([{X}])[。，,\.]?$",
    r"[\s，,：:][故即]([{X}])[。\.]?$",
    r"[\s，,：:]因此([{X}])[。\.]?$",
    r"[是为。]\s?([{X}])[。\.]?$",
    r"因此\s?([{X}])[。\.]?$",
    r"显然\s?([{X}])[。\.]?$",
    r"答案是\s?(\S+)(?:。|$)",
    r"答案应该是\s?(\S+)(?:。|$)",
    r"答案为\s?(\S+)(?:。|$)",
    r"答案是(.*?)[{X}]",
    r"答案为(.*?)[{X}]",
    r"固选(.*?)[{X}]",
    r"答案应该是(.*?)[{X}]",
)
_ENGLISH_AND_BARE: tuple[str, ...] = (
    r"[Tt]he answer is \(?[{X}]\)?",
    r"[Tt]he correct answer is [{X}]",
    r"[Tt]he correct answer is:\n[{X}]",
    r"(\s|^)[{X}][\s。，,\.$]",
    r"^选项\s?([{X}])",
    r"^([{X}])\s?选?项",
    r"(\s|^)[{X}][\s。，,：:\.$]",
    r"(\s|^)[{X}](\s|$)",
    r"[{X}]",
)
_AMONG_CHOICES: tuple[str, ...] = _CHINESE + _ENGLISH_AND_BARE


class ResponseParser:
    """Parsers that find the option that a text chooses. Without ``options``, these are the letters A to Z."""

    @staticmethod
    def parse_first_capital(text: str, options: Sequence[str] | None = None) -> str:
        """The first character that is a capital and an option, or the empty text."""
        return _first_capital(text, options)

    @staticmethod
    def parse_last_capital(text: str, options: Sequence[str] | None = None) -> str:
        """The last character that is a capital and an option, or the empty text."""
        return _first_capital(text[::-1], options)

    @staticmethod
    def parse_first_option(text: str, options: Sequence[str] | None = None) -> str:
        """The option that follows "answer is", "Answer:" and the like.

        Args:
            text: What the model said, in English.
            options: The options; each may be more than a letter.

        Returns:
            The option; else the last capital that is one; else ``"No valid option found"``.
        """
        options = _LETTERS if options is None else options
        for pattern in _compiled(_ANSWER_IS, ResponseParser.process_options(options)):
            match = pattern.search(text)
            if match:
                return match.group(1)
        return ResponseParser.parse_last_capital(text, options) or _NOTHING

    @staticmethod
    def parse_first_option_with_choices(text: str, options: Sequence[str] | None = None) -> str:
        """The option that a Chinese or English sentence gives as the answer.

        Of the options that stand in what a pattern matched, it is the first in the order of ``options``.

        Returns:
            The option; else the last capital that is one; else ``"No valid option found"``.
        """
        options = _LETTERS if options is None else options
        for pattern in _compiled(_AMONG_CHOICES, ResponseParser.process_options(options)):
            match = pattern.search(text)
            chosen = match and next((option for option in options if option in match.group(0)), None)
            if chosen:
                return chosen
        return ResponseParser.parse_last_capital(text, options) or _NOTHING

    @staticmethod
    def parse_bracketed_answer(text: str, options: Sequence[str] | None = None) -> str:
        """The first option in angle brackets, or ``"No valid option found"``."""
        either = ResponseParser.process_options(_LETTERS if options is None else options)
        match = re.search(rf"<({either})>", text)
        return match.group(1) if match else _NOTHING

    @staticmethod
    def process_options(options: Sequence[str]) -> str:
        """A pattern for any of the options, each taken literally."""
        return "|".join(map(re.escape, options))


def lmsys_parser(completion: str, output_format: str) -> Any:
    """Return a judge's decision, in one of the three forms that FastChat's prompts ask for.

    Args:
        completion: What the judge said.
        output_format: ``[[rating]]``, ``[[rating_a,rating_b]]`` or ``[[A]]``.

    Returns:
        The rating, -1 where there is none; the winner and both ratings; or the winner. What cannot be read is an
        unknown winner. ``None`` for any other form.
    """
    if output_format == "[[rating]]":
        match = _RATING.search(completion) or _LOOSE_RATING.search(completion)
        rating = _value_of_digits(match.group(1)) if match else None
        return _unread(completion, -1) if rating is None else rating
    if output_format == "[[rating_a,rating_b]]":
        return _pair(completion)
    if output_format == "[[A]]":
        winner = next((who for mark, who in _MARKED_WINNERS.items() if mark in completion), None)
        return winner or _unread(completion, ArenaWinner.UNKNOWN)
    return None


def ranking_parser(completion: Any, **_: Any) -> str:
    """Return the first of a ranking: a list of ``{"model": "model_a", "rank": 1}``, or its text.

    Returns:
        The winner; unknown where the ranking cannot be read.
    """
    try:
        ranking = ast.literal_eval(completion) if isinstance(completion, str) else completion
        rank = next(entry["rank"] for entry in ranking if entry["model"] == ArenaWinner.MODEL_A)
    except (ValueError, SyntaxError, TypeError, KeyError, StopIteration, MemoryError, RecursionError):
        rank = None
    if rank == 1:
        return ArenaWinner.MODEL_A
    return ArenaWinner.MODEL_B if rank == 2 else _unread(completion, ArenaWinner.UNKNOWN)


def _first_capital(text: str, options: Sequence[str] | None) -> str:
    options = _LETTERS if options is None else options
    return next((letter for letter in text if letter.isupper() and letter in options), "")


def _compiled(templates: tuple[str, ...], either: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(template.replace("{X}", either)) for template in templates)


def _value_of_digits(digits: str) -> float | None:
    """A number, also ``05`` or in another script's digits, at which EvalScope fails; ``None`` if Python reads no number
    of that length.
    """
    try:
        return float(digits) if "." in digits else int(digits)
    except ValueError:
        return None


def _pair(completion: str) -> tuple[str, list[float]]:
    words = completion.partition("\n")[0].replace(",", " ").split(" ")
    try:
        first, second = map(float, words)
    except ValueError:
        return _unread(completion, ArenaWinner.UNKNOWN), [-1, -1]
    if first == second:
        is_none = first == -1 and not guest_context().parity.on("no-verdict-pair")
        return (ArenaWinner.UNKNOWN if is_none else ArenaWinner.TIE), [first, second]
    return (ArenaWinner.MODEL_A if first > second else ArenaWinner.MODEL_B), [first, second]


def _unread(completion: Any, instead: Any) -> Any:
    _LOG.warning("A judge's comparison could not be read: %s", completion)
    return instead
