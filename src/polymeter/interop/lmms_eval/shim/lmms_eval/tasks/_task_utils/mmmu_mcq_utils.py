"""Stand-in for ``lmms_eval.tasks._task_utils.mmmu_mcq_utils``: how the tasks of the MMMU family read a choice.

They share one procedure, a ladder of forms of which the first that occurs counts, and differ in its rungs, in what they
say when none occurs, and in how they choose among several letters: by the last place of the form that was found.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from polymeter.interop.lmms_eval.shim.lmms_eval.tasks._task_utils._mentions import stripped

_MARKS = (",", ".", "!", "?", ";", ":", "'")
_JAPANESE_MARKS = (*_MARKS, "、", "。", "！", "？", "；", "：")
_JAPANESE = r"[\u3040-\u30FF\u4E00-\u9FFF]"
_MARKER = re.compile(r"(?i:answer)\s*[:：]\s*[*(\[]*([A-Z])\b")
_MANY_WORDS = 5


def get_multi_choice_info(options: Sequence[str], start_chr: str = "A") -> tuple[dict[str, str], list[str]]:
    """The options by their letters, and the letters."""
    letters = [chr(ord(start_chr) + place) for place in range(len(options))]
    return dict(zip(letters, options, strict=True)), letters


def parse_mmmu_multi_choice_response(response: str, all_choices: Sequence[str], index2ans: Mapping[str, str]) -> str:
    """MMMU: the last ``Answer: X``, else the ladder; the empty string when nothing is found."""
    announced = [letter for letter in _MARKER.findall(response) if letter in all_choices]
    if announced:
        return str(announced[-1])
    text = stripped(response, _MARKS)
    found = [letter for letter in all_choices if f"({letter})" in text]
    if found:
        return _last(text, found, "(@)")
    found = _with(text, all_choices, "@ ") or _with(text, all_choices, "@.")
    return _last(text, found, " @ ") if found else _by_text(text, index2ans) or ""


def parse_jmmmu_multi_choice_response(response: str, all_choices: Sequence[str], index2ans: Mapping[str, str]) -> str:
    """JMMMU: the ladder with Japanese marks and neighbours; a letter at random when nothing is found."""
    text = stripped(response, _JAPANESE_MARKS)
    found = _with(text, all_choices, "(@)")
    if found:
        return _last(text, found, "(@)")
    found = (
        _with(text, all_choices, "@ ")
        or [letter for letter in all_choices if re.search(f"{_JAPANESE}{letter}{_JAPANESE}", text)]
        or _with(text, all_choices, "@.")
    )
    if found:
        return _last(text, found, " @ ")
    return _by_text(text, index2ans) or random.choice(all_choices)


def parse_videommmu_multi_choice_response(
    response: str, all_choices: Sequence[str], index2ans: Mapping[str, str]
) -> str:
    """Video-MMMU: ``A.`` and ``A:`` before the ladder; an empty response counts as a failed request."""
    if response in ("API Error", ""):
        return "API Error"
    text = stripped(response, _MARKS)
    dotted, with_colon = _with(text, all_choices, "@."), _with(text, all_choices, "@:")
    if dotted or with_colon:
        return _last(text, [*dotted, *with_colon], "@." if dotted else "@:")
    found = _with(text, all_choices, "(@)")
    if found:
        return _last(text, found, "(@)")
    found = _with(text, all_choices, "@ ")
    return _last(text, found, " @ ") if found else _by_text(text, index2ans) or "No Answer Found."


_FULL_WIDTH = {ord("Ａ") + place: ord("A") + place for place in range(26)}
_OPTION_LINE = re.compile(r"\s*(?:[-*・>•]\s*)?[A-Z][.)、。：:]", re.IGNORECASE)
_ANNOUNCED = re.compile(
    r"(?:answer|final|correct|solution|ans|正解(?:は)?|答え(?:は)?|解答(?:は)?)\s*[:：]?\s*[【\[(】*_-]*([A-Z])[】\])*_-]*\b",
    re.IGNORECASE,
)
_MARKED_LETTER = re.compile(r"[【\[(*]*([A-Z])[】\])*]*\b", re.IGNORECASE)


def parse_jmmmu_pro_multi_choice_response(response: str, all_choices: Sequence[str]) -> str:
    """JMMMU-Pro: a letter that the first line, else any line announces, else the last letter outside of option lines; X
    when none is found.
    """
    lines = [line.strip() for line in (response or "").translate(_FULL_WIDTH).splitlines() if line.strip()]
    if not lines:
        return "X"
    announced = _ANNOUNCED.search(lines[0]) or _ANNOUNCED.search(response.translate(_FULL_WIDTH))
    if announced:
        letter = announced.group(1)
    else:
        marked = [found for line in lines if not _OPTION_LINE.match(line) for found in _MARKED_LETTER.findall(line)]
        letter = marked[-1] if marked else "X"
    return letter.upper() if letter.upper() in all_choices else "X"


def _with(text: str, letters: Sequence[str], shape: str) -> list[str]:
    return [letter for letter in letters if shape.replace("@", letter) in text]


def _last(text: str, found: Sequence[str], shape: str) -> str:
    """Of several letters the one whose form comes last; the first of those that do not occur in that form."""
    return max(found, key=lambda letter: text.rfind(shape.replace("@", letter)))


def _by_text(text: str, index2ans: Mapping[str, str]) -> str | None:
    """The letter whose option comes last in a text of more than five words."""
    if len(text.split()) <= _MANY_WORDS:
        return None
    folded = text.lower()
    found = [letter for letter, option in index2ans.items() if option.lower() in folded]
    return max(found, key=lambda letter: folded.rfind(index2ans[letter].lower())) if found else None
