"""Edit distance of ordered trees by the algorithm of Zhang and Shasha (1989, SIAM Journal on Computing 18(6))."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar


class TreeNode(Protocol):
    """A node of an ordered tree."""

    @property
    def children(self) -> Sequence[TreeNode]:
        """The children, from left to right."""


N = TypeVar("N", bound=TreeNode)


def tree_distance(first: N, second: N, renamed: Callable[[N, N], float]) -> float:
    """Compute the smallest cost of edits that turn one tree into another. Deletion and insertion of a node cost 1; the
    children of a deleted node take its place.

    ``d(i, j)`` of two subtrees follows from the distances of forests, which are computed once for each pair of key
    roots: nodes with a left sibling, and the root. This needs ``O(|first| · |second| · depth · depth)`` time at most,
    and space for all pairs of nodes.

    Args:
        first: The root of a tree.
        second: The root of another.
        renamed: The cost of changing one node into another.
    """
    nodes, leftmost = _postorder(first)
    others, other_leftmost = _postorder(second)
    of_trees = [[0.0] * len(others) for _ in nodes]
    for i in _key_roots(leftmost):
        for j in _key_roots(other_leftmost):
            _fill(of_trees, (nodes, leftmost, i), (others, other_leftmost, j), renamed)
    return of_trees[-1][-1]


_Side = tuple["list[N]", "list[int]", int]
"""Nodes in postorder, the place of the leftmost leaf below each, and the place of a key root."""


def _fill(of_trees: list[list[float]], first: _Side[N], second: _Side[N], renamed: Callable[[N, N], float]) -> None:
    """Compute the distances of all pairs of subtrees whose leftmost leaves are those of two key roots.

    ``row[y]`` is the distance of the forests from those leaves up to the current node and to node ``y``.
    """
    nodes, leftmost, i = first
    others, other_leftmost, j = second
    begin, other_begin = leftmost[i], other_leftmost[j]
    rows = [[float(count) for count in range(j - other_begin + 2)]]
    for x in range(begin, i + 1):
        above, last = rows[-1], float(x - begin + 1)
        row = [last]
        is_whole, distances, before = leftmost[x] == begin, of_trees[x], rows[leftmost[x] - begin]
        for place in range(j - other_begin + 1):
            y = other_begin + place
            other_leaf = other_leftmost[y] - other_begin
            # Comparisons, not min(): tables of hundreds of cells have millions of pairs of forests.
            last = last + 1 if last < above[place + 1] else above[place + 1] + 1
            if is_whole and not other_leaf:
                changed = above[place] + renamed(nodes[x], others[y])
                distances[y] = last = changed if changed < last else last
            else:
                moved = before[other_leaf] + distances[y]
                last = moved if moved < last else last
            row.append(last)
        rows.append(row)


def _postorder(root: N) -> tuple[list[N], list[int]]:
    """Return the nodes of a tree, children before their parent, and the place of the leftmost leaf below each."""
    nodes: list[N] = []
    leftmost: list[int] = []
    waiting: list[tuple[N, int | None]] = [(root, None)]
    while waiting:
        node, begin = waiting.pop()
        if begin is None:
            # Until the node itself is placed, the next place is that of its leftmost leaf.
            waiting.append((node, len(nodes)))
            waiting += [(child, None) for child in reversed(node.children)]  # type: ignore[misc]
        else:
            nodes.append(node)
            leftmost.append(begin)
    return nodes, leftmost


def _key_roots(leftmost: list[int]) -> list[int]:
    """Return the places of the highest nodes with each leftmost leaf, in their order."""
    return sorted({leaf: place for place, leaf in enumerate(leftmost)}.values())
