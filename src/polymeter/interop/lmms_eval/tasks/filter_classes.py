"""Filters as classes: what task code subclasses to write its own filter.

``apply(resps, docs)`` takes a list of answers for each sample, and the rows; it returns one item for each sample. The
built-in ones apply the steps of ``filters``, sample by sample.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polymeter.tasks.yaml.scoring import filters


class Filter:
    """Base of all filter classes. The arguments in the YAML arrive as keyword arguments."""

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    def apply(self, resps: Any, docs: Any) -> Any:
        """The filtered answers of each sample."""
        return resps


class _StepFilter(Filter):
    """A filter that applies one step to each sample."""

    step: filters.Step

    def apply(self, resps: Any, docs: Any) -> Any:
        """The result of the step for each sample's answers."""
        return [self.step(answers, doc) for answers, doc in zip(resps, docs, strict=False)]


class TakeFirstFilter(_StepFilter):
    """The first answer."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.step = filters.take_first()


class TakeKFilter(_StepFilter):
    """The first ``k`` answers."""

    def __init__(self, k: int = 1, **_: Any) -> None:
        super().__init__()
        self.k = k
        self.step = filters.take_first_k(k)


class MajorityVoteFilter(_StepFilter):
    """The most frequent answer, as a list of one."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.step = filters.majority_vote()


class LowercaseFilter(_StepFilter):
    """Each answer in lower case."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.step = filters.lowercase()


class UppercaseFilter(_StepFilter):
    """Each answer in upper case."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.step = filters.uppercase()


class WhitespaceFilter(_StepFilter):
    """Each answer without one leading space."""

    def __init__(self, **_: Any) -> None:
        super().__init__()
        self.step = filters.remove_whitespace()


class MapFilter(_StepFilter):
    """Each answer looked up in a table.

    Args:
        mapping_dict: The table.
        default_value: The value for what is not in it.
    """

    def __init__(self, mapping_dict: Mapping[Any, Any] | None = None, default_value: Any = None, **_: Any) -> None:
        super().__init__()
        self.mapping_dict = {} if mapping_dict is None else dict(mapping_dict)
        self.default_value = default_value
        self.step = filters.map_values(self.mapping_dict, default_value)


class RegexFilter(Filter):
    """A match of a pattern in each answer.

    Args:
        regex_pattern: The pattern.
        group_select: Which match.
        fallback: The result if nothing matches.
    """

    def __init__(
        self,
        regex_pattern: str = filters.GSM_NUMBER,
        group_select: int = 0,
        fallback: str = filters.INVALID,
        **_: Any,
    ) -> None:
        super().__init__()
        self.regex_pattern = regex_pattern
        self.regex = re.compile(regex_pattern)
        self.group_select = group_select
        self.fallback = fallback

    def apply(self, resps: Any, docs: Any) -> Any:
        """The match in each answer of each sample."""
        return [
            [filters.match(self.regex, text, self.group_select) or self.fallback for text in texts] for texts in resps
        ]


class ExtendedRegexFilter(RegexFilter):
    """A pattern with helpers that ignore case, punctuation and other noise; subclasses decide in which order.

    Args:
        regex_pattern: The pattern.
        group_select: Which match.
        fallback: The result if nothing matches.
        ignore_case: ``filter_ignores`` folds case.
        ignore_punctuation: ``filter_ignores`` deletes punctuation.
        regexes_to_ignore: What ``filter_ignores`` deletes first.
    """

    def __init__(
        self,
        regex_pattern: str = filters.GSM_NUMBER,
        group_select: int = 0,
        fallback: str = filters.INVALID,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        regexes_to_ignore: Iterable[str] | None = None,
        **_: Any,
    ) -> None:
        super().__init__(regex_pattern, group_select, fallback)
        self.ignore_case = ignore_case
        self.ignore_punctuation = ignore_punctuation
        self.regexes_to_ignore = regexes_to_ignore

    @property
    def punct_tbl(self) -> Mapping[int, None]:
        """The table with which ``str.translate`` deletes punctuation."""
        return filters.punctuation()

    def filter_ignores(self, st: str) -> str:
        """A text without the parts to ignore."""
        return filters.without_ignored(
            st, self.regexes_to_ignore or (), ignore_case=self.ignore_case, ignore_punctuation=self.ignore_punctuation
        )

    def find_match(self, regex: re.Pattern[str], resp: str, convert_dict: Mapping[str, str] | None = None) -> str:
        """The match of any pattern, converted if the table has it; empty if nothing matches."""
        match = filters.match(regex, resp, self.group_select)
        return (convert_dict or {}).get(match, match)


class MultiChoiceRegexFilter(ExtendedRegexFilter):
    """A letter in brackets: by the pattern, else by the text of a choice, else by a letter after a colon."""

    def apply(self, resps: Any, docs: Any) -> Any:
        """The letter in each answer of each sample."""
        step = filters.multi_choice_regex(
            self.regex_pattern,
            self.group_select,
            self.fallback,
            self.ignore_case,
            self.ignore_punctuation,
            list(self.regexes_to_ignore or ()),
        )
        return [step(list(answers), doc) for answers, doc in zip(resps, docs, strict=False)]


class FilterEnsemble:
    """Several filters, one after the other, under one name.

    Args:
        name: Name of the ensemble.
        filters: Filters, their classes, or functions that make them.
    """

    def __init__(self, name: str, filters: Sequence[Any]) -> None:
        self.name = name
        self.filters = list(filters)

    def apply(self, instances: Sequence[Any], docs: Sequence[Any] | None = None) -> None:
        """Fill ``filtered_resps`` of each instance under this name.

        Args:
            instances: The instances.
            docs: Their rows; default: the ``doc`` of each.
        """
        resps: Any = [instance.resps for instance in instances]
        rows = [instance.doc for instance in instances] if docs is None else docs
        for each in self.filters:
            step = each if hasattr(each, "apply") and not isinstance(each, type) else each()
            resps = list(step.apply(resps, rows))
        for instance, resp in zip(instances, resps, strict=True):
            instance.filtered_resps[self.name] = resp
