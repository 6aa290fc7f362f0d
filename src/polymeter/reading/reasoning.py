"""Visible reasoning: the tags around it, and the answer without it.

A chat template may open the reasoning in the prompt. The answer then has only the closing tag, and everything before
the last one is reasoning. An opening tag without a closing one begins reasoning that has no end, because of the token
limit: no text after it is an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.request import Tags

REASONING_TAGS: Tags = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<analysis>", "</analysis>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|begin_of_thinking|>", "<|end_of_thinking|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|think_start|>", "<|think_end|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
)
"""The known pairs of an opening and a closing tag. Their letter case does not matter."""

# The channels of gpt-oss (the "harmony" format): every message of the model names its channel, and only "final" is the
# answer. If a server removes the tokens, the bare words remain.
CHANNEL_MARKS = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|end|>"})
"""The tokens of gpt-oss around channels."""
_CHANNEL = re.compile(r"<\|channel\|>\s*(?:analysis|commentary|final)\b")
_CHANNEL_BEGUN = re.compile(r"<\|channel\|>\s*(?:analysis|commentary)\b")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^<]{0,100}(?:<\|constrain\|>[^<]{0,100})?<\|message\|>")
_MESSAGE_END = re.compile(r"<\|(?:return|end|call|start)\|>")
_OPENED_CHANNEL = re.compile(r"\s*(?:analysis|commentary)\s*<\|message\|>")
_BARE_CHANNEL = re.compile(r"\s*analysis(?=[A-Z\u0080-\U0010ffff])")
_MAYBE_BARE = re.compile(r"\s*analysis")
_BARE_FINAL = "assistantfinal"
_TEMPLATE_TAG = re.compile(
    r"(?P<left>[<\[])/(?P<name>(?![\w:|.-]*(?:mode|budget|effort|level))[\w:|.-]{0,40}(?:think|thought|reason)[\w:|.-]{0,40})"
    r"(?P<right>[>\]])",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[<\[◁]|\banalysis")
"""A text without any of these has no known tag. This holds for most answers."""


@dataclass(frozen=True, slots=True)
class Separated:
    """An answer without its reasoning.

    Attributes:
        text: The answer, with its own white space.
        has_reasoning: Whether the original answer contained reasoning.
        is_unfinished: Whether the reasoning has no end.
    """

    text: str
    has_reasoning: bool = False
    is_unfinished: bool = False


def separated(text: str, tags: Tags | None = None) -> Separated:
    """Separate an answer from its reasoning. White space after a closing tag belongs to the reasoning.

    Args:
        text: The model's answer.
        tags: The pairs that count, as written; ``None``: the known ones and the channels of gpt-oss. Without pairs, the
            text is not changed.
    """
    spans, is_unfinished = _reasoning_in(text, tags)
    if not spans:
        return Separated(text)
    return Separated("".join(_outside(text, spans)), has_reasoning=True, is_unfinished=is_unfinished)


def without_reasoning(text: str, tags: Tags | None = None) -> str:
    """Return the answer without its reasoning and without white space around it; empty if the reasoning has no end."""
    return separated(text, tags).text.strip()


def answer_stretches(text: str, tags: Tags | None = None) -> list[tuple[int, int]]:
    """Return the parts of a text that are its answer, each from its first character that is not white space. These are
    the parts after the first reasoning, or the part before it if nothing follows.
    """
    spans, _ = _reasoning_in(text, tags)
    starts = [0, *(end for _, end in spans)]
    limits = [*(start for start, _ in spans), len(text)]
    found = [
        (limit - len(stripped), limit)
        for start, limit in zip(starts, limits, strict=True)
        if (stripped := text[start:limit].lstrip())
    ]
    behind = [stretch for stretch in found if spans and stretch[0] >= spans[0][1]]
    return behind or found


def last_marks(text: str, tags: Tags | None = None) -> tuple[int, int]:
    """Return where reasoning last began and last ended in a text that is still being written: the position of the last
    opening tag, and the position after the last closing one; -1 if the tag is missing.
    """
    opening, closing = _patterns_of(tags)
    begun = [match.start() for match in opening.finditer(text)]
    ended = [match.end() for pattern in closing for match in pattern.finditer(text)]
    if _knows_usual(tags):
        begun += [match.start() for match in _CHANNEL_BEGUN.finditer(text)]
        begun += [0] if _BARE_CHANNEL.match(text) else []
        ended += [match.end() for match in _FINAL.finditer(text)]
        ended += [place + len(_BARE_FINAL)] if (place := text.rfind(_BARE_FINAL)) >= 0 else []
    return max(begun, default=-1), max(ended, default=-1)


def may_open(text: str, tags: Tags | None = None) -> bool:
    """Check whether the end of a text that is still being written may become an opening tag."""
    folded = text.casefold()
    return any(opening.casefold().startswith(folded) for opening, _ in (REASONING_TAGS if tags is None else tags))


def begins_inside(prompt: str, tags: Tags | None = None) -> bool:
    """Check whether a prompt ends inside reasoning that its template has begun, so that the answer begins there."""
    opening, closing = _patterns_of(tags)
    last = None
    for last in opening.finditer(prompt):  # noqa: B007  (the last one counts)
        pass
    if last is None or prompt[last.end() :].strip():
        return False
    return closing[(last.lastindex or 1) - 1].search(prompt, last.end()) is None


def split_from_inside(text: str, tags: Tags | None = None, *, is_finished: bool) -> tuple[str | None, str]:
    """Return reasoning and answer of a text that begins inside reasoning. Of several closing tags, the last one before
    new reasoning counts. Without a closing tag, the text is all reasoning if it was cut off. If the model finished, it
    did not reason, and the text is all answer.
    """
    opening, closing = _patterns_of(tags)
    ends = sorted((match.start(), match.end()) for pattern in closing for match in pattern.finditer(text))
    if not ends:
        return (None, text) if is_finished else (text.strip(), "")
    begun = opening.search(text, ends[0][0])
    limit = len(text) if begun is None else begun.start()
    start, end = max(each for each in ends if each[0] < limit)
    return text[:start].strip(), text[_after_space(text, end) :]


def tags_in_template(template: Any) -> Tags:
    """Return further pairs of tags around reasoning in a chat template. The name of such a tag contains a word for
    thought or reasoning, and the template has the closing tag.

    Args:
        template: Its text, or texts by name; anything else has no tags.
    """
    texts = template.values() if isinstance(template, dict) else [template]
    known = {closing.casefold() for _, closing in REASONING_TAGS}
    found: dict[tuple[str, str], None] = {}
    for text in texts:
        for match in _TEMPLATE_TAG.finditer(text if isinstance(text, str) else ""):
            if match[0].casefold() not in known:
                found[match["left"] + match["name"] + match["right"], match[0]] = None
    return tuple(found)


def tags_in_force(task: Tags | None, run: Tags | None, template: Iterable[Iterable[str]] = ()) -> Tags | None:
    """Return the tags that count: those of the task, else those of the run, else the known ones and those of the
    model's chat template; ``None`` for the known ones alone.
    """
    if task is not None or run is not None:
        return task if task is not None else run
    own: list[tuple[str, str]] = [(opening, closing) for opening, closing in template]
    return (*REASONING_TAGS, *own) if own else None


def parse_tags(value: Any, where: str) -> Tags | None:
    """Read a ``reasoning_tags`` value as pairs: ``None`` means the known ones, and ``"none"`` or false means no pairs.

    Raises:
        PlanError: if it is neither a pair nor a list of pairs, or the tags of a pair cannot be distinguished.
    """
    if value is None:
        return None
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
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(tag, str) for tag in pair)
        for pair in value
    )
    if not is_pairs or not value:
        raise PlanError("reasoning_tags must be pairs of an opening and a closing tag, or 'none'.", where=where)
    for opening, closing in value:
        if not closing or closing in opening:
            raise PlanError(
                f"The closing tag {closing!r} of reasoning_tags is part of the opening tag {opening!r}.",
                where=where,
                hint="Use two different tags, so that the end of reasoning is clear.",
            )
        if opening and opening in closing:
            raise PlanError(
                f"The opening tag {opening!r} of reasoning_tags is part of the closing tag {closing!r}.",
                where=where,
                hint="Use two different tags, so that the end of reasoning is clear.",
            )
    return tuple((str(opening), str(closing)) for opening, closing in value)


def _reasoning_in(text: str, tags: Tags | None) -> tuple[list[tuple[int, int]], bool]:
    """Return the parts of a text that are reasoning, in order, and whether the last one has no end."""
    if tags is None:
        if not _MARKS.search(text):
            return [], False
    elif not tags:
        return [], False
    if _knows_usual(tags):
        channels = _channels_in(text)
        if channels is not None:
            return channels
    return _pairs_in(text, *_patterns_of(tags))


def _knows_usual(tags: Tags | None) -> bool:
    """Check whether the tags contain the known pairs, beside those of a chat template."""
    return tags is None or set(REASONING_TAGS) <= set(tags)


def _patterns_of(tags: Tags | None) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    return _patterns(REASONING_TAGS if tags is None else tags, re.IGNORECASE if _knows_usual(tags) else 0)


@lru_cache(maxsize=16)  # a run has one set of tags
def _patterns(tags: Tags, flags: int) -> tuple[re.Pattern[str], tuple[re.Pattern[str], ...]]:
    """Return one pattern for all opening tags, with a group for each, and one pattern for each closing tag."""
    # Reasoning without an opening tag can only have begun in the prompt.
    opening = "|".join(f"({re.escape(start)})" if start and start != end else "((?!))" for start, end in tags) or "(?!)"
    return re.compile(opening, flags), tuple(re.compile(re.escape(end), flags) for _, end in tags)


def _pairs_in(
    text: str, opening: re.Pattern[str], closing: tuple[re.Pattern[str], ...]
) -> tuple[list[tuple[int, int]], bool]:
    """Return the parts between tags: from each opening tag to the next closing one of its kind, and everything before a
    closing tag without an opening one.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    while (opened := opening.search(text, position)) is not None:
        end = closing[(opened.lastindex or 1) - 1].search(text, opened.end())
        if end is None:
            spans = _with_unopened(text, spans, closing, opened.start())
            return [*spans, (opened.start(), len(text))], True
        position = _after_space(text, end.end())
        spans.append((opened.start(), position))
    return _with_unopened(text, spans, closing, len(text)), False


def _with_unopened(
    text: str, spans: list[tuple[int, int]], closing: Iterable[re.Pattern[str]], limit: int
) -> list[tuple[int, int]]:
    """Return the parts. If a closing tag stands outside of them, add one from the beginning of the text to the last
    such tag.
    """
    ends = [
        match.end()
        for pattern in closing
        for match in pattern.finditer(text, 0, limit)
        if not any(start <= match.start() < end for start, end in spans[-_MOST_LOOKED_AT:])
    ]
    if not ends:
        return spans
    last = _after_space(text, max(ends))
    return [(0, last), *((start, end) for start, end in spans if start >= last)]


_MOST_LOOKED_AT = 64
"""The most pairs in a text: with more, it is not a real answer, and reading it would take quadratic time."""


def _channels_in(text: str) -> tuple[list[tuple[int, int]], bool] | None:
    """Return the reasoning of a text in the channels of gpt-oss, or ``None`` for any other text."""
    if _CHANNEL.search(text) is not None or _OPENED_CHANNEL.match(text) is not None:
        finals = list(_FINAL.finditer(text))
        if not finals:
            return [(0, len(text))], True
        start = _after_space(text, finals[-1].end())
        end = _MESSAGE_END.search(text, start)
        return [(0, start), *([(end.start(), len(text))] if end else [])], False
    if not _MAYBE_BARE.match(text):
        return None
    place = text.rfind(_BARE_FINAL)
    if place >= 0:
        return [(0, _after_space(text, place + len(_BARE_FINAL)))], False
    return ([(0, len(text))], True) if _BARE_CHANNEL.match(text) else None


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _outside(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[str]:
    position = 0
    for start, end in spans:
        yield text[position:start]
        position = end
    yield text[position:]
