"""Filters: what is done to a model's text before an adapter extracts its answer, in the order in which they are listed.

A filter takes a list of texts; a benchmark hands it one.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polymeter.interop.evalscope.v1.registries import get_filter, register_filter
from polymeter.metrics.bounded import bounded
from polymeter.metrics.patterns import applied


class Filter(ABC):
    """A change of texts.

    Args:
        *args: The author's.
        **kwargs: The author's.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: B027  (subclasses need not have one)
        pass

    @abstractmethod
    def apply(self, instance: list[str]) -> list[str]:
        """The texts after the change."""

    def __call__(self, instance: str) -> str:
        """One text after the change."""
        return self.apply([instance])[0]


@dataclass
class FilterEnsemble:
    """Filters, one after another.

    Attributes:
        name: A label.
        filters: The filters.
    """

    name: str
    filters: Sequence[Any]

    def apply(self, instance: list[str]) -> list[str]:
        """The texts after all changes."""
        for each in self.filters:
            instance = each.apply(instance)
        return instance

    def __call__(self, instance: str) -> str:
        """One text after all changes."""
        return self.apply([instance])[0]


def build_filter_ensemble(name: str = "default", filters: Mapping[str, Any] | None = None) -> FilterEnsemble:
    """Make the filters of a benchmark.

    Args:
        name: A label.
        filters: Arguments by the filter's name: a list, a mapping, or the only one.

    Raises:
        ValueError: if there is no filter of a name.
    """
    made = []
    for each, setting in (filters or {}).items():
        kind = get_filter(each)
        if isinstance(setting, list):
            made.append(kind(*setting))
        elif isinstance(setting, dict):
            made.append(kind(**setting))
        else:
            made.append(kind(setting))
    return FilterEnsemble(name, made)


@register_filter("regex")
class RegexFilter(Filter):
    r"""A match of a pattern in the text; of a pattern with several groups its first that is not empty.

    Args:
        regex_pattern: The pattern.
        group_select: Which match, counted from 0.
        fallback: The text where nothing matches.
    """

    def __init__(
        self, regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: str = "[invalid]"
    ) -> None:
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = fallback

    def apply(self, instance: list[str]) -> list[str]:
        """The match in each text."""
        return [self._chosen(text) for text in instance]

    def _chosen(self, text: str) -> str:
        matches = applied(_all_matches, self.regex, text)
        if not matches:
            return self.fallback
        match = matches[self.group_select]
        if isinstance(match, tuple):
            match = next((group for group in match if group), self.fallback)
        return str(match).strip()


@register_filter("extract")
class ExtractFilter(RegexFilter):
    """The same as ``regex``."""


@register_filter("regex_pos")
class POSFilter(Filter):
    """The tags in a written list of pairs: ``[('a', 'DET'), …]`` becomes ``['DET', …]``, as text.

    Args:
        regex_pattern: Kept for authors; the pairs have a fixed form.
        group_select: Kept for authors.
        fallback: The tags where there is no pair; default: ``['invalid']``.
    """

    def __init__(self, regex_pattern: str = r"\['(.*?)'\]", group_select: int = 0, fallback: Any = None) -> None:
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = ["invalid"] if fallback is None else fallback

    def apply(self, instance: list[Any]) -> list[str]:
        """The tags in each text."""
        pairs = (_tagged_words(text) if isinstance(text, str) else text for text in instance)
        return [str([tag for _, tag in of_text] or self.fallback) for of_text in pairs]


@register_filter("remove_whitespace")
class WhitespaceFilter(Filter):
    """The text without white space before it."""

    def apply(self, instance: list[str]) -> list[str]:
        """The texts from their first visible character on."""
        return [text.lstrip() for text in instance]


@register_filter("remove_until")
class RemoveUntilFilter(Filter):
    """The text after the first occurrence of a delimiter; the whole text without one.

    Args:
        delimiter: The delimiter.
    """

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter

    def apply(self, instance: list[str]) -> list[str]:
        """The texts after the delimiter."""
        return [text.split(self.delimiter, 1)[-1] for text in instance]


@register_filter("take_first")
class TakeFirstFilter(Filter):
    """The first text alone."""

    def __init__(self) -> None:
        pass

    def apply(self, instance: list[str]) -> list[str]:
        """The first text, if there is one."""
        return instance[:1]


@register_filter("take_first_k")
class TakeKFilter(Filter):
    """The first texts.

    Args:
        **kwargs: ``k``, their number.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.k: int = kwargs.pop("k")
        super().__init__(**kwargs)

    def apply(self, instance: list[str]) -> list[str]:
        """The first k texts.

        Raises:
            ValueError: if there are fewer.
        """
        if len(instance) < self.k:
            raise ValueError(f"take_first_k needs {self.k} texts, and there are {len(instance)}.")
        return instance[: self.k]


@register_filter("majority_vote")
class MajorityVoteFilter(Filter):
    """The most frequent text; of equally frequent ones the first."""

    def __init__(self) -> None:
        pass

    def apply(self, instance: list[str]) -> list[str]:
        """The winner, if there are texts."""
        return [Counter(instance).most_common(1)[0][0]] if instance else []


def _all_matches(pattern: re.Pattern[str], text: str) -> list[Any]:
    return pattern.findall(text)


@bounded
def _tagged_words(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\('([^']*)', '([^']*)'\)", text)
