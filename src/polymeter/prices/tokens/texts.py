"""The tokens of text: by the model's own tokenizer if it is on this machine, else by the number of its characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from polymeter.prices.tokens.counts import TokenCount

# Characters per token, with the range of usual tokenizers and texts. OpenAI and Google both state about four for
# English; code, numbers and tables need more tokens, plain prose fewer. Other alphabets have between one and three
# characters a token, Chinese, Japanese and Korean about one.
_LATIN = (4.0, 5.5, 2.2)
_OTHER = (2.2, 4.0, 0.9)
_IDEOGRAM = (1.3, 2.2, 0.5)
_IDEOGRAMS = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
_OTHERS = re.compile("[^\\x00-\u024f]")

_PER_MESSAGE = TokenCount(4, 3, 8, 32)
"""The tokens around a message. OpenAI states three for each; templates of open models have about five. A role's name
and two marks of any template stay far below the bound.
"""
_PER_REQUEST = TokenCount(3, 0, 40, 512)
"""The tokens around a conversation: the opening of the answer, and the system prompt that a template adds if there is
none (Llama 3 writes dates, gpt-oss about a hundred tokens).
"""
_DUMMY_PREFIX = 1
"""SentencePiece puts a blank before a text, which may be a token of its own."""


@dataclass(frozen=True, slots=True)
class TextRule:
    """The way in which the tokens of text are counted.

    Attributes:
        count: The model's own tokenizer; ``None``: it is not on this machine.
        factor: The measured tokens of the model divided by those that characters suggest; ``None``: not measured.
        spread: The relative half width of ``factor`` and ``template``.
        template: The measured tokens around the text of a request; ``None``: not measured.
    """

    count: Callable[[str], int | None] | None = None
    factor: float | None = None
    spread: float = 0.15
    template: float | None = None

    def of(self, text: str) -> TokenCount:
        """The tokens of a text.

        ``upper`` holds for every usual tokenizer. One that reads bytes (GPT, Llama 3, Qwen) gives each token at least
        one byte. One that reads characters and falls back to bytes (SentencePiece) gives each token at least one
        character or byte, of the text as it is or in the compatibility form (NFKC), which may be longer, and a blank
        before it.
        """
        if not text:
            return TokenCount()
        upper = _most(text)
        known = None if self.count is None else self.count(text)
        if known is not None:
            return TokenCount(known, known, known, max(upper, known))
        n_ideograms = n_others = 0
        if not text.isascii():
            n_ideograms = len(_IDEOGRAMS.findall(text))
            n_others = len(_OTHERS.findall(text)) - n_ideograms
        n_latin = len(text) - n_ideograms - n_others
        expected, low, high = (
            n_latin / latin + n_others / other + n_ideograms / ideogram
            for latin, other, ideogram in zip(_LATIN, _OTHER, _IDEOGRAM, strict=True)
        )
        if self.factor is not None:
            expected *= self.factor
            low, high = expected * (1 - self.spread), expected * (1 + self.spread)
        return TokenCount(min(expected, upper), min(low, upper), min(high, upper), upper)


def around(n_messages: int, rule: TextRule) -> TokenCount:
    """The tokens that a chat template adds to some messages."""
    usual = _PER_MESSAGE.times(n_messages) + _PER_REQUEST
    if rule.template is None:
        return usual
    expected = min(rule.template, usual.upper)
    return TokenCount(
        expected, expected * (1 - rule.spread), min(expected * (1 + rule.spread), usual.upper), usual.upper
    )


def _most(text: str) -> int:
    n_bytes = _n_bytes(text)
    if not text.isascii():
        n_bytes = max(n_bytes, _n_bytes(unicodedata.normalize("NFKC", text)))
    return n_bytes + _DUMMY_PREFIX


def _n_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
