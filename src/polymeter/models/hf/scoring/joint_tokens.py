"""Tokens of a context with each of its continuations, without tokenising what they share again and again.

A text is cut at a space between two words, some way before its end. A tokenizer that splits texts at spaces before it
makes tokens has none across it, so what stands before the cut has the same tokens whatever follows. The tokenizer shows
whether this holds, and each context is checked: the tokens behind the cut must be the last ones of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

_LAST: Final = 400
_BEHIND: Final = 40
"""The characters among which a cut is searched, counted from the end of a text: not among the very last."""
_BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_]) (?=[^\W\d_])")
_PROBE: Final = "one two"


class JointTokens:
    """Tokenises continuations together with the end of their context.

    Args:
        tokenizer: Of the checkpoint.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._splits = _splits_at_spaces(tokenizer)

    def __call__(self, text: str, encoded: Sequence[int], longer: Sequence[str]) -> list[list[int]]:
        """Tokens of some texts, without special tokens.

        Args:
            text: A context.
            encoded: Its tokens.
            longer: Texts that begin as it does, all but perhaps for white space at its end.
        """
        cut = self._cut(text)
        if cut is not None:
            behind, *ends = self._tokens([text[cut:], *(one[cut:] for one in longer)])
            if behind and list(encoded[-len(behind) :]) == behind:
                before = list(encoded[: -len(behind)])
                return [before + end for end in ends]
        return self._tokens(list(longer))

    def _cut(self, text: str) -> int | None:
        if not self._splits or len(text) < _LAST:
            return None
        start = len(text) - _LAST
        found = [match.start() for match in _BETWEEN_WORDS.finditer(text, start, len(text) - _BEHIND)]
        return found[-1] if found else None

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        if not texts:
            return []
        tokens: list[list[int]] = self._tokenizer(texts, add_special_tokens=False)["input_ids"]
        return tokens


def _splits_at_spaces(tokenizer: Any) -> bool:
    """Return whether a tokenizer divides texts at spaces before it makes tokens."""
    splitter = getattr(getattr(tokenizer, "backend_tokenizer", None), "pre_tokenizer", None)
    if splitter is None:
        return False
    parts = splitter.pre_tokenize_str(_PROBE)
    return len(parts) == 2 and parts[1][1][0] in {3, 4}
