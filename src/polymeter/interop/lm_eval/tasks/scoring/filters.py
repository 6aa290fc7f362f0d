"""Filters: steps that turn raw answers into what is scored.

A filter is a class whose ``apply(resps, docs)`` gets the list of answers of each request and the request's row, and
returns one item for each request. Task code subclasses the classes here, registers its own under a name, or names a
function. ``chains`` applies them one after the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, ScoreError
from polymeter.guests import resolve
from polymeter.metrics.patterns import applied
from polymeter.tasks.yaml.registration import FILTER_DEFINITIONS
from polymeter.tasks.yaml.scoring.filters import GSM_NUMBER, INVALID, punctuation, without_ignored

_TAGGED = re.compile(r"\('([^']*)', '([^']*)'\)")
_ENTITIES = re.compile(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)")
_LABELS = {
    "person": "PER",
    "location": "LOC",
    "organization": "ORG",
    "counties": "LOC",
    "places": "LOC",
    "people": "PER",
    "persons": "PER",
    "company": "ORG",
    "country": "LOC",
    "continent": "LOC",
    "time": "DATE",
    "date": "DATE",
    "per": "PER",
    "loc": "LOC",
    "org": "ORG",
}
"""Words that models write for the label of an entity, in the order in which they are replaced."""


class Filter:
    """Base of all filters. Other keys of a ``filter_list`` than ``function`` arrive as keyword arguments."""

    def __init__(self, **kwargs: Any) -> None:
        """Take the arguments; most filters have their own."""

    def apply(self, resps: Any, docs: Any) -> Any:
        """The filtered answers of each request.

        Args:
            resps: For each request the list of its answers, or what the filter before made of it.
            docs: For each request its row.
        """
        return resps


class _TextFilter(Filter):
    """A filter that changes each answer by itself."""

    def __init__(self) -> None:
        super().__init__()

    def apply(self, resps: Any, docs: Any) -> Any:
        """Each answer of each request, changed."""
        return [[self._changed(answer) for answer in answers] for answers in resps]

    def _changed(self, answer: Any) -> Any:
        raise NotImplementedError


class TakeFirstFilter(Filter):
    """The first answer of each request, no longer in a list."""

    def __init__(self) -> None:
        super().__init__()

    def apply(self, resps: Any, docs: Any) -> Any:
        """The first answer of each request."""
        return [answers[0] for answers in resps]


class TakeKFilter(Filter):
    """The first ``k`` answers of each request.

    Args:
        **kwargs: ``k``.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.k = int(kwargs.pop("k"))
        super().__init__(**kwargs)

    def apply(self, resps: Any, docs: Any) -> Any:
        """The first answers of each request.

        Raises:
            ScoreError: if a request has fewer.
        """
        resps = list(resps)
        fewest = min(map(len, resps), default=self.k)
        if fewest < self.k:
            raise ScoreError(
                f"take_first_k needs {self.k} answers, but there are {fewest}.", hint=f"Set repeats: {self.k} or more."
            )
        return [answers[: self.k] for answers in resps]


class MajorityVoteFilter(Filter):
    """The most frequent answer of each request, at a tie the earlier one; as a list of one."""

    def __init__(self) -> None:
        super().__init__()

    def apply(self, resps: Any, docs: Any) -> Any:
        """The most frequent answer of each request."""
        return [[Counter(answers).most_common(1)[0][0]] for answers in resps]


class CustomFilter(Filter):
    """The function ``filter_fn`` of the task's author, called as ``filter_fn(resps, docs)``."""

    def __init__(self, **kwargs: Any) -> None:
        self.filter_fn = resolve(kwargs.pop("filter_fn"))
        super().__init__(**kwargs)

    def apply(self, resps: Any, docs: Any) -> Any:
        """Return the values of the function."""
        return self.filter_fn(resps, docs)


class WhitespaceFilter(_TextFilter):
    """Each answer without white space around it."""

    def _changed(self, answer: Any) -> Any:
        return answer.strip()


class LowercaseFilter(_TextFilter):
    """Each answer in lower case."""

    def _changed(self, answer: Any) -> Any:
        return answer.lower()


class UppercaseFilter(_TextFilter):
    """Each answer in upper case."""

    def _changed(self, answer: Any) -> Any:
        return answer.upper()


class MapFilter(_TextFilter):
    """Each answer looked up in a table.

    Args:
        mapping_dict: The table.
        default_value: The value for what is not in it.
    """

    def __init__(self, mapping_dict: Mapping[Any, Any] | None = None, default_value: Any = None) -> None:
        super().__init__()
        if not isinstance(mapping_dict, (Mapping, type(None))):
            raise PlanError(f"mapping_dict must be a mapping, not {mapping_dict!r:.60}.")
        self.mapping_dict = dict(mapping_dict or {})
        self.default_value = default_value

    def _changed(self, answer: Any) -> Any:
        return self.mapping_dict.get(answer, self.default_value)


class SPANFilter(_TextFilter):
    """Named entities in one form: ``per: kofi $ loc: accra``, of the labels per, loc, org and date."""

    def _changed(self, answer: Any) -> Any:
        text = answer.lower()
        for label, short in _LABELS.items():
            text = re.sub(rf"\b{label}\s*:", f"{short}:", text)
        text = text.replace("$$", "$").rstrip("$").replace("\n", "$").strip()
        entities = [
            f"{label.lower()}: {entity.strip()}"
            for label, listed in _ENTITIES.findall(text)
            for entity in listed.split(",")
            if entity.strip().lower() != "none"
        ]
        return " $ ".join(entities)


class RegexFilter(Filter):
    """A match of a pattern in each answer, without white space around it; of several groups the first that matched.

    Args:
        regex_pattern: The pattern.
        group_select: Which match.
        fallback: The result if nothing matches.
    """

    def __init__(self, regex_pattern: str = GSM_NUMBER, group_select: int = 0, fallback: str = INVALID) -> None:
        super().__init__()
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = fallback

    def apply(self, resps: Any, docs: Any) -> Any:
        """The match in each answer of each request."""
        return [[self._match(answer) for answer in answers] for answers in resps]

    def _match(self, answer: Any) -> str:
        text = answer if isinstance(answer, str) else ""
        return applied(selected, self.regex, text, self.group_select, self.fallback)


class POSFilter(Filter):
    """The second parts of pairs ``('word', 'TAG')`` in each answer, as a list.

    Args:
        regex_pattern: Not used, as in lm-eval: pairs are always found by the same pattern.
        group_select: Not used.
        fallback: The result if there is no pair.
    """

    def __init__(
        self, regex_pattern: str = r"\['(.*?)'\]", group_select: int = 0, fallback: Sequence[str] | None = None
    ) -> None:
        super().__init__()
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = ["invalid"] if fallback is None else fallback

    def apply(self, resps: Any, docs: Any) -> Any:
        """The tags in each answer of each request."""
        return [[self._tags(answer) for answer in answers] for answers in resps]

    def _tags(self, answer: Any) -> Any:
        pairs = _TAGGED.findall(answer) if isinstance(answer, str) else answer
        return [tag for _, tag in pairs] or self.fallback


class MultiChoiceRegexFilter(RegexFilter):
    """A letter in brackets for each answer: by the pattern, else by the text of a choice, else by a letter after a
    colon.

    The choices are those in the row's column ``choices``. A longer text is looked for before a shorter one that it
    contains.

    Args:
        regex_pattern: The pattern.
        group_select: Which match.
        fallback: The result if nothing matches.
        ignore_case: Look for texts of choices in lower case.
        ignore_punctuation: Look for them without punctuation.
        regexes_to_ignore: Patterns whose matches are deleted first.
    """

    def __init__(
        self,
        regex_pattern: str = GSM_NUMBER,
        group_select: int = 0,
        fallback: str = INVALID,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        regexes_to_ignore: Sequence[str] | None = None,
    ) -> None:
        super().__init__(regex_pattern, group_select, fallback)
        self.ignore_case = ignore_case
        self.ignore_punctuation = ignore_punctuation
        self.regexes_to_ignore = regexes_to_ignore

    @property
    def punct_tbl(self) -> Mapping[int, None]:
        """The table with which ``str.translate`` deletes punctuation."""
        return punctuation()

    def apply(self, resps: Any, docs: Any) -> Any:
        """The letter in each answer of each request."""
        return [
            [self._letter(answer, doc["choices"]) for answer in answers]
            for answers, doc in zip(resps, docs, strict=True)
        ]

    def _letter(self, answer: Any, choices: Iterable[str]) -> str:
        text = answer if isinstance(answer, str) else ""
        found = applied(selected, self.regex, text, self.group_select, "")
        if found:
            return found
        letters = {self._plain(choice.strip()): f"({chr(ord('A') + i)})" for i, choice in enumerate(choices)}
        by_text = re.compile("|".join(sorted(map(re.escape, letters), key=len, reverse=True)))
        found = selected(by_text, self._plain(text), self.group_select, "")
        if found:
            return letters.get(found, found)
        by_letter = re.compile(rf":[\s]*({'|'.join(letter[1:-1] for letter in letters.values())})")
        found = selected(by_letter, text, self.group_select, "")
        return f"({found})" if found else self.fallback

    def _plain(self, text: str) -> str:
        return without_ignored(
            text,
            self.regexes_to_ignore or (),
            ignore_case=self.ignore_case,
            ignore_punctuation=self.ignore_punctuation,
        )


FILTERS: Mapping[str, type[Filter]] = {
    "take_first": TakeFirstFilter,
    "take_first_k": TakeKFilter,
    "majority_vote": MajorityVoteFilter,
    "custom": CustomFilter,
    "regex": RegexFilter,
    "multi_choice_regex": MultiChoiceRegexFilter,
    "regex_pos": POSFilter,
    "remove_whitespace": WhitespaceFilter,
    "lowercase": LowercaseFilter,
    "uppercase": UppercaseFilter,
    "map": MapFilter,
    "format_span": SPANFilter,
}


def selected(pattern: re.Pattern[str], text: str, number: int, fallback: str) -> str:
    """One match of a pattern without white space around it, of several groups the first that matched something; the
    fallback if there is no such match.
    """
    matches = pattern.findall(text)
    if not -len(matches) <= number < len(matches):
        return fallback
    match = matches[number]
    if isinstance(match, tuple):
        match = next((group for group in match if group), fallback)
    return str(match).strip()


def find_filter(name: str, sources: Collection[Path] = ()) -> Callable[..., Any] | None:
    """The filter of a name: one that these files register, or that the user's do, else a built-in one."""
    return FILTER_DEFINITIONS.find(name, sources) or FILTERS.get(name)


class FilterEnsemble:
    """Several filters under one name, as task code applies them itself.

    Args:
        name: The name.
        filters: Functions without arguments, or classes, that make a filter.
    """

    def __init__(self, name: str, filters: Sequence[Callable[[], Any]]) -> None:
        self.name = name
        self.filters = list(filters)

    def apply(self, instances: Sequence[Any]) -> None:
        """Fill ``filtered_resps`` of each instance under this name."""
        resps: Any = [instance.resps for instance in instances]
        docs = [instance.doc for instance in instances]
        for make in self.filters:
            resps = make().apply(resps, docs)
        for instance, read in zip(instances, resps, strict=False):
            instance.filtered_resps[self.name] = read
