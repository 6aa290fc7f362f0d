"""A model whose answers are computed from the text that it is shown: the same in both tools, without weights.

Log-probabilities depend on every character of context and continuation, so that one that differs shows in the values.
"""

from __future__ import annotations

from zlib import crc32


def likelihood(context: str, continuation: str) -> tuple[float, bool]:
    """The log-probability of a continuation, and whether it is the likeliest."""
    number = crc32(f"{context}\x00{continuation}".encode())
    return -0.25 - number % 997 / 64, number % 3 == 0


def rolling(text: str) -> float:
    """The log-probability of a whole text."""
    return -0.75 * len(text) - crc32(text.encode()) % 97 / 32


def said(context: str, repeat: int) -> str:
    """The answer to a prompt, another one for each repeat."""
    number = crc32(f"{context}\x00{repeat}".encode()) % 7
    word = max(context.lower().replace("?", " ").split(), key=len, default="nothing")
    return (f"{number}", f"I count {number} of them.\n\nQ: {word}", word, f"{word}, or 3, or {number}!")[number % 4]
