"""Reading of answers that are yes or no.

The reading is the announced word ("Answer: Yes", a box, a tag, JSON), the word of a correction at the end, or else the
first word: ``**Yes**, there is no dog.`` is yes. A last line that is one of the words counts too, and so does a
sentence that ends with one ("I would say yes"). Refusals, denials and answers with both words are neither.
"""

from __future__ import annotations

import re

from polymeter.reading.characters import AROUND, is_unspaced
from polymeter.reading.choices import choice_reading
from polymeter.reading.choices.phrases import patterns
from polymeter.reading.choices.statements import is_denied
from polymeter.reading.markup import MARK, marked, same_length_lower
from polymeter.reading.refusals import is_refusal

_OPTIONS = ("Yes", "No")
_WORDS = {
    **dict.fromkeys(
        ("yes", "sí", "sim", "sì", "oui", "ja", "да", "evet", "हाँ", "نعم", "是", "是的", "はい", "네", "예"), True
    ),
    **dict.fromkeys(
        ("no", "não", "non", "nein", "нет", "hayır", "नहीं", "لا", "否", "不是", "いいえ", "아니요", "아니오"), False
    ),
}
_FOREIGN = frozenset(_WORDS) - {"yes", "no"}
_FIRST = re.compile(r"[^\W\d_]+(?:[\u0900-\u0963]+)?")
_ENDS = ",.;:!?\n。，；：！？、،؛؟।—–-)(\"'" + MARK
_CORRECTED = re.compile(r"\b(?:wait|actually|correction)\b[^.\n]{0,20}?\b(yes|no)\b(?=\W*(?:$|[.,!\n]))")
_ENDING = re.compile(r"\b(?:say|answer|is|think|guess|reply|with|be) [\"'“]?(yes|no)\b[\"'”]?(?=\s*(?:$|[.!\n]))")


def read_yes_or_no(answer: str) -> bool | None:
    """Check whether an answer is yes or no; ``None``: it is neither, or both."""
    announced = choice_reading(answer, _OPTIONS, ())
    if announced.rule in ("announced", "letter"):
        return announced.index == 0
    text = marked(answer)
    low = same_length_lower(text)
    corrected = _CORRECTED.findall(low)
    if corrected:
        return bool(corrected[-1] == "yes")
    lines = [line.strip(AROUND) for line in low.split("\n") if line.strip(AROUND)]
    if not lines:
        return None
    first, last = _first(low), _WORDS.get(lines[-1])
    if first is not None:
        return first if last is None or last is first else None
    if last is not None:
        return last
    if is_refusal(low):
        return None
    ended = [match[1] == "yes" for match in _ENDING.finditer(low) if not is_denied(low, match.start(1))]
    if ended:
        return ended[0] if len(set(ended)) == 1 else None
    return None if announced.index is None else announced.index == 0


def _first(low: str) -> bool | None:
    """Read the first word."""
    begun = low.lstrip(AROUND)
    match = _FIRST.match(begun)
    said = None if match is None else _WORDS.get(match[0])
    if match is None or said is None:
        return None
    rest = begun[match.end() :].lstrip(MARK + "\"'”’»」)]")
    if not rest.strip() or rest[0] in "\n.!。！":
        return said
    join = patterns().join.match(rest)
    if join is not None and _WORDS.get((_FIRST.match(rest, join.end()) or [""])[0]) not in (None, said):
        return None if rest.lstrip()[0] not in ",，、" or _is_pair(rest, join.end()) else said
    if match[0] in _FOREIGN and rest[0] not in _ENDS and not is_unspaced(match[0][0]):
        return None
    return None if is_refusal(low) else said


def _is_pair(rest: str, at: int) -> bool:
    """Check whether the other word ends a clause: "Yes, no." is both, "Yes, no doubt" is one."""
    match = _FIRST.match(rest, at)
    return match is not None and rest[match.end() : match.end() + 1] in ("", *_ENDS)
