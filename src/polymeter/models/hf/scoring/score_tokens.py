"""The border between context and continuation, in tokens: pure code, no tensors.

A tokenizer may join the last characters of a context with the first of a continuation, so the two are tokenized
together and never apart. The common beginning of all joint sequences of one request is its shared prefix, computed
once. The rest of each sequence is that continuation's tail.

The convention of scoring is that of language-model evaluation harnesses: a continuation's tokens are those of the joint
sequence beyond the length of the context's own tokens, and white space at the end of a context counts as the beginning
of the continuation ("Answer: " + "B" is scored as "Answer:" + " B").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tail:
    """The tokens that one continuation adds to the shared prefix.

    Attributes:
        tokens: Tokens after the prefix; empty only for an empty continuation.
        n_context: How many of the first of them belong to the context: they are read, not scored.
    """

    tokens: tuple[int, ...]
    n_context: int = 0

    @property
    def n_scored(self) -> int:
        """The number of scored tokens."""
        return len(self.tokens) - self.n_context


@dataclass(frozen=True, slots=True)
class Split:
    """One request in tokens.

    Attributes:
        n_context: Tokens of the context as it was encoded, expanded media left out.
        n_dropped: How many tokens at the end of the encoded context are not shared and stand in the tails instead.
        tails: One for each continuation.
    """

    n_context: int
    n_dropped: int
    tails: tuple[Tail, ...]


def move_white_space(context: str, *, is_templated: bool) -> tuple[str, str]:
    """A context without the white space at its end, and that white space, which belongs to the continuations.

    A chat template's own line break at the end stays where the template put it: only spaces move.
    """
    kept = context.rstrip(" ") if is_templated else context.rstrip()
    return kept, context[len(kept) :]


def split(encoded: Sequence[int], context: Sequence[int], joints: Sequence[Sequence[int]]) -> Split:
    """Find what a request's joint sequences share.

    Args:
        encoded: Tokens of the context as it was encoded for the model, before media are expanded.
        context: Tokens of the context without the white space at its end; often equal to ``encoded``.
        joints: For each continuation the tokens of context and continuation together; equal to ``encoded`` for an
            empty continuation.
    """
    shared = min([len(context), *(_common(encoded, joint) for joint in joints)])
    tails = tuple(_tail(encoded, context, joint, shared) for joint in joints)
    return Split(len(encoded), len(encoded) - shared, tails)


def _tail(encoded: Sequence[int], context: Sequence[int], joint: Sequence[int], shared: int) -> Tail:
    if list(joint) == list(encoded):
        return Tail(())
    start = len(context)
    if len(joint) <= start:  # the continuation went into the context's last token: that token is scored
        start = min(_common(context, joint), len(joint) - 1)
    return Tail(tuple(joint[shared:]), max(0, start - shared))


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common beginning."""
    shorter = min(len(first), len(second))
    if list(first[:shorter]) == list(second[:shorter]):
        return shorter
    return next(position for position in range(shorter) if first[position] != second[position])
