"""The texts of options in an answer: as the whole answer, at its beginning, or as whole words anywhere in it.

Case, width, white space, outer punctuation and markup do not matter. If the options of a question differ in nothing
else ("mW", "MW"), as little as needed is ignored. Options with the same text cannot be distinguished, so their text
never counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polymeter.reading.characters import is_hangul, is_joined, is_unspaced, skipped
from polymeter.reading.choices.announcements import PARTICLES
from polymeter.reading.markup import ANNOUNCES, MARK, folded, marked

_EXACT = 0
_CASED = 1
_PLAIN = 2
_STOPS = " \t\n.,;:!?…。，、；：！？।؟،؛'\"`´“”‘’„«»‹›|" + MARK
_PAIRS = {
    "(": ")",
    "[": "]",
    "{": "}",
    "<": ">",
    "【": "】",
    "「": "」",
    "『": "』",
    "〔": "〕",
    "《": "》",
    "〈": "〉",
}
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:,\d{3})+|(?:[ \u00a0\u2009\u202f]\d{3})+)(?![\d,])")
_GROUPS = re.compile(r"\D")
_SIGNS = "-−+<>≤≥±~≈.$€£¥"
"""Characters after a number that belong to it."""
_SPACE = re.compile(r"\s+")
_ALIKE = str.maketrans(
    {"’": "'", "‘": "'", "“": '"', "”": '"', "‐": "-", "‑": "-", "−": "-", "\u00a0": " ", "ـ": "", "ı": "i"}
)
_RANGE = re.compile(r"(?<=\d)[–—](?=\d)")
_MATHS = {"$": "", "\\(": "", "\\)": "", "\\[": "", "\\]": ""}


@dataclass(frozen=True, slots=True)
class Mention:
    """An option's text in an answer, by its position there."""

    option: int
    start: int
    end: int


class OptionTexts:
    """The texts of a question's options.

    Args:
        options: The options, as the model saw them.
        letters: Their letters, in upper case. If the text of an option is one of them, only its letter counts, unless
            the text is the whole answer.
    """

    def __init__(self, options: Sequence[str], letters: Sequence[str]) -> None:
        self._letters = frozenset(letters)
        self._options = [option.strip() for option in options]
        self._level, forms = _forms(options)
        counts = Counter(forms)
        self._forms = [form if form and counts[form] == 1 else "" for form in forms]
        self._searched = [
            (number, form)
            for number, form in enumerate(self._forms)
            if form and not (len(form) == 1 and form.isascii() and form.isalpha()) and form.upper() not in letters
        ]
        self.longest = max((len(form) for form in self._forms), default=0)

    def form(self, text: str) -> str:
        """Return a text in the form in which options are compared here, outer punctuation included."""
        return _form(text, self._level)

    def whole(self, text: str) -> int | None:
        """Return the option whose text equals a whole text."""
        form = _stripped(self.form(text)) if self._level else self.form(text)
        return self._forms.index(form) if form and form in self._forms else None

    def letter(self, character: str) -> int | None:
        """Return the option whose text is one letter that is not the label of an option."""
        found = self.whole(character) if character.isalpha() else None
        is_label = character.upper() in self._letters
        return None if found is None or is_label else found

    def is_capital(self, number: int) -> bool:
        """Check whether an option is written with a capital."""
        return self._options[number][:1].isupper()

    def opening(self, text: str) -> str:
        """Return the beginning of a text in the form in which options are compared."""
        form = self.form(text[: 2 * self.longest + 40])
        return form[skipped(form, 0, _STOPS) - _has_point(form, skipped(form, 0, _STOPS)) :]

    def starting(self, text: str) -> Mention | None:
        """Return the longest option at the beginning of a text, as whole words, by its place in ``opening``."""
        form = self.opening(text)
        found = [
            Mention(number, 0, len(option))
            for number, option in self._searched
            if form.startswith(option) and _is_whole(form, 0, len(option))
        ]
        return max(found, key=lambda mention: mention.end, default=None)

    def mentions(self, form: str) -> Iterator[Mention]:
        """Yield the mentions of options in a text in this form, in order. Of a mention within another one, only the
        longer counts.
        """
        found = [mention for number, option in self._searched for mention in _mentions_of(form, number, option)]
        reached = -1
        for mention in sorted(found, key=lambda mention: (mention.start, -mention.end)):
            if mention.end > reached:
                reached = mention.end
                yield mention


def has_equal(options: Sequence[str]) -> bool:
    """Check whether two options have the same text, so that an answer can name them only by letter."""
    forms = [_form(option, _EXACT) for option in options]
    return len(set(forms)) < len(forms)


def _forms(options: Sequence[str]) -> tuple[int, list[str]]:
    """Return the forms of options in which as much as possible is ignored while different options stay different."""
    n_different = len({_form(option, _EXACT) for option in options})
    for level in (_PLAIN, _CASED):
        forms = [_stripped(_form(option, level)) for option in options]
        if len(set(forms)) == n_different and all(forms):
            return level, forms
    return _EXACT, [_form(option, _EXACT) for option in options]


def _form(text: str, level: int) -> str:
    if level == _EXACT:
        return _SPACE.sub(" ", folded(text)).strip()
    plain = marked(text).replace(MARK, "").replace(ANNOUNCES, "")
    for mark, instead in _MATHS.items():
        plain = plain.replace(mark, instead)
    if not plain.isascii():
        plain = _RANGE.sub("-", plain.translate(_ALIKE))
        plain = "".join(_digit(character) for character in plain)
    if level == _PLAIN:
        plain = plain.casefold()
        plain = plain if plain.isascii() else unicodedata.normalize("NFC", plain.replace("i\u0307", "i"))
    return _SPACE.sub(" ", _GROUPED.sub(lambda match: _GROUPS.sub("", match[0]), plain)).strip()


def _digit(character: str) -> str:
    return str(unicodedata.decimal(character)) if character > "\x7f" and character.isdecimal() else character


def _stripped(form: str) -> str:
    """Return a form without punctuation and pairs of brackets around it."""
    while form:
        begin = skipped(form, 0, _STOPS)
        bare = form[begin - _has_point(form, begin) :].rstrip(_STOPS)
        if len(bare) > 1 and _PAIRS.get(bare[0]) == bare[-1] and bare[0] not in bare[1:]:
            bare = bare[1:-1]
        if bare == form:
            break
        form = bare
    return form


def _has_point(text: str, start: int) -> bool:
    """Return whether a decimal point stands directly before a number: ".5"."""
    return text[start : start + 1].isdigit() and text[max(0, start - 1) : start] == "."


def signed(text: str, start: int, least: int) -> int:
    """Return the start of the number at a position, signs included, but not before ``least``. An arrow is not a
    sign.
    """
    if not text[start : start + 1].isdigit():
        return start
    at = start
    while at > least and text[at - 1] in _SIGNS:
        at -= 1
    return start if text[at:start].endswith(("=>", "->", "..")) or text[max(0, at - 1) : at] == "=" else at


def _mentions_of(form: str, number: int, option: str) -> Iterator[Mention]:
    start = form.find(option)
    while start >= 0:
        end = start + len(option)
        if _is_whole(form, start, end):
            yield Mention(number, start, end)
        start = form.find(option, end)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Check whether a part of a text is whole words or a whole number. In scripts without spaces, any part is. After a
    part in Hangul, a particle may follow.
    """
    return _begins(text, start) and _ends(text, end)


def _begins(text: str, start: int) -> bool:
    before, first = text[start - 1 : start], text[start]
    further = text[start - 2 : start - 1]
    if not before or before.isspace() or is_unspaced(first):
        return True
    if not first.isalnum():  # a sign is whole unless it could belong to the text before it
        return before in _STOPS or before in _PAIRS or is_unspaced(before)
    if first.isdigit() and before in "-+" and not further.isalnum():
        return False
    if first.isdigit() and before in "<>≤≥±≈$€£¥" and text[start - 2 : start] not in ("=>", "->"):
        return False
    if first.isdigit() and before == "." and not further.strip():
        return False
    if first.isdigit() and before in ".,:/^" and further.isdigit():
        return False
    if before in "-_" and further.isalnum():
        return bool(is_unspaced(further))
    return not is_joined(before)


def _ends(text: str, end: int) -> bool:
    last, after = text[end - 1], text[end : end + 1]
    further = text[end + 1 : end + 2]
    if not after or after.isspace() or (is_unspaced(last) and not unicodedata.combining(after)):
        return True
    if not last.isalnum() and not unicodedata.combining(last) and not unicodedata.category(last).startswith("M"):
        return after in _STOPS or after in _PAIRS.values() or is_unspaced(after)
    if is_hangul(last) and is_hangul(after):
        rest = end
        while rest < len(text) and rest < end + 8 and is_hangul(text[rest]):
            rest += 1
        return text[end:rest] in PARTICLES
    if last.isdigit() and after in ".,:/^" and further.isdigit():
        return False
    if after in "-_" and further.isalnum():
        return bool(is_unspaced(further))
    return not is_joined(after) and after not in "+#"
