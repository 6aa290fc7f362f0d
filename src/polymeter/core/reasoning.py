"""Visible reasoning: which tags surround it in an answer, and where the answer proper begins.

A chat template may open the reasoning in the prompt. An answer then has only the closing tag, and everything before the
last one is reasoning.
"""

from __future__ import annotations

Tags = tuple[tuple[str, str], ...]

REASONING_TAGS: Tags = (("<think>", "</think>"), ("<analysis>", "</analysis>"))
"""The pairs of an opening and a closing tag that are known without being named."""


def strip_reasoning(text: str, tags: Tags = REASONING_TAGS) -> str:
    """The text without its reasoning and surrounding white space.

    For one pair of tags after the other: the text between an opening and the next closing tag is removed, and where no
    opening tag is left, everything up to the last closing one. A closing tag in a text that still has an opening one
    stays. These are the rules of lmms-eval 0.7.2.
    """
    for opening, closing in tags:
        if closing not in text:
            continue
        text = _without_pairs(text, opening, closing)
        if opening not in text:
            text = text.rpartition(closing)[2]
    return text.strip()


def answer_start(text: str, tags: Tags = REASONING_TAGS) -> int:
    """Where the answer begins: behind the last closing tag. Behind reasoning that was begun and never ended (the token
    limit came first) there is no answer.
    """
    ends = [text.rfind(closing) + len(closing) for _, closing in tags if closing in text]
    if ends:
        return max(ends)
    return len(text) if text.lstrip().startswith(tuple(opening for opening, _ in tags)) else 0


def _without_pairs(text: str, opening: str, closing: str) -> str:
    """The text without its leftmost pair of tags, and so on until none is left.

    What is left on both sides of a pair may form another opening tag; it counts, as it would if the text were searched
    from its beginning after each removal, which for a hostile answer would take quadratic time.
    """
    kept: list[str] = []
    position, reach = 0, len(opening) - 1
    while True:
        tail = _last_characters(kept, reach)
        formed = (tail + text[position : position + reach]).find(opening)
        n_undone = len(tail) - formed if formed >= 0 else 0
        start = position if n_undone else text.find(opening, position)
        end = text.find(closing, start + len(opening) - n_undone) if start >= 0 else -1
        if end < 0:
            return "".join((*kept, text[position:]))
        _drop_characters(kept, n_undone)
        if start > position:
            kept.append(text[position:start])
        position = end + len(closing)


def _last_characters(pieces: list[str], n: int) -> str:
    tail = ""
    for piece in reversed(pieces):
        if len(tail) >= n:
            break
        tail = piece[-n:] + tail
    return tail[-n:] if n else ""


def _drop_characters(pieces: list[str], n: int) -> None:
    while n:
        last = pieces.pop()
        if len(last) > n:
            pieces.append(last[:-n])
        n -= min(n, len(last))
