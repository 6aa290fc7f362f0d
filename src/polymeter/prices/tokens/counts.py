"""Counts of tokens that are not known exactly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The tokens of something that has not been sent yet. Two of them can be added.

    Attributes:
        expected: The likely number.
        low: The lower end of the range in which the number lies if the rule is right.
        high: The upper end of that range.
        upper: A number that is never exceeded, for reservations. It is far above ``high``.
        assumed: The kinds of content (``image``, ``video``, ``audio``) for which ``upper`` rests on an assumption,
            because no rule of the provider is known.
    """

    expected: float = 0.0
    low: float = 0.0
    high: float = 0.0
    upper: int = 0
    assumed: frozenset[str] = frozenset()

    def __add__(self, other: TokenCount) -> TokenCount:
        return TokenCount(
            self.expected + other.expected,
            self.low + other.low,
            self.high + other.high,
            self.upper + other.upper,
            self.assumed | other.assumed,
        )

    def times(self, n: int) -> TokenCount:
        """The tokens of ``n`` of these."""
        return TokenCount(self.expected * n, self.low * n, self.high * n, self.upper * n, self.assumed if n else _NONE)

    def but_assumed(self, kind: str) -> TokenCount:
        """The same, with an upper bound that rests on an assumption."""
        return TokenCount(self.expected, self.low, self.high, self.upper, self.assumed | {kind})

    @classmethod
    def exactly(cls, n: int) -> TokenCount:
        """A number that is known."""
        return cls(n, n, n, n)


_NONE: frozenset[str] = frozenset()
