"""The option that an answer chooses, by the first of these rules that finds one.

1. ``announced``: an announcement such as "The answer is (B)." or "答案是B". The last one counts. Negations, conditions
   and questions are not announcements. Text after the announcement is its explanation. A list of options under a
   heading announces none of them.
2. ``letter``: the answer, its last line or its first line is one letter and nothing else, or a letter and the text of
   its option. In a list with boxes, the ticked entry counts.
3. ``text``: the answer contains the text of exactly one option, as whole words. Refusals choose nothing by text.

Otherwise the answer chooses none. A letter within a word, an article or a pronoun is never a choice. Reasoning must be
removed first. The time is linear in the length of the answer.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, product
from typing import Literal

from polymeter.reading.characters import AROUND, CLOSING, OPENING, is_unspaced, skipped
from polymeter.reading.choices.labels import NONE, Labels, NamedOption
from polymeter.reading.choices.option_texts import OptionTexts, signed
from polymeter.reading.choices.phrases import patterns
from polymeter.reading.choices.statements import (
    MOST_ANNOUNCEMENTS,
    Announcement,
    is_denied,
    is_hypothetical,
    is_mention_denied,
    strong,
    weak,
)
from polymeter.reading.choices.ticks import ticked
from polymeter.reading.markup import marked, same_length_lower
from polymeter.reading.refusals import is_phrase, is_refusal, is_said

CHOICES_VERSION = 2
"""The version of these rules: raise it if an answer may be read as another option than before."""

UNPARSED = "unparsed"
"""The metric for the share of answers that choose no option by these rules. Such answers count as wrong."""

Rule = Literal["announced", "letter", "text", "none"]
_SAID: dict[Rule, str] = {
    "announced": "an announcement",
    "letter": "its letter alone",
    "text": "its text",
    "none": "nothing",
}
_MOST_FILLERS = 6
_LETTER_TAG = re.compile(r"<([A-Za-z])>\.?")
_DECLINED = re.compile(
    r"(?:none|neither|cannot|can't|unknown|unclear|impossible|undetermined|n/a|not (?:possible|clear|given|sure"
    r"|provided|determinable|enough)|无法|不知道|不确定|無法|不能|わかりません|不明|알 수 없)"
)


@dataclass(frozen=True, slots=True)
class ChoiceReading:
    """The option that was read from an answer.

    Attributes:
        index: The index of the option that the answer chooses; ``None`` if it chooses none.
        rule: The rule that read it.
    """

    index: int | None
    rule: Rule

    @property
    def said(self) -> str:
        """The rule in words, for explanations."""
        return _SAID[self.rule]


def option_labels(n: int) -> tuple[str, ...]:
    """Return the labels of ``n`` options as prompts show them: ``A`` to ``Z``, ``AA`` to ``ZZ``, ``AAA`` and so on."""
    labels = ("".join(letters) for size in count(1) for letters in product(string.ascii_uppercase, repeat=size))
    return tuple(islice(labels, n))


def read_choice(answer: str, options: Sequence[str], labels: Sequence[str] | None = None) -> int | None:
    """Return the index of the option that an answer chooses; see ``choice_reading``."""
    return choice_reading(answer, options, labels).index


def choice_reading(answer: str, options: Sequence[str], labels: Sequence[str] | None = None) -> ChoiceReading:
    """Return the option that an answer chooses, and the rule that read it.

    Args:
        answer: The answer, without its reasoning.
        options: The texts of the options.
        labels: Their labels, as the model saw them; ``option_labels`` by default. If empty, the model saw none, so an
            answer can name an option only by its text.

    Returns:
        The reading.
    """
    shown = option_labels(len(options)) if labels is None else labels
    return _ChoiceReader(answer, options, [label.upper() for label in shown]).read()


class _ChoiceReader:
    """A reader of one answer to one question."""

    def __init__(self, answer: str, options: Sequence[str], labels: Sequence[str]) -> None:
        self._answer = answer
        self._text = marked(answer)
        self._low = same_length_lower(self._text)
        self._texts = OptionTexts(options, labels)
        self._labels = Labels(self._text, self._low, labels, self._texts)

    def read(self) -> ChoiceReading:
        if not self._answer.strip():
            return ChoiceReading(None, "none")
        announcements = list(strong(self._low))
        announced = self._last([one for one in announcements if not one.is_label])
        if announced is None:
            announced = self._last([one for one in announcements if one.is_label])
        if announced is not None:
            return _reading(announced, "announced")
        marked_off = self._ticked()
        if marked_off is not None:
            return _reading(marked_off, "letter")
        line = self._lone_letter()
        if line is not None:
            return _reading(line, "letter")
        agreed = self._agreed()
        if agreed is not None:
            return _reading(agreed, "announced")
        return _reading(self._by_text(), "text")

    def _last(self, announcements: Sequence[Announcement]) -> int | None:
        """Return the option that the last valid announcement names. Different letters without a link are headings:
        "Answer A", "Answer B".
        """
        bare = [announcement for announcement in announcements if announcement.is_bare]
        is_list = len({self._announced(announcement) for announcement in bare} - {None}) > 1
        for announcement in announcements:
            named = None if announcement.is_bare and is_list else self._announced(announcement)
            if named is not None:
                return named
        return None

    def _announced(self, announcement: Announcement) -> int | None:
        start, position = announcement.start, announcement.end
        if self._is_ruled_out(announcement):
            return None
        for _ in range(_MOST_FILLERS):
            named = self._labels.letter_at(position)
            if (named is None or named.index == NONE) and not announcement.is_weak:
                named = self._letter_text_at(position) or named
            if named is not None and announcement.needs_end and not self._labels.ends_line(named.end):
                named = None
            if named is not None and announcement.is_bare and self._labels.is_topic(named.end):
                return None
            if named is not None and announcement.is_in_line and "\n" in self._text[start : named.end]:
                return None
            if named is None and not announcement.is_weak:
                named = self._text_at(position, announcement)
            if named is not None and not announcement.is_boxed and self._labels.begins_list(start, named):
                return None
            if named is not None:
                is_asked = not announcement.is_boxed and is_hypothetical(self._low, start, position, named.end)
                return None if is_asked else named.index
            at = skipped(self._low, position, OPENING)
            filler = patterns().filler.match(self._low, at)
            # A capital is not an article of Portuguese or Italian.
            if filler is None or (filler.end() - at == 1 and self._text[at].isupper()):
                break
            position = filler.end()
        if announcement.is_linked and _DECLINED.match(self._low, skipped(self._low, position, OPENING)):
            return None if is_hypothetical(self._low, start, position, position) else NONE
        return None

    def _is_ruled_out(self, announcement: Announcement) -> bool:
        """Check whether the text before a phrase makes it something else than an announcement."""
        if announcement.is_contrast:
            return not self._labels.is_contrast(announcement.start)
        is_deniable = not announcement.is_boxed and not announcement.is_anew
        return is_deniable and is_denied(self._low, announcement.start)

    def _letter_text_at(self, position: int) -> NamedOption | None:
        """Return the option whose text is the letter that an announcement names: ``x`` of ``x``, ``y`` and ``z``."""
        start = skipped(self._text, position, OPENING)
        if not self._text[start : start + 1].isalpha() or not self._labels.ends_line(start + 1):
            return None
        index = self._texts.letter(self._text[start : start + 1])
        return None if index is None else NamedOption(index, start + 1)

    def _text_at(self, position: int, announcement: Announcement) -> NamedOption | None:
        """Return the option whose text an announcement names."""
        if announcement.needs_end:
            return None
        start = signed(self._text, skipped(self._text, position, OPENING), position)
        named = self._text[start : start + 2 * self._texts.longest + 40]
        mention = self._texts.starting(named)
        if mention is None:
            return None
        end = min(start + mention.end, len(self._text))
        is_one = not self._joins_other(self._texts.opening(named)[mention.end :], mention.option)
        return NamedOption(mention.option if is_one else NONE, end)

    def _joins_other(self, rest: str, option: int) -> bool:
        """Check whether the text after an option joins another option to it: "dog or bus", not "dog and the bus is
        red".
        """
        join = patterns().join.match(rest)
        if join is None:
            return False
        filler = patterns().filler.match(rest, join.end())
        further = rest[filler.end() if filler else join.end() :]
        other = self._texts.starting(further)
        if other is None or other.option == option:
            return False
        tail = self._texts.opening(further)[other.end :].lstrip()
        return not tail or tail[0] in ".,;!?)。，、；" or patterns().join.match(tail) is not None

    def _ticked(self) -> int | None:
        """Return the ticked entry in a list with boxes, or ``NONE`` if none or several are ticked."""
        entries = ticked(self._text.split("\n"))
        if entries is None:
            return None
        if not entries:  # crosses alone choose none, unless text follows below them
            return NONE if ticked(self._text.rstrip().split("\n")[-1:]) is not None else None
        named = {self._entry(entry) for entry in entries}
        found = named - {None}
        if not found:
            return None
        return found.pop() if len(found) == 1 else NONE

    def _entry(self, line: str) -> int | None:
        """Return the option in an entry of a list."""
        letter = self._labels.letter_line(line)
        if letter is not None:
            return letter[0]
        text = self._texts.whole(line)
        return self._labels.paraphrased(line) if text is None else text

    def _lone_letter(self) -> int | None:
        """Return the letter that is the whole answer, its last line or its first."""
        if not self._labels.indices:
            return None
        tag = _LETTER_TAG.fullmatch(self._answer.strip())
        if tag is not None and tag[1].upper() in self._labels.indices:
            return self._labels.indices[tag[1].upper()]
        whole = self._labels.letter_line(self._text)
        if whole is not None:
            return whole[0]
        lines = [line for line in self._text.split("\n") if line.strip(AROUND)]
        if len(lines) == 1:
            return self._labels.paraphrased(lines[0])
        if not lines:
            return None
        found = [letter for letter in map(self._labels.letter_line, lines) if letter is not None]
        last, first = self._labels.letter_line(lines[-1]), self._labels.letter_line(lines[0])
        if last is not None and not last[1]:
            bare = {index for index, has_text in found if not has_text}
            return last[0] if len(bare) == 1 else NONE
        chosen = last or first
        if chosen is None:
            return None
        return chosen[0] if len({index for index, _ in found}) == 1 else NONE

    def _agreed(self) -> int | None:
        """Return the letter of weaker announcements ("B is correct", "So it is B."), if they agree."""
        named = {index for announcement in weak(self._low) if (index := self._announced(announcement)) is not None}
        named |= {*self._predicated(), *self._explained()}
        if not named:
            return None
        return named.pop() if len(named) == 1 else NONE

    def _predicated(self) -> Iterator[int]:
        """Yield the letters that the answer calls right after naming them: "B is correct"."""
        for n_seen, match in enumerate(patterns().predicate.finditer(self._low)):
            if n_seen >= MOST_ANNOUNCEMENTS or not self._labels.indices:
                return
            before = self._low[max(0, match.start() - 12) : match.start()].rstrip(" \t-–—'’" + CLOSING)
            if is_unspaced(match[0][0]) and before.endswith((":", ".")):
                continue  # "B：对" is a verdict, one for each option
            end = max(0, match.start() - 12) + len(before.rstrip(" \t.:-–—'’" + CLOSING))
            start = end
            while start > 0 and end - start < 2 and self._text[start - 1].isascii() and self._text[start - 1].isupper():
                start -= 1
            index = self._labels.indices.get(self._text[start:end])
            if index is None or not self._labels.may_be_subject(start):
                continue
            if not is_hypothetical(self._low, start, match.end(), match.end()) and not is_denied(self._low, start):
                yield index

    def _explained(self) -> Iterator[int]:
        """Yield the letter at the beginning of the answer if a reason follows it: "B, because the sky is blue"."""
        named = self._labels.letter_at(skipped(self._text, 0, AROUND))
        if named is None or named.index == NONE or self._labels.is_list():
            return
        begin, why = self._text[: named.end].strip(AROUND), skipped(self._low, named.end, AROUND)
        # "a" in lower case is an article, and "B? Because ..." is not a decision.
        if begin.isupper() and "?" not in self._text[named.end : why] and patterns().cause.match(self._low, why):
            yield named.index

    def _by_text(self) -> int | None:
        """Return the only option whose text is in the answer."""
        whole = self._texts.whole(self._answer)
        if whole is not None:
            return whole
        form = self._texts.form(self._answer)
        lowered = form if form.islower() else same_length_lower(form)
        mentions = list(self._texts.mentions(form))
        long_ones = [
            (mention.start, mention.end) for mention in mentions if is_phrase(form[mention.start : mention.end])
        ]
        if not mentions or self._labels.is_list() or is_refusal(lowered, long_ones):
            return None
        found: set[int] = set()
        for mention in mentions:
            if mention.option in found or not is_said(lowered, mention.start, mention.end):
                continue
            if not is_mention_denied(lowered, mention.start, mention.end):
                found.add(mention.option)
                if len(found) > 1:
                    return None
        return found.pop() if found else None


def _reading(index: int | None, rule: Rule) -> ChoiceReading:
    return ChoiceReading(None, "none") if index is None or index == NONE else ChoiceReading(index, rule)
