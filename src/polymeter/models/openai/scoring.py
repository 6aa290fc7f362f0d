"""Log-probabilities of continuations from what endpoints report about tokens. Pure code: no request is made here.

A continuation's tokens are found by their text: those that overlap it, counted from the end, so that neither the
template before it nor a token that joins context and continuation can shift the sum.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from unicodedata import normalize

from polymeter.core.errors import ModelError
from polymeter.core.request import ChoiceLogprob
from polymeter.models.endpoint.shapes import logprob, malformed

_LONGEST_TAIL = 32
_AT_A_POSITION = 2
"""Entries of ``prompt_logprobs`` at a position: the prompt's own token and the likeliest. With more entries, the own
one is unknown.
"""
_WORD_STARTS = "▁Ġ"
_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})
"""Spaces and ends of lines as written by servers that show tokens in their vocabulary's form."""
_SPECIAL = re.compile(r"(?:<[^<>\s]*>|<[|｜][^<>]*[|｜]>|\[[^\[\]\s]*\])* ?")
"""Text that may precede an echo: tokens that begin every text, and the space that some tokenizers add. A token's name
between bars may contain spaces: the ``▁`` in DeepSeek's is read as one.
"""
_UNSPELLED = re.compile(r"bytes: ?(?:\\x[0-9a-fA-F]{2})+|<0x[0-9a-fA-F]{2}>|\ufffd+")
"""The form of tokens that hold a part of a character."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a prompt. ``logprob`` is ``None`` for the first token of a text."""

    text: str
    logprob: float | None
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class FirstTokens:
    """The result of first tokens: a log-probability for each choice, and the choices (from 1) that are not among the
    likeliest first tokens and so count as less likely than the last of these.
    """

    choices: tuple[ChoiceLogprob, ...]
    unseen: tuple[int, ...]


class MissingFieldError(ModelError):
    """An endpoint answered, but without the requested log-probabilities."""


def prompt_tokens(payload: Mapping[str, Any], choice: Mapping[str, Any], *, where: str) -> list[Token]:
    """The tokens of vLLM's ``prompt_logprobs``: for each position a mapping from token id to logprob, rank and text. It
    holds the prompt's own token and the likeliest, which may be the same.

    Raises:
        MissingFieldError: if there are none.
        ModelError: if they have another form.
    """
    positions = payload.get("prompt_logprobs") or choice.get("prompt_logprobs")
    if not isinstance(positions, list):
        raise MissingFieldError("its answer has no prompt_logprobs")
    return [_prompt_token(position, where) if position else Token("", None, False) for position in positions]


def _prompt_token(position: Any, where: str) -> Token:
    entries = list(position.values()) if isinstance(position, dict) else []
    if not 0 < len(entries) <= _AT_A_POSITION or not all(isinstance(entry, dict) for entry in entries):
        raise malformed("a position of prompt_logprobs does not hold one or two tokens", where=where)
    if not all(isinstance(entry.get("rank"), (int, type(None))) for entry in entries):
        raise malformed("a rank in prompt_logprobs is not a number", where=where)
    own = max(entries, key=lambda entry: entry.get("rank") or 0)
    is_greedy = own["rank"] == 1 if own.get("rank") else len(entries) == 1
    return Token(
        _token_text(own.get("decoded_token") or "", where), logprob(own.get("logprob"), where=where), is_greedy
    )


def echoed_tokens(choice: Mapping[str, Any], n_new: int, *, where: str) -> tuple[list[Token], list[int]]:
    """The tokens of a completion with ``echo``, without the ``n_new`` at the end that the model added, and where in the
    prompt each begins and the last one ends (empty if the endpoint does not report it).

    Raises:
        MissingFieldError: if there are none.
        ModelError: if they have another form.
    """
    said = choice.get("logprobs") or {}
    texts, logprobs, top, offsets = (
        said.get(name) if isinstance(said, dict) else None
        for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset")
    )
    if not isinstance(texts, list) or not isinstance(logprobs, list) or len(texts) <= n_new:
        raise MissingFieldError("its answer has no log-probabilities of the prompt")
    likeliest = top if isinstance(top, list) and top else [None] * len(texts)
    if not len(texts) == len(logprobs) == len(likeliest):
        raise malformed(f"{len(texts)} tokens, {len(logprobs)} log-probabilities", where=where)
    known = offsets if isinstance(offsets, list) else []
    if not all(type(offset) is int for offset in known):
        raise malformed("an offset of a token is not a number", where=where)
    n_tokens = len(texts) - n_new
    tokens = [
        _echoed(text, value, best, where)
        for text, value, best in zip(texts[:n_tokens], logprobs, likeliest, strict=False)
    ]
    return tokens, known[: n_tokens + 1]


def _echoed(text: Any, value: Any, best: Any, where: str) -> Token:
    if value is None:  # the first token of a text, or one that the server does not report: ``total`` refuses it
        return Token(_token_text(text, where), None, False)
    own = logprob(value, where=where)
    others = [logprob(other, where=where) for other in best.values()] if isinstance(best, dict) else []
    return Token(_token_text(text, where), own, bool(others) and own >= max(others))


def _token_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise malformed("the text of a token is not text", where=where)
    return value


def repeats(tokens: Sequence[Token], text: str) -> bool:
    """Return whether the tokens of an echo spell the text that was sent. Special tokens may come before it, and tokens
    that hold a part of a character may stand for any text.
    """
    shown, text = (_plainly(one) for one in ("".join(token.text for token in tokens), text))
    if shown.endswith(text):
        return _SPECIAL.fullmatch(shown, 0, len(shown) - len(text)) is not None
    first, *others = _UNSPELLED.split(shown)
    start = next((own for own in (first, _SPECIAL.sub("", first, 1)) if text.startswith(own)), None)
    if start is None or not others:
        return False
    *between, last = others
    place = len(start)
    for piece in between:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return text.endswith(last) and place + len(last) <= len(text)


def _plainly(text: str) -> str:
    """A text as it can be compared with one that went through a tokenizer, many of which normalise it."""
    return normalize("NFC", text.translate(_SPACES))


def spelled(tokens: Sequence[Token], continuation: str) -> ChoiceLogprob | None:
    """The log-probability of a continuation at the end of some tokens, if at most a few characters of a template
    follow it; ``None`` if the tokens' texts do not spell it (a character may be spread over several tokens).
    """
    ends = list(accumulate(len(token.text) for token in tokens))
    joined = "".join(token.text for token in tokens)
    start = joined.rfind(continuation)
    stop = start + len(continuation)
    if start < 0 or len(joined) - stop > _LONGEST_TAIL:
        return None
    return total(
        [token for token, end in zip(tokens, ends, strict=True) if end > start and end - len(token.text) < stop]
    )


def from_offset(tokens: Sequence[Token], offsets: Sequence[int], start: int) -> ChoiceLogprob | None:
    """The log-probability of everything from a character of the prompt on; ``None`` without offsets that grow."""
    offsets = offsets[: len(tokens)]
    if len(offsets) != len(tokens) or min(offsets, default=0) < 0 or list(offsets) != sorted(offsets):
        return None
    ends = [*offsets[1:], math.inf]
    return total([token for token, end in zip(tokens, ends, strict=True) if end > start])


def total(tokens: Sequence[Token]) -> ChoiceLogprob:
    """The sum over the tokens of a continuation.

    Raises:
        ModelError: if the first token of a text is among them, because it has no probability.
    """
    logprobs = [token.logprob for token in tokens]
    known = [logprob for logprob in logprobs if logprob is not None]
    if len(known) != len(logprobs) or not known:
        raise ModelError("The endpoint returns no log-probability for the first token of a text without a context.")
    return ChoiceLogprob(math.fsum(known), all(token.is_greedy for token in tokens), len(tokens))


def first_tokens(choice: Mapping[str, Any], continuations: Sequence[str], *, where: str) -> FirstTokens:
    """The log-probability that an answer begins as each choice does, from the likeliest first tokens.

    A token counts for the choice that it equals, spaces aside, else for the only choice that begins with it; the
    probabilities of several such tokens (``A`` and `` A``) are added. A choice without a token gets 1 less than the
    least likely token.

    Raises:
        MissingFieldError: if the answer has no log-probabilities.
        ModelError: if they have another form, no token counts for any choice, or two choices are the same.
    """
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    top = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(top, list) or not top:
        raise MissingFieldError("its answer has no top_logprobs")
    if not all(isinstance(entry, dict) for entry in top):
        raise malformed("an entry of top_logprobs is not an object", where=where)
    listed = [
        (_word(_token_text(entry.get("token"), where)), logprob(entry.get("logprob"), where=where)) for entry in top
    ]
    listed.sort(key=lambda pair: -pair[1])
    wanted = [_word(continuation) for continuation in continuations]
    if len(set(wanted)) != len(wanted):
        raise ModelError("First tokens cannot distinguish choices that differ only in spaces.")
    spoken = [(_spoken_for(token, wanted), logprob) for token, logprob in listed]
    of_choices = [[logprob for place, logprob in spoken if place == i] for i in range(len(wanted))]
    if not any(of_choices):
        raise ModelError(
            f"None of the {len(listed)} likeliest first tokens begins exactly one choice.",
            hint="Ask for letters, or use an endpoint with prompt_logprobs or echo.",
        )
    floor = listed[-1][1] - 1
    choices = tuple(
        ChoiceLogprob(_added(own) if own else floor, bool(own) and spoken[0][0] == i, 1)
        for i, own in enumerate(of_choices)
    )
    return FirstTokens(choices, tuple(i + 1 for i, own in enumerate(of_choices) if not own))


def _word(text: str) -> str:
    return text.strip().lstrip(_WORD_STARTS).strip()


def _spoken_for(token: str, wanted: Sequence[str]) -> int | None:
    if token in wanted:
        return wanted.index(token)
    begun = [place for place, choice in enumerate(wanted) if token and choice.startswith(token)]
    return begun[0] if len(begun) == 1 else None


def _added(logprobs: Sequence[float]) -> float:
    highest = max(logprobs)
    return highest + math.log(math.fsum(math.exp(logprob - highest) for logprob in logprobs))
