"""Naive second implementations of metrics, written from the papers, that the tests compare with ours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any


def cider(values: Sequence[Any]) -> float:
    """CIDEr-D of captions whose words are separated by spaces: equations 1 to 4 of Vedantam et al. 2015, with the
    clipping and the penalty of section 4 and the constants of the authors' code.
    """
    samples = [([refs] if isinstance(refs, str) else list(refs), answer) for refs, answer in values]

    def grams(text: str, n: int) -> list[tuple[str, ...]]:
        words = text.split()
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    def weight(gram: tuple[str, ...], text: str) -> float:
        n_with = sum(any(gram in grams(ref, len(gram)) for ref in refs) for refs, _ in samples)
        return grams(text, len(gram)).count(gram) * (math.log(len(samples)) - math.log(max(n_with, 1)))

    def norm(text: str, n: int) -> float:
        return math.sqrt(sum(weight(gram, text) ** 2 for gram in set(grams(text, n))))

    def similarity(answer: str, ref: str, n: int) -> float:
        below = norm(answer, n) * norm(ref, n)
        shared = set(grams(answer, n)) & set(grams(ref, n))
        above = sum(min(weight(gram, answer), weight(gram, ref)) * weight(gram, ref) for gram in shared)
        penalty = math.exp(-((len(grams(answer, 2)) - len(grams(ref, 2))) ** 2) / (2 * 6**2))
        return penalty * above / below if below else 0.0

    scores = [
        10 * sum(similarity(answer, ref, n) for n in (1, 2, 3, 4) for ref in refs) / 4 / len(refs)
        for refs, answer in samples
    ]
    return sum(scores) / len(scores)


Tree = tuple[str, tuple[Any, ...]]


def tree_distance(first: Tree, second: Tree) -> int:
    """The edit distance of ordered trees with unit costs, by the recursion over forests that defines it."""

    @cache
    def size(forest: tuple[Tree, ...]) -> int:
        return sum(1 + size(children) for _, children in forest)

    @cache
    def distance(one: tuple[Tree, ...], other: tuple[Tree, ...]) -> int:
        if not one or not other:
            return size(one) + size(other)
        (name, children), (other_name, other_children) = one[-1], other[-1]
        return min(
            distance(one[:-1] + children, other) + 1,
            distance(one, other[:-1] + other_children) + 1,
            distance(one[:-1], other[:-1]) + distance(children, other_children) + (name != other_name),
        )

    return distance((first,), (second,))
