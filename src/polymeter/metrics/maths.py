"""Extraction of the answer to a mathematical question from a text, and its normalisation.

The rules are those of Qwen2.5-Math's evaluation, which EvalScope uses. ``math_equality`` decides whether two answers
are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from polymeter.metrics.bounded import bounded
from polymeter.metrics.math_equality import math_equal
from polymeter.metrics.number_words import number_in_words

__all__ = ["extract_answer", "math_equal", "strip_answer_string"]

_LAST_NUMBER = re.compile(r"-?\d*\.?\d+")
_Replacements = Sequence[tuple[str, str]]

# Each table is applied from top to bottom. Display commands are removed, and so are variables before "=", "in", "to".
_SPELLINGS: _Replacements = (
    ("bmatrix", "pmatrix"),
    ("tfrac", "frac"),
    ("dfrac", "frac"),
    (r"\neq", r"\ne"),
    (r"\leq", r"\le"),
    (r"\geq", r"\ge"),
    (r"\left", ""),
    (r"\right", ""),
    (r"\{", "{"),
    (r"\}", "}"),
)
_SIGNS: _Replacements = ((r"^{\circ}", ""), (r"^\circ", ""), (r"\$", ""), ("$", ""), (r"\(", ""), (r"\)", ""))
_MEMBERSHIP: _Replacements = (
    *((name + sign, "") for sign in ("=", r"\in", r"\to") for name in "xyz"),
    (r"\emptyset", "{}"),
    (r"(-\infty,\infty)", r"\mathbb{R}"),
    (r"\%", ""),
    ("%", ""),
    (" .", " 0."),
    ("{.", "{0."),
    ("infinity", r"\infty"),
)


@bounded
def extract_answer(pred_str: str, use_last_number: bool = True, *, repeats_last_scale: bool = False) -> str:
    r"""Return the final answer in a model's text, normalised by ``strip_answer_string``.

    It is the content of the last ``\boxed{…}``; else the text after the last "he answer is" or "final answer is", or
    after the first "答案是"; else the last number.

    Args:
        pred_str: The model's text.
        use_last_number: Whether the last number counts if nothing marks an answer.
        repeats_last_scale: See ``number_in_words``.

    Returns:
        The answer; the empty string if none is found.
    """
    answer = _marked(pred_str.replace("ки", ""))
    if answer is None:
        numbers = _LAST_NUMBER.findall(pred_str.replace(",", "")) if use_last_number else []
        answer = numbers[-1] if numbers else ""
    answer = re.sub(r"\n\s*", "", answer)
    stripped = answer.removeprefix(":").removesuffix(".").removesuffix("/")
    return strip_answer_string(stripped, repeats_last_scale=repeats_last_scale)


@bounded
def strip_answer_string(string: object, *, repeats_last_scale: bool = False) -> str:
    """Return an answer in normalised form: no units, display commands or spaces; fractions and roots with braces.

    Numbers separated by commas are sorted, so ``3, 1`` and ``1,3`` are equal (and ``1,000`` becomes ``0,1``, in every
    answer alike). Number words become digits; ``repeats_last_scale`` as in ``number_in_words``.
    """
    text = str(string).strip().replace("\n", "").rstrip(".").replace(r"\!", "")
    text = re.sub(r"\\begin\{array\}\{.*?\}", r"\\begin{pmatrix}", text)
    text = re.sub(r"\\end\{array\}", r"\\end{pmatrix}", text)
    text = _with_replacements(text, _SPELLINGS)
    text = _without_units(text)
    text = _in_digits(_with_replacements(text, _SIGNS), repeats_last_scale)
    text = re.sub(r"\\text\{(.*?)\}", r"\1", text)
    text = _with_replacements(text, _MEMBERSHIP)
    text = _plain_words(text)
    text = _whole_numbers(text)
    return _one_notation(text) if text else ""


def _marked(text: str) -> str | None:
    """Return the text that a phrase or a box marks as the answer, or ``None``."""
    if "final answer is $" in text and "$. I hope" in text:
        return text.split("final answer is $", 1)[1].split("$. I hope", 1)[0].strip()
    if "boxed" in text:
        return _boxed(text.rpartition("boxed")[2])
    for phrase in ("he answer is", "final answer is"):
        if phrase in text:
            return text.rpartition(phrase)[2].strip()
    if "答案是" in text:
        return text.split("答案是")[1].strip().split("\n\n")[0].strip()
    return None


def _boxed(text: str) -> str:
    """Return the content of the braces at the beginning of a text, or all text up to the next dollar sign."""
    if not text.startswith("{"):
        return text.partition("$")[0].strip()
    depth = 0
    for position, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if depth == 0:
            return text[1:position]
    return text[1:]


def _with_replacements(text: str, table: _Replacements) -> str:
    for old, new in table:
        text = text.replace(old, new)
    return text


def _in_digits(text: str, repeats_last_scale: bool) -> str:
    number = number_in_words(text, repeats_last_scale=repeats_last_scale)
    return text if number is None else str(number)


def _without_units(text: str) -> str:
    r"""Turn number words in ``\text`` into digits, and remove a ``\text`` at the end unless nothing else would be
    left.
    """
    text = re.sub(r"\\text\{([a-zA-Z]+)\}", lambda match: _word_in_text(match[0], match[1].lower()), text)
    text = re.sub(r"(cm|inches)\}\^2", r"\1}", text)
    return re.sub(r"\\text{.*?}$", "", text).strip() or text


def _word_in_text(whole: str, word: str) -> str:
    number = number_in_words(word)
    return whole if number is None else str(number)


def _plain_words(text: str) -> str:
    r"""Write ``inf`` as ``\infty`` and the imaginary unit ``j`` as ``i``, and remove ``and`` and boxes."""
    if r"\infty" not in text:
        text = text.replace("inf", r"\infty")
    text = text.replace("and", "").replace(r"\mathbf", "")
    text = re.sub(r"\\mbox{.*?}", "", text)
    return text.replace("j", "i") if "j" in text and "i" not in text else text


def _whole_numbers(text: str) -> str:
    """Write ``3.00`` as ``3`` and ``.5`` as ``0.5``, and remove ``k =`` before the answer."""
    text = re.sub(r"(\d+)\.0*([^\d])", r"\1\2", text)
    text = re.sub(r"(\d+)\.0*$", r"\1", text)
    if text.startswith("."):
        text = "0" + text
    name, _, value = text.partition("=")
    return value if text.count("=") == 1 and len(name) <= 2 else text


def _one_notation(text: str) -> str:
    text = re.sub(r"\\sqrt(\w+)", r"\\sqrt{\1}", text).replace(" ", "")
    text = _slash_as_fraction(_braced_fractions(text))
    text = re.sub(r"\\(?=\-?\d+(\\|\)|,|\]|$))", "", text)
    text = re.sub(r"thgrade$", "", text)
    if re.fullmatch(r"(\s*-?\d+\s*,)*\s*-?\d+\s*", text) and max(map(len, text.split(","))) < _MOST_DIGITS:
        text = ",".join(map(str, sorted(map(int, text.split(",")))))
    return text


# Python refuses to read longer integers.
_MOST_DIGITS = 4300


def _braced_fractions(text: str) -> str:
    r"""Write ``\frac12`` as ``\frac{1}{2}``. Return the text unchanged if a fraction has fewer than two characters
    after it.
    """
    head, *fractions = text.split(r"\frac")
    parts = [head]
    for part in fractions:
        if part.startswith("{"):
            parts.append(part)
        elif len(part) < 2:
            return text
        elif part[1] == "{":
            parts.append(f"{{{part[0]}}}{part[1:]}")
        else:
            parts.append(f"{{{part[0]}}}{{{part[1]}}}{part[2:]}")
    return r"\frac".join(parts)


def _slash_as_fraction(text: str) -> str:
    r"""Write ``3/4`` as ``\frac{3}{4}`` if each side is an integer or contains a root."""
    above, slash, below = text.partition("/")
    if not slash or "/" in below:
        return text
    if all("sqrt" in side or _is_plain_integer(side) for side in (above, below)):
        return rf"\frac{{{above}}}{{{below}}}"
    return text


def _is_plain_integer(text: str) -> bool:
    return bool(re.fullmatch(r"0|-?[1-9][0-9]*", text)) and len(text) < _MOST_DIGITS
