"""Reasoning in answers: the text between tags, which is removed before scoring."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.reasoning import REASONING_TAGS, Tags, strip_reasoning


def parse_tags(value: Any, where: str) -> Tags:
    """The pairs of a ``reasoning_tags`` value: ``None`` for the default ones; ``"none"`` or false for no pairs.

    Raises:
        PlanError: if it is neither a pair nor a list of pairs, or the tags of a pair cannot be told apart.
    """
    if value is None:
        return REASONING_TAGS
    if value is False or (isinstance(value, str) and value.strip().lower() in ("none", "false", "")):
        return ()
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            value = ()
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(item, str) for item in value):
        value = [value]
    is_pairs = isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value
    )
    if not is_pairs or not value:
        raise PlanError("reasoning_tags must be pairs of an opening and a closing tag, or 'none'.", where=where)
    for opening, closing in value:
        if not closing or str(closing) in str(opening):
            raise PlanError(
                f"The closing tag {closing!r} of reasoning_tags is part of the opening tag {opening!r}.",
                where=where,
                hint="Without two different tags nobody knows where reasoning ends.",
            )
    return tuple((str(opening), str(closing)) for opening, closing in value)


def make_stripper(tags: Tags) -> Callable[[Any], Any]:
    """A function that removes reasoning and surrounding white space from a text, or from each text of a list. Without
    tags it changes nothing.
    """

    def strip(value: Any) -> Any:
        if isinstance(value, str):
            return strip_reasoning(value, tags)
        return [strip(item) for item in value] if isinstance(value, list) else value

    return strip if tags else lambda value: value
