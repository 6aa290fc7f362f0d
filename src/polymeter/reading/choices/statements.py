"""The announcements in an answer, and the sentences that deny them, suppose them or ask."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from polymeter.reading.characters import AROUND, CLOSING, SEGMENTS, TERMINATORS, WRAPS, skipped
from polymeter.reading.choices.phrases import patterns
from polymeter.reading.markup import MARK

MOST_ANNOUNCEMENTS = 1000
"""The most announcements that are checked, from the end of an answer: a hostile answer may have many."""
_SENTENCE = 300
_BEFORE = 60
_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_GAPS = re.compile(rf"[\s{MARK}]+")
_HEDGES = re.compile(
    r"\bif (?:i|we|you) (?:had|have|must|were (?:forced|asked)|look|consider|examine|count|zoom|compare)\b"
    r"|\bas if\b|\bя бы\b"
)
_NO_DOUBT = re.compile(r"\b(?:no|without(?: a| any)?|beyond(?: a| any)?) doubt\b|\bnot only\b")
_ANEW = re.compile(
    r"\b(?:but|however|so|therefore|thus|hence|aber|doch|mais|donc|pero|mas|ma|quindi|portanto|но|поэтому|ama|fakat"
    r"|लेकिन|nhưng|لكن|ولكن)\b|但是|但|因此|所以|而是|しかし|ですが|하지만|따라서"
)
_BREAKS = frozenset(
    re.findall(
        r"[^\s]+",
        "so therefore thus hence but means also and which because donc et mais entonces y pero e mas portanto quindi ma"
        " und aber и но ve ama और लेकिन và nhưng و لكن",
    )
)
_CLAUSE_ENDS = ".,:;!?\n。，：；！？、—–-।،؛"
_PLACED = re.compile(rf"[ {MARK}]{{1,3}}(?:on|in|at|under|above|below|from|shown|written) ")
_LETTERED = re.compile(rf"[ {MARK}(]{{1,4}}[a-z0-9][ {MARK})]{{0,4}}:")
_CONNECTIVE = re.compile(
    r"(?:^|\s)(?:so|thus|therefore|hence|and|but|think|believe|that|guess|say|conclude|clearly|donc|also|quindi)$"
)


@dataclass(frozen=True, slots=True)
class Announcement:
    """A phrase that announces the text after it.

    Attributes:
        start: The start of the phrase.
        end: The start of the announced text.
        is_boxed: Whether it is a box or a tag, which words around it cannot deny.
        needs_end: Whether the announced text must end its sentence, because it has no link before it.
        is_weak: Whether it announces only letters.
        is_linked: Whether it announces an answer in any words.
        is_label: Whether it names a letter, such as "the option is", and not the answer.
        is_in_line: Whether it announces only text on the same line.
        is_anew: Whether it revokes the text before it, so that denials before it do not count.
        is_contrast: Whether it does so only after a denied option: "not A, but".
    """

    start: int
    end: int
    is_boxed: bool = False
    needs_end: bool = False
    is_weak: bool = False
    is_linked: bool = False
    is_label: bool = False
    is_in_line: bool = False
    is_anew: bool = False
    is_contrast: bool = False

    @property
    def is_bare(self) -> bool:
        """True if it is a subject without a link, such as "Answer B"."""
        return self.needs_end and not self.is_in_line


def strong(low: str) -> Iterator[Announcement]:
    """Yield the announcements of a text, the last one first."""
    found = deque(patterns().announcing.finditer(low), MOST_ANNOUNCEMENTS)
    for match in reversed(found):
        if _is_heading(low, match.start()):
            continue
        kind = patterns().kinds[_GAPS.sub(" ", match[0])]
        if kind == "box":
            yield Announcement(match.start(), match.end(), is_boxed=True)
        elif kind in ("correction", "contrast"):
            is_contrast = kind == "contrast"
            yield Announcement(
                match.start(),
                match.end(),
                needs_end=True,
                is_weak=True,
                is_in_line=True,
                is_anew=True,
                is_contrast=is_contrast,
            )
        elif kind == "verb":
            yield Announcement(match.start(), match.end(), is_weak=True)
        else:
            # "a" is also a preposition in Spanish: "Answer A: no bus" has no link.
            link = None if _LETTERED.match(low, match.end()) else patterns().link.match(low, match.end())
            if link is not None and link.end() > match.end():
                is_letter, is_label = kind in ("letter", "label"), kind == "label"
                if is_label and _PLACED.match(low, match.end()):
                    continue  # "the letter on the sign is B"
                yield Announcement(
                    match.start(), link.end(), is_weak=is_letter, is_linked=not is_letter, is_label=is_label
                )
            elif kind == "bare":
                yield Announcement(match.start(), skipped(low, match.end(), "】」』"), needs_end=True)


def _is_heading(low: str, start: int) -> bool:
    """Return whether the words before a phrase make it the heading of a list: "each option:"."""
    before = _GAPS.sub(" ", low[max(0, start - _BEFORE) : start])
    return patterns().distributive.search(before.rsplit("\n", 1)[-1]) is not None


def weak(low: str) -> Iterator[Announcement]:
    """Yield the weaker announcements of a text that begin a clause, such as "so it is"."""
    for n_seen, match in enumerate(patterns().weak.finditer(low)):
        if n_seen >= MOST_ANNOUNCEMENTS:
            return
        before = low[max(0, match.start() - _BEFORE) : match.start()].rstrip(" \t" + WRAPS)
        if before and before[-1] not in _CLAUSE_ENDS and _CONNECTIVE.search(before) is None:
            continue
        yield Announcement(match.start(), match.end(), needs_end=True, is_weak=True, is_in_line=True)


def is_denied(low: str, start: int) -> bool:
    """Return whether the words just before an announcement deny it: "I don't think the answer is", "the wrong answer
    is".
    """
    before = low[max(0, start - _BEFORE) : start]
    for match in TERMINATORS.finditer(before):
        before = before if match.end() > len(before) else " " * match.end() + before[match.end() :]
    segment = SEGMENTS.split(before)[-1]
    words = _WORDS.findall(_NO_DOUBT.sub(" ", segment.replace("’", "'")))
    for word in reversed(words[-6:]):
        if word in _BREAKS:
            return False
        if word in patterns().denials or word.endswith("n't"):
            return True
    return patterns().unspaced_denial.search(segment[-8:]) is not None


def _is_conditional(sentence: str) -> bool:
    """Check whether the beginning of a sentence makes its rest a condition, or the result of one. "But" and "so" begin
    a new statement.
    """
    sentence = _HEDGES.sub(" ", sentence)
    for match in _ANEW.finditer(sentence):
        sentence = sentence if match.end() > len(sentence) else " " * match.end() + sentence[match.end() :]
    segment = SEGMENTS.split(sentence)[-1]
    if any(patterns().initial_condition.match(begun.lstrip(AROUND)) for begun in (sentence, segment)):
        return True
    return patterns().condition.search(segment) is not None


def is_mention_denied(form: str, start: int, end: int) -> bool:
    """Check whether an option's text is mentioned in a denial, a condition or a question."""
    before = form[max(0, start - _BEFORE) : start]
    stops = [match.end() for match in TERMINATORS.finditer(before)]
    sentence = before[stops[-1] :] if stops else before
    if _is_conditional(sentence):
        return True
    segment = SEGMENTS.split(sentence)[-1]
    words = _WORDS.findall(segment)[-4:]
    if any(word in patterns().denials or word.endswith("n't") for word in words):
        return True
    if patterns().unspaced_denial.search(segment[-6:]) is not None:
        return True
    stop = TERMINATORS.search(form, end, end + _SENTENCE)
    if stop is not None and stop[0] in "?？؟":
        return True
    return patterns().denied_after.match(form, skipped(form, end, " " + CLOSING)) is not None


def is_hypothetical(low: str, start: int, position: int, end: int) -> bool:
    """Return whether the sentence of an announcement is a condition, a question, or denies what it announces."""
    begin = max(0, start - _SENTENCE)
    for match in TERMINATORS.finditer(low, begin, start):
        begin = match.end()
    if _is_conditional(low[begin:position]):
        return True
    stop = TERMINATORS.search(low, end, end + _SENTENCE)
    if stop is not None and stop[0] in "?？؟":
        return True
    return patterns().denied_after.match(low, skipped(low, end, " " + CLOSING)) is not None
