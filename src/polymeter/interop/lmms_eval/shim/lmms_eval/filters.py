"""``lmms_eval.filters`` as classes, and helpers that remove reasoning from an answer.

``tasks.yaml`` reads a ``filter_list`` in YAML; entries of ``FILTER_REGISTRY`` do not reach it.
``register_filter`` makes a filter available to YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from polymeter.interop.lmms_eval.tasks import (
    ExtendedRegexFilter,
    Filter,
    FilterEnsemble,
    LowercaseFilter,
    MajorityVoteFilter,
    MapFilter,
    MultiChoiceRegexFilter,
    RegexFilter,
    TakeFirstFilter,
    TakeKFilter,
    UppercaseFilter,
    WhitespaceFilter,
)
from polymeter.reading.reasoning import parse_tags
from polymeter.tasks.yaml.scoring.filters import strip_thinking
from polymeter.tasks.yaml.scoring.reasoning import TAGS, strip_reasoning

_OPTION = re.compile(r"\b([A-Z])\.\s+([^\n]*)")


class SimpleMultiChoiceRegexFilter(ExtendedRegexFilter):
    """The letter of the option, listed in the row's ``question`` as ``A. text``, that the first answer names; else that
    answer without punctuation. Written for AI2D and RealWorldQA.
    """

    def apply(self, resps: Any, docs: Any) -> Any:
        return [self._read(answers[0], doc) for answers, doc in zip(resps, docs, strict=False)]

    def _read(self, text: str, doc: Mapping[str, Any]) -> str:
        options = [option.strip() for _, option in _OPTION.findall(doc["question"])]
        letters = {option: chr(ord("A") + position) for position, option in enumerate(options)}
        plain = re.sub(r"[^\w\s]", "", text).strip()
        match = re.search("|".join(map(re.escape, options)), plain)
        return letters.get(match.group(), plain) if match else plain


class StripThinkingFilter(Filter):
    """Each answer without its reasoning."""

    def apply(self, resps: Any, docs: Any) -> Any:
        step = strip_thinking()
        return [step(list(answers), {}) for answers in resps]


FILTER_REGISTRY: dict[str, type[Filter]] = {
    "take_first": TakeFirstFilter,
    "take_first_k": TakeKFilter,
    "majority_vote": MajorityVoteFilter,
    "regex": RegexFilter,
    "multi_choice_regex": MultiChoiceRegexFilter,
    "remove_whitespace": WhitespaceFilter,
    "lowercase": LowercaseFilter,
    "uppercase": UppercaseFilter,
    "map": MapFilter,
    "strip_thinking": StripThinkingFilter,
}


def get_filter(filter_name: Any) -> Any:
    """The filter class of a name; anything else is returned unchanged."""
    return FILTER_REGISTRY.get(filter_name, filter_name) if isinstance(filter_name, str) else filter_name


def build_filter_ensemble(
    filter_name: str, components: Iterable[tuple[Any, Mapping[str, Any] | None]]
) -> FilterEnsemble:
    """Several filters under one name; each is given by its name or class, and its arguments."""
    makers = [partial(get_filter(function), **(kwargs or {})) for function, kwargs in components]
    return FilterEnsemble(filter_name, makers)


def strip_reasoning_tags(text: str, tag_pairs: Sequence[Sequence[str]]) -> str:
    """The text without its reasoning; see ``polymeter.tasks.yaml.scoring.reasoning``."""
    return strip_reasoning(text, tuple((opening, closing) for opening, closing in tag_pairs))


def parse_reasoning_tags_config(cli_value: Any = None, task_value: Any = None) -> list[list[str]] | None:
    """The pairs of tags that apply: the task's, else the command line's; ``None`` for none."""
    value = task_value if task_value is not None else cli_value
    pairs = parse_tags(value, "reasoning_tags") if value is not None else ()
    return [list(pair) for pair in (TAGS if pairs is None else pairs)] or None


_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_ANSWERS = (
    re.compile(r"<answer>\s*(.*?)\s*</answer>", re.DOTALL),
    re.compile(r"\\boxed\{\s*(.*?)\s*\}", re.DOTALL),
)


def parse_reasoning_model_answer(model_answer: str) -> str:
    """The text in the first ``<answer>`` tags, else in the first ``\\boxed{}`` (up to its first closing brace), else
    the whole text; without thoughts.
    """
    text = _THOUGHTS.sub("", model_answer).strip()
    answer = next((match for pattern in _ANSWERS if (match := pattern.search(text))), None)
    return answer[1] if answer else text
