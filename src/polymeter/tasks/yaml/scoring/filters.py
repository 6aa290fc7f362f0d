"""Filters: readings of a sample's raw answers before they are scored.

A step takes the list of one sample's answers and the row, and returns another list, or a single value. Steps that work
on each answer keep lists as lists; ``take_first`` ends with a single one. A task's own filter classes follow the
interface of lmms-eval, which takes lists of samples: ``apply(resps, docs)``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError, ScoreError, UnscoredError, boundary, did_you_mean
from polymeter.guests.loading.load import name_of, resolve
from polymeter.metrics.patterns import applied, pick, without_matches
from polymeter.tasks.yaml.config import FilterItem, FilterStep
from polymeter.tasks.yaml.registration import FILTER_DEFINITIONS
from polymeter.tasks.yaml.scoring.reasoning import strip_reasoning

Step = Callable[[Any, Mapping[str, Any]], Any]
Reading = Callable[[Sequence[str], Mapping[str, Any]], Any]
GSM_NUMBER = r"#### (\-?[0-9\.\,]+)"
INVALID = "[invalid]"
_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(?P<code>.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def readings(
    items: Iterable[FilterItem] | None,
    *,
    task: str,
    where: str,
    strips_thinking: bool = False,
    sources: Collection[Path] = (),
) -> tuple[tuple[str, Reading], ...]:
    """The named readings of a task; without a filter list there is one, ``none``: the first answer. Filters that the
    task's own code (``sources``) registers win over built-in ones.

    Raises:
        PlanError: if a filter is unknown, or does not take its arguments.
    """
    named: list[tuple[str, Reading]] = []
    for item in items or ():
        steps = [_step(step, task, where, sources) for step in item.filter]
        named.append((item.name, _chain([_each(strip_reasoning), *steps] if strips_thinking else steps)))
    return tuple(named) or (
        ("none", _chain([_each(strip_reasoning), take_first()] if strips_thinking else [take_first()])),
    )


def extracting(items: Iterable[FilterItem] | None) -> frozenset[str]:
    """The names of the readings that take a part out of an answer, as far as built-in filters show it."""
    return frozenset(item.name for item in items or () if any(step.function in _EXTRACTING for step in item.filter))


def needed_columns(steps: Iterable[FilterStep]) -> Iterator[tuple[str, str]]:
    """The columns that built-in filters read of a row: the filter's name, and the column."""
    for step in steps:
        if step.function == "multi_choice_regex":
            yield step.function, "choices"
        if step.function == "code" and step.kwargs.get("prefix"):
            yield step.function, str(step.kwargs["prefix"])


def take_first() -> Step:
    """The first answer."""
    return lambda answers, doc: answers[0] if isinstance(answers, (list, tuple)) and answers else answers


def take_first_k(k: int = 1) -> Step:
    """The first ``k`` answers."""
    if k < 1:
        raise ValueError("k must be at least 1")
    return lambda answers, doc: list(islice(answers, k))


def majority_vote() -> Step:
    """The most frequent answer, at a tie the earlier one; as a list of one."""
    return lambda answers, doc: [Counter(answers).most_common(1)[0][0]]


def regex(regex_pattern: str = GSM_NUMBER, group_select: int = 0, fallback: str = INVALID) -> Step:
    """The match number ``group_select`` of a pattern in each answer; of several groups the first that matched
    something.
    """
    pattern = re.compile(regex_pattern)
    return _each(lambda text: match(pattern, text, group_select) or fallback)


def multi_choice_regex(
    regex_pattern: str = GSM_NUMBER,
    group_select: int = 0,
    fallback: str = INVALID,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    regexes_to_ignore: Sequence[str] | None = None,
) -> Step:
    """A letter in brackets for each answer: by the pattern, else by the text of a choice, else by a letter after a
    colon.

    The choices are those in the row's column ``choices``.
    """
    pattern = re.compile(regex_pattern)
    plain = partial(
        without_ignored,
        patterns=tuple(regexes_to_ignore or ()),
        ignore_case=ignore_case,
        ignore_punctuation=ignore_punctuation,
    )

    def step(answers: Any, doc: Mapping[str, Any]) -> Any:
        # An empty option is none, and the others keep their letters.
        texts = ["" if choice is None else str(choice).strip() for choice in doc["choices"]]
        letters = {plain(text): chr(ord("A") + i) for i, text in enumerate(texts) if text}
        by_text = re.compile("|".join(re.escape(choice) for choice in letters))
        by_letter = re.compile(rf":[\s]*({'|'.join(letters.values())})")

        def read(text: str) -> str:
            answer = match(pattern, text, group_select)
            if not answer:
                choice = match(by_text, plain(text), group_select)
                answer = f"({letters[choice]})" if choice in letters else choice
            if not answer:
                letter = match(by_letter, text, group_select)
                answer = f"({letter})" if letter else ""
            return answer or fallback

        return _map(read, answers)

    return step


def remove_whitespace() -> Step:
    """Each answer without one leading space."""
    return _each(lambda text: text[1:] if text.startswith(" ") else text)


def lowercase() -> Step:
    """Each answer in lower case."""
    return _each(str.lower)


def uppercase() -> Step:
    """Each answer in upper case."""
    return _each(str.upper)


def map_values(mapping_dict: Mapping[Any, Any] | None = None, default_value: Any = None) -> Step:
    """Each answer looked up in a table."""
    table = dict(mapping_dict or {})
    return _each(lambda text: table.get(text, default_value))


def code(prefix: str = "") -> Step:
    """The program in each answer: its first fenced block; of an answer without one, all of it, behind the column
    ``prefix`` of the row if one is named, since it then continues that text.
    """

    def step(answers: Any, doc: Mapping[str, Any]) -> Any:
        before = str(doc[prefix]) if prefix else ""

        def read(text: str) -> str:
            block = _FENCED.search(text)
            return block["code"] if block else before + text

        return _map(read, answers)

    return step


def strip_thinking() -> Step:
    """Each answer without its reasoning."""
    return _each(strip_reasoning)


FILTERS: Mapping[str, Callable[..., Step]] = {
    "take_first": take_first,
    "take_first_k": take_first_k,
    "majority_vote": majority_vote,
    "regex": regex,
    "multi_choice_regex": multi_choice_regex,
    "remove_whitespace": remove_whitespace,
    "lowercase": lowercase,
    "uppercase": uppercase,
    "map": map_values,
    "strip_thinking": strip_thinking,
    "code": code,
}
_PATTERN_FILTERS = ("regex", "multi_choice_regex")
_EXTRACTING = (*_PATTERN_FILTERS, "map")


def _step(step: FilterStep, task: str, where: str, sources: Collection[Path]) -> Step:
    if not isinstance(step.function, str):
        return _guest_step(step.function, step.kwargs, task)
    registered = FILTER_DEFINITIONS.find(step.function, sources)
    if registered is not None:
        return _guest_step(registered, step.kwargs, task)
    factory = FILTERS.get(step.function)
    if factory is None:
        hint = did_you_mean(step.function, FILTERS) or f"Known: {', '.join(sorted(FILTERS))}."
        raise PlanError(f"There is no filter {step.function!r}.", where=where, hint=hint)
    with boundary(PlanError, f"Filter {step.function!r} of task {task!r}", hint="Check its arguments."):
        made = factory(**step.kwargs)
    return _located(made, f"filter {step.function!r}, {where}") if step.function in _PATTERN_FILTERS else made


def _located(step: Step, where: str) -> Step:
    """Return a step whose pattern may take too long: the error of the sample then names the place of the pattern."""

    def located(answers: Any, doc: Mapping[str, Any]) -> Any:
        try:
            return step(answers, doc)
        except UnscoredError as error:
            raise UnscoredError(error.what, where=where, hint=error.hint) from None

    return located


def _guest_step(code: Callable[..., Any], kwargs: Mapping[str, Any], task: str) -> Step:
    name = name_of(code)
    with boundary(PlanError, f"Filter {name} of task {task!r}"):
        instance = resolve(code)(**kwargs)

    def step(answers: Any, doc: Mapping[str, Any]) -> Any:
        with boundary(ScoreError, f"Filter {name} of task {task!r}"):
            # The interface takes all samples at once; for one sample it returns a list of one.
            read = list(instance.apply([answers], [doc]))
        return read[0] if read else None

    return step


def _chain(steps: Sequence[Step]) -> Reading:
    if len(steps) == 1:
        return steps[0]

    def read(answers: Any, doc: Mapping[str, Any]) -> Any:
        for step in steps:
            answers = step(answers, doc)
        return answers

    return read


def _each(function: Callable[[str], Any]) -> Step:
    return lambda answers, doc: _map(function, answers)


def _map(function: Callable[[str], Any], answers: Any) -> Any:
    return [function(item) for item in answers] if isinstance(answers, (list, tuple)) else function(answers)


def match(pattern: re.Pattern[str], text: str, group_select: int) -> str:
    """One match of a pattern, of several groups the first that matched something; empty if there is none.

    Raises:
        UnscoredError: if it takes longer than scoring a sample may take.
    """
    return applied(pick, pattern, text, group_select)


def without_ignored(text: str, patterns: Iterable[str], *, ignore_case: bool, ignore_punctuation: bool) -> str:
    """A text without matches of the patterns, then in lower case and without punctuation if wanted."""
    text = without_matches(text, patterns)
    text = text.lower() if ignore_case else text
    return text.translate(punctuation()) if ignore_punctuation else text


# Kept for the life of the process: a table of constants that takes 0.15 s, for the filters that need it.
@lru_cache(maxsize=1)
def punctuation() -> dict[int, None]:
    """The table with which ``str.translate`` deletes every character that Unicode calls punctuation."""
    return dict.fromkeys(i for i in range(sys.maxunicode) if unicodedata.category(chr(i)).startswith("P"))
