"""The phrases of all languages as patterns. Each pattern decides by first characters, so one pass searches a text.

A blank in a phrase stands for white space and markup. A phrase in an alphabet begins and ends with whole words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from polymeter.reading.characters import is_hangul, is_unspaced
from polymeter.reading.choices.announcements import LANGUAGES
from polymeter.reading.markup import ANNOUNCES, MARK

_BLANK = rf" \t\f\v\u00a0\u2000-\u200a\u202f\u3000{MARK}"
GAP = f"[{_BLANK}]{{1,4}}"
_END = ""
_OPTIONAL_GAP = f"[{_BLANK}]{{0,4}}"
_IN_LINE = rf"{MARK}?[^\S\n]{{1,4}}{MARK}?"
_AFTER_SUBJECT = rf"[{_BLANK}\"'”’»)\]}}】」_]{{0,8}}"
_SYMBOL = "[:=→⇒]|[-=]>|——?|–|-(?=\\s)"
_ALSO_BEFORE = frozenset({"that", "so", "therefore", "thus", "hence", "think", "believe", "and"})

Kind = Literal["box", "verb", "label", "letter", "linked", "bare", "correction", "contrast"]


@dataclass(frozen=True, slots=True)
class PhrasePatterns:
    """The patterns that search for phrases.

    Attributes:
        kinds: The kind of each announcing phrase, which determines the text that must follow it.
        announcing: The announcing phrases.
        link: Text between such a phrase and an option.
        weak: Phrases that announce a letter if no stronger phrase does.
        filler: Words between a link and an option.
        noun: Words before a letter that are part of its name.
        suffix: Words after a letter that are part of its name, at the end of a line.
        after: Words that end an announcement after the option.
        predicate: Words that announce the letter before them.
        subject_end: Words before a letter after which it can be the name of an option.
        reason: Words after a letter that show that it is not an article, a name or part of a word.
        cause: Words after a letter that begin the reason why it is the answer.
        join: Text between options, so that the answer chooses none of these.
        condition: Words that make a clause hypothetical.
        initial_condition: The same at the beginning of a clause, where more words do this.
        denied_after: Words that deny the text before them.
        denials: Words that deny the text after them.
        unspaced_denial: The same in scripts without spaces, directly before a phrase.
        distributive: Words at the end of a text that make the next phrase a heading over a list: "each".
        denies_before: Words that deny the option before them and announce the next.
    """

    kinds: dict[str, Kind]
    announcing: re.Pattern[str]
    link: re.Pattern[str]
    weak: re.Pattern[str]
    filler: re.Pattern[str]
    noun: re.Pattern[str]
    suffix: re.Pattern[str]
    after: re.Pattern[str]
    predicate: re.Pattern[str]
    subject_end: re.Pattern[str]
    reason: re.Pattern[str]
    cause: re.Pattern[str]
    join: re.Pattern[str]
    condition: re.Pattern[str]
    initial_condition: re.Pattern[str]
    denied_after: re.Pattern[str]
    denials: frozenset[str]
    unspaced_denial: re.Pattern[str]
    distributive: re.Pattern[str]
    denies_before: re.Pattern[str]


# Compiling them takes 0.2 s, so only runs that read choices do it.
@lru_cache(maxsize=1)
def patterns() -> PhrasePatterns:
    """Return the patterns of all languages."""
    kinds: dict[str, Kind] = {
        **dict.fromkeys(_all("verbs"), "verb"),
        **dict.fromkeys(_all("letter_subjects"), "letter"),
        **dict.fromkeys(_all("label_subjects"), "label"),
        **dict.fromkeys(_all("subjects"), "linked"),
        **dict.fromkeys(_all("bare_subjects"), "bare"),
        **dict.fromkeys(_all("contrasts", "denying_contrasts"), "contrast"),
        **dict.fromkeys(_all("corrections"), "correction"),
        ANNOUNCES: "box",
    }
    # Korean particles follow a letter directly, so the text before them is not checked.
    links, joins = any_of(_all("links"), after_letter=True), any_of(_all("joins"))
    unspaced = sorted((phrase for phrase in _all("denials") if is_unspaced(phrase[0])), key=len, reverse=True)
    return PhrasePatterns(
        kinds=kinds,
        announcing=re.compile(f"{any_of(kinds)}|{any_of(_all('denying_contrasts'), after_letter=True)}"),
        link=re.compile(
            rf"(?:{_IN_LINE}{any_of(_all('gaps'))}(?:{_IN_LINE}[^\W_]{{1,20}}){{0,8}}?)??"
            rf"{_AFTER_SUBJECT}(?:{links}{_AFTER_SUBJECT}(?:{_SYMBOL})?|(?:{_SYMBOL}))"
        ),
        weak=re.compile(any_of(_all("weak"))),
        filler=re.compile(any_of(_all("fillers", "nouns"))),
        noun=re.compile(any_of(_all("nouns"))),
        suffix=re.compile(rf"{any_of(_all('suffixes'), after_letter=True)}\W{{0,4}}$"),
        after=re.compile(any_of(_all("after", "suffixes"), after_letter=True)),
        predicate=re.compile(any_of(_all("predicates"), after_letter=True)),
        subject_end=re.compile(rf"{any_of(_all('nouns') | _ALSO_BEFORE)}$"),
        reason=re.compile(any_of(_all("reasons", "after"))),
        cause=re.compile(any_of(_all("causes"))),
        join=re.compile(
            rf"{_OPTIONAL_GAP}(?:[,/&+、，]{_OPTIONAL_GAP}(?:{joins})?|{any_of(_all('joins'), after_letter=True)})"
            rf"{_OPTIONAL_GAP}"
        ),
        condition=re.compile(any_of(_all("conditions"))),
        initial_condition=re.compile(any_of(_all("conditions", "initial_conditions"))),
        denied_after=re.compile(any_of(_all("denials_after"), after_letter=True)),
        denials=frozenset(phrase for phrase in _all("denials") if not is_unspaced(phrase[0])),
        unspaced_denial=re.compile(rf"(?:{'|'.join(map(re.escape, unspaced))})[\s是的为選选\w]{{0,2}}$"),
        denies_before=re.compile(any_of(_all("denying_contrasts"), after_letter=True)),
        distributive=re.compile(_distributive(_all("distributives"))),
    )


def any_of(phrases: Iterable[str], *, after_letter: bool = False) -> str:
    """Return a pattern for the longest of these phrases, in lower case.

    It begins with a choice of literal characters, to which the engine skips. The characters before a phrase are checked
    after its first character.

    Args:
        phrases: The phrases.
        after_letter: Whether they directly follow a letter, so that Korean ones need no word to begin there.
    """
    tree: dict[str, Any] = {}
    for phrase in phrases:
        node = tree
        for character in phrase:
            node = node.setdefault(character, {})
        node[_END] = _ending(phrase[-1])
    return f"(?:{'|'.join(_first(character, node, after_letter) for character, node in sorted(tree.items()))})"


def _first(character: str, node: dict[str, Any], after_letter: bool) -> str:
    literal = re.escape(character)
    if is_hangul(character):
        before = "" if after_letter else rf"(?<![\uac00-\ud7af]{literal})"
    else:
        before = rf"(?<![^\W_]{literal})" if character.isalnum() and not is_unspaced(character) else ""
    return literal + before + _rest(node)


def _rest(node: dict[str, Any]) -> str:
    ways = [
        (GAP if character == " " else re.escape(character)) + _rest(further)
        for character, further in sorted(node.items())
        if character != _END
    ]
    if _END in node:
        ways.append(node[_END])
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _ending(character: str) -> str:
    is_word = character.isalnum() and not is_unspaced(character) and not is_hangul(character)
    return r"(?![^\W\d_])" if is_word else ""


def _distributive(phrases: Iterable[str]) -> str:
    """Return a pattern for these words at the end of a text, with at most one adjective after them."""
    words = "|".join(re.escape(phrase) for phrase in sorted(phrases) if not is_unspaced(phrase[0]))
    unspaced = "|".join(re.escape(phrase) for phrase in sorted(phrases) if is_unspaced(phrase[0]))
    some = r"(?: (?:of )?(?:the|these|those))?"
    return rf"(?:(?<!\w)(?:{words}){some}(?: \w{{1,20}})?|(?:{unspaced})\w{{0,4}}) ?$"


def _all(*kinds: str) -> frozenset[str]:
    """Return the phrases of these kinds in all languages."""
    return frozenset(phrase for language in LANGUAGES for kind in kinds for phrase in getattr(language, kind))
