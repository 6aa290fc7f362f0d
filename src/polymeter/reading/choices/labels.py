"""The labels of options in an answer. Other letters are articles, names or parts of formulas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polymeter.reading.characters import (
    AROUND,
    CLOSING,
    OPENING,
    SEPARATORS,
    WRAPS,
    is_hangul,
    is_joined,
    is_unspaced,
    skipped,
)
from polymeter.reading.choices.announcements import ARTICLE_LETTERS, SCRIPT_LETTERS
from polymeter.reading.choices.option_texts import OptionTexts, signed
from polymeter.reading.choices.phrases import patterns
from polymeter.reading.markup import MARK, same_length_lower

NONE = -1
"""The index if several options are named, or one that does not exist."""
_MOST_JOINS = 6
_USUAL = 2
"""The most letters of a label. Longer words in capitals are labels only if options have them."""
_LONGEST_LABEL = 4
"""The most characters of a label with its closing marks."""
_LABEL = re.compile(r"[A-Za-z]{1,3}(?![A-Za-z0-9])|[0-9]{1,2}(?![0-9])")
_LISTED = re.compile(r"(?<![A-Za-z0-9])([A-Z]{1,2}|[0-9]{1,2})[.):]")
_PICTURES = re.compile("[\u2600-\u27bf\U0001f300-\U0001f64f\U0001f680-\U0001faff\u2b50\u2b55]")
"""Signs and emoji beside a letter, without letters in circles and squares."""
_DENIED = re.compile(rf"(?P<before>[^\n]*?)(?<![a-z0-9])(?P<label>[a-z]{{1,2}}|[0-9]{{1,2}})[\s,)\]'\"{MARK}]{{0,4}}$")
_BRACKETED = re.compile(r"\((?:[^\W\d_]{2}|[\u3040-\u9fff\uac00-\ud7af])")
_NOT = re.compile(r"(?:(?<!\w)(?:not|no|nicht|pas|не|não|non|\w+n't)(?: \w+){0,2}|不是|并非|並非|不选|不選)\W*$")
_ITEM = re.compile(rf"[\s{MARK}(\[{{>*•\-]*([A-Z]{{1,2}}|[0-9]{{1,2}})(?=[.):\]{MARK}]|\s+[-–—:])")
_MOST_WORDS = 4
"""The most characters of a paraphrase after a letter, as in "C. bicycle"."""
_PARAPHRASE = re.compile(
    rf"[(\[{MARK}]*(?P<label>[A-Za-z]{{1,2}})[{MARK}]*(?P<sign>[.):：、]|\s*[(（])[)\]{MARK}]*\s*"
    rf"(?P<words>[^\W\d_][^.,;:!?。，；：！？()\n{MARK}]*)[)）{MARK}]*"
)
_OTHER_LETTER = re.compile(f"[{''.join(SCRIPT_LETTERS)}]")
_TURKISH_SUFFIX = re.compile(r"['’](?:d[ıiuü]r|t[ıiuü]r|y[ıiuü]|[ıiuü]|s[ıiuü]|n[ıiuü]n|[dt][ae]n?|y[ae])(?!\w)")


@dataclass(frozen=True, slots=True)
class NamedOption:
    """An option that a part of a text names: its index, or ``NONE`` if the part names several options or one that does
    not exist.
    """

    index: int
    end: int


class Labels:
    """The labels in one answer.

    Args:
        text: The answer, its markup reduced to marks.
        low: The same in lower case, with each character at its position.
        labels: The labels, in upper case.
        texts: The options' texts.
    """

    def __init__(self, text: str, low: str, labels: Sequence[str], texts: OptionTexts) -> None:
        self._text = text
        self._low = low
        self._texts = texts
        self.indices = {label: number for number, label in enumerate(labels)}

    def letter_at(self, position: int) -> NamedOption | None:
        """Return the label at a position, after opening marks, if it is a separate word and not an article."""
        first = self._label_at(position)
        if first is None or not self.indices:
            return None
        index, start, after = first
        end = skipped(self._text, after, CLOSING)
        is_wrapped = end > after and start > 0 and self._text[start - 1] in WRAPS
        if not is_wrapped and not self._stands_alone(start, after, end, index):
            return None
        text = self._texts.starting(self._text[start : start + 2 * self._texts.longest + 40])
        if text is not None and text.end > after - start and not is_wrapped:
            return NamedOption(text.option, after)
        if self._is_one_of_several(end, index) or (index == 0 and self._begins_list(end)):
            return NamedOption(NONE, end)
        return NamedOption(index, end)

    def _label_at(self, position: int) -> tuple[int, int, int] | None:
        """Return index, start and end of the label at a position, after opening marks."""
        start = skipped(self._text, position, OPENING)
        match = _LABEL.match(self._text, start)
        if match is None:
            other = _OTHER_LETTER.match(self._text, start)
            if other is None or self._next_is_joined(other.end()) or "A" not in self.indices:
                return None
            return self.indices.get(SCRIPT_LETTERS[other[0]], NONE), start, other.end()
        word = match[0]
        if word.isdigit() and signed(self._text, start, position) != start:
            return None
        if self._next_is_joined(match.end()) or (start and is_joined(self._text[start - 1])):
            return None
        if len(word) > 1 and not word.isupper() and not word.isdigit():
            return None
        if len(word) > _USUAL and word not in self.indices:
            return None
        index = self.indices.get(word.upper(), NONE)
        if index == NONE and (len(word) > 1 or not word.isupper()):
            return None
        return index, start, match.end()

    def _next_is_joined(self, end: int) -> bool:
        return end < len(self._text) and is_joined(self._text[end])

    def _stands_alone(self, start: int, after: int, end: int, index: int) -> bool:
        """Check by the text after a label that it is not an article, a name or part of a word."""
        text, label = self._text, self._text[start:after]
        follower = text[end : end + 1]
        if not follower or follower == "\n" or is_unspaced(follower) or is_hangul(follower):
            return True
        if follower == "'" or text[after : after + 1] in "'’":
            return label.isupper() and _TURKISH_SUFFIX.match(self._low, after) is not None
        if not follower.isspace():
            return self._is_punctuated(end, index)
        word_at = skipped(text, end, " \t" + MARK)
        word = text[word_at : word_at + 1]
        if not word or word == "\n" or not (word.isalnum() and word < "\u0250"):
            return word not in "+=^%&" or not word
        is_article = label.islower() and label.upper() in ARTICLE_LETTERS
        if (self._is_own_text(index, word_at) and not is_article) or patterns().reason.match(self._low, word_at):
            return True
        join = patterns().join.match(self._low, end)
        if join is not None and self._label_at(join.end()) is not None:
            return True
        return label.isupper() and label not in ARTICLE_LETTERS and not word.isdigit()

    def _is_punctuated(self, end: int, index: int) -> bool:
        """Check whether punctuation follows a label, and not a sign that makes it a formula, a name or a path."""
        text = self._text
        follower, next_one = text[end : end + 1], text[end + 1 : end + 2]
        if follower in "-–.:)_/\\&" and next_one and is_joined(next_one):
            return (follower in ".:)-" and self._is_own_text(index, end + 1)) or follower == "/"
        return follower in ".:,;!?)]}-–—/|…，。、；：！？）】।؟،【" or is_unspaced(follower) or self._is_explained(end)

    def _is_explained(self, end: int) -> bool:
        """Return whether words in brackets follow a capital: "C(bicycle)", not "f(x)"."""
        return self._text[end - 1 : end].isupper() and _BRACKETED.match(self._text, end) is not None

    def _is_own_text(self, index: int, position: int) -> bool:
        mention = self._texts.starting(self._text[position : position + 2 * self._texts.longest + 40])
        return mention is not None and mention.option == index

    def _is_one_of_several(self, end: int, index: int) -> bool:
        """Return whether another label is named beside this one: "A or B", "A, B", "A/B"."""
        position, n_joins = end, 0
        join = patterns().join.match(self._low, position)
        while join is not None and n_joins < _MOST_JOINS:
            other = self._label_at(join.end())
            if other is None:
                filler = patterns().filler.match(self._low, skipped(self._low, join.end(), " " + MARK))
                other = self._label_at(filler.end()) if filler else None
            if other is None:
                return False
            label = self._text[other[1] : other[2]]
            other_end = skipped(self._text, other[2], CLOSING)
            if other[0] != index and label.isupper() and self._stands_alone_in_list(label, other_end, other[0]):
                return True
            join, n_joins = patterns().join.match(self._low, other_end), n_joins + 1
        return False

    def _begins_list(self, end: int) -> bool:
        """Check whether the text of the first label follows it, and then the second label: "A) bus B) dog"."""
        if not self._is_own_text(0, skipped(self._text, end, AROUND)):
            return False
        rest = self._text[end : end + self._texts.longest + 60].split("\n", 1)[0]
        return any(
            self.indices.get(match[1]) == 1 and self._is_own_text(1, end + match.end())
            for match in _LISTED.finditer(rest)
        )

    def _stands_alone_in_list(self, label: str, end: int, index: int) -> bool:
        at = skipped(self._text, end, " ")
        follower = self._text[at : at + 1]
        if label not in ARTICLE_LETTERS and index != NONE:
            return not (follower.isalnum() and follower < "\u0250") or patterns().join.match(self._low, end) is not None
        return not follower or follower in ".,;!?\n。，、" or patterns().join.match(self._low, end) is not None

    def begins_list(self, start: int, named: NamedOption) -> bool:
        """Check whether an option on a line after its announcement is the first of a list: "the options:", then "A.
        bus" and "B. dog", each on a line.
        """
        if "\n" not in self._text[start : named.end]:
            return False
        begin = self._text.rfind("\n", start, named.end) + 1
        lines = self._text[begin : named.end + 6 * (self._texts.longest + 60)].split("\n")
        further = next((line for line in lines[1:] if line.strip(AROUND)), "")
        alone, after = self.letter_line(lines[0]), self.letter_line(further)
        if alone is not None and not alone[1]:
            return after is not None and not after[1] and after[0] != alone[0]
        item = _ITEM.match(self._without_noun(further))
        if item is not None and self.indices.get(item[1]) == named.index + 1:
            return True
        other = self._texts.starting(further.lstrip(AROUND))
        if other is not None and self._texts.starting(lines[0].lstrip(AROUND)) is not None:
            return other.option != named.index
        rest = lines[0].strip(AROUND)
        listed = _ITEM.match(lines[0])
        if listed is None or (alone is not None and alone[0] == named.index):
            return False
        return len(rest.split()) > _MOST_WORDS + 1

    def _without_noun(self, line: str) -> str:
        """Return a line, less the word for an option at its beginning: "Option A: no"."""
        bare = line.lstrip(AROUND)
        noun = patterns().noun.match(same_length_lower(bare))
        return line if noun is None else bare[noun.end() :]

    def is_contrast(self, start: int) -> bool:
        """Check whether a denied label stands before a contrast: "not A, but"."""
        before = self._low[max(0, start - 40) : start]
        match = _DENIED.search(before)
        if match is None or match["label"].upper() not in self.indices:
            return False
        return patterns().denies_before.match(self._low, start) is not None or _NOT.search(match["before"]) is not None

    def is_list(self) -> bool:
        """Return whether an answer goes through several labels: "(A) no bus. (B) a dog."."""
        return len({match[1] for match in _LISTED.finditer(self._text) if match[1] in self.indices}) > 1

    def is_topic(self, end: int) -> bool:
        """Check whether the text makes a statement about the option that ends at a position: "Answer A: no bus",
        "選択肢Bは".
        """
        at = skipped(self._text, end, CLOSING + " ")
        if self._text[at : at + 1] in ("は", "が", "も", "是", "的"):
            return True
        further = skipped(self._text, at + 1, " \t" + MARK)
        return self._text[at : at + 1] == ":" and self._text[further : further + 1] not in ("", "\n")

    def ends_line(self, end: int) -> bool:
        """Check whether a sentence or a line ends at a position, so that the word there is not an adjective."""
        if self._text[end - 1] in "'’" and _TURKISH_SUFFIX.match(self._low, end - 1):
            return True
        end = skipped(self._text, end, CLOSING + " ")
        follower = self._text[end : end + 1]
        if not follower or follower in ".,;:!\n。，；！।)【" or is_unspaced(follower) or is_hangul(follower):
            return True
        return patterns().after.match(self._low, end) is not None

    def letter_line(self, line: str) -> tuple[int, bool] | None:
        """Return the label that a line consists of, and whether its option's text follows."""
        bare = _PICTURES.sub("", line).strip(AROUND).lstrip("#*")
        if not bare or len(bare) > 2 * self._texts.longest + 60:
            return None
        low = same_length_lower(bare)
        noun = patterns().noun.match(low)
        if noun is not None:
            bare, low = bare[noun.end() :].lstrip(AROUND), low[noun.end() :].lstrip(AROUND)
        suffix = patterns().suffix.search(low)
        if suffix is not None and suffix.start() <= _LONGEST_LABEL:
            bare = bare[: suffix.start()].rstrip(AROUND)
        label = SCRIPT_LETTERS.get(bare, bare) if "A" in self.indices else bare
        if label.upper() in self.indices:
            return self.indices[label.upper()], False
        match = _LABEL.match(bare)
        if match is None or match[0].upper() not in self.indices:
            return None
        index, rest = self.indices[match[0].upper()], bare[match.end() :]
        text = rest.lstrip(AROUND)
        has_mark = any(mark in SEPARATORS for mark in rest[: len(rest) - len(text)])
        named = self._texts.whole(text)
        if named == index:
            return index, True
        return (NONE, True) if has_mark and named is not None else None

    def paraphrased(self, line: str) -> int | None:
        """Return the label of a line with a label and a few words: "C. bicycle", "C (bicycle)". Return ``None`` if the
        words may be those of another option, a sentence or a name.
        """
        match = _PARAPHRASE.fullmatch(line.strip(" \t.。" + MARK))
        if match is None or match["label"].upper() not in self.indices:
            return None
        index = self.indices[match["label"].upper()]
        words = match["words"]
        sign = match["sign"]
        is_name = sign == "." and words[0].isupper() and not self._texts.is_capital(index)
        is_small = match["label"].islower() and sign not in ".)"
        if is_name or is_small or len(words.split()) > _MOST_WORDS or patterns().join.match(same_length_lower(words)):
            return None
        form = self._texts.form(words)
        others = [mention for mention in self._texts.mentions(form) if mention.option != index]
        return None if others or self._texts.whole(words) not in (None, index) else index

    def may_be_subject(self, start: int) -> bool:
        """Check whether a letter can be the name of an option after the text before it: "option B", not "vitamin B"."""
        before = self._low[max(0, start - 24) : start].rstrip(" \t" + WRAPS)
        if not before or before[-1] in ".,:;!?\n。，：；！？、)-–—" or is_unspaced(before[-1]) or is_hangul(before[-1]):
            return True
        return patterns().subject_end.search(before) is not None
