"""TEDS: similarity of tables by the edit distance of their trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polymeter.core.errors import ScoreError
from polymeter.core.metric import Metric
from polymeter.metrics.arguments import check_flag
from polymeter.metrics.bounded import bounded
from polymeter.metrics.references import one_prediction
from polymeter.metrics.tables.html_table import HtmlTable, TableNode, read_table
from polymeter.metrics.tables.tree_edit import tree_distance
from polymeter.reading.text import composed_of


def teds(references: Sequence[Any], predictions: Sequence[Any], structure_only: bool = False) -> float:
    """Compute the tree edit distance similarity to the nearest reference (Zhong et al. 2020, section 5).

    ``1 - distance / max(|T_answer|, |T_reference|)``, where ``|T|`` counts the elements below ``table``. An insertion
    or a deletion costs 1. A substitution costs 1 if tag, ``colspan`` or ``rowspan`` differ; for two cells, it costs the
    Levenshtein distance of their contents over the longer length; else 0. Contents are characters and inner tags.

    The first ``<table>`` of a text counts; an answer without one scores 0. Unlike the authors' code, this counts ``th``
    as ``td`` (their code ignores the text of ``th``) and white space as a page shows it, and never goes below 0.

    Args:
        references: The references, in HTML.
        predictions: The answer, in HTML.
        structure_only: Ignore the contents of cells (TEDS-Struct).

    Raises:
        ScoreError: if a reference has no table.
    """
    answer = str(one_prediction(references, predictions))
    return max(_similarity(str(reference), answer, structure_only) for reference in references)


def check_teds(structure_only: Any = False) -> None:
    """Check the arguments.

    Raises:
        PlanError: if ``structure_only`` is neither true nor false.
    """
    check_flag("teds", "structure_only", structure_only)


@bounded
def _similarity(reference: str, answer: str, structure_only: bool) -> float:
    expected = read_table(composed_of(reference))
    if expected is None:
        raise ScoreError(f"The reference {reference[:80]!r} has no table.", hint="Write <table>…</table> in HTML.")
    actual = read_table(composed_of(answer))
    return 0.0 if actual is None else _of_tables(expected, actual, structure_only)


def _of_tables(expected: HtmlTable, actual: HtmlTable, structure_only: bool) -> float:
    size = max(expected.n_nodes, actual.n_nodes)
    if not size:
        return 1.0
    distance = tree_distance(actual.root, expected.root, _substitution(structure_only=structure_only))
    return max(0.0, 1 - distance / size)


def _substitution(*, structure_only: bool) -> Callable[[TableNode, TableNode], float]:
    """Return the cost of a substitution, computed once for each pair of contents: many cells are equal."""
    from rapidfuzz.distance import Levenshtein

    known: dict[tuple[str, str], float] = {}

    def cost(first: TableNode, second: TableNode) -> float:
        if first.tag != second.tag or first.spans != second.spans:
            return 1.0
        if structure_only or not (first.content or second.content):
            return 0.0
        pair = first.text, second.text
        found = known.get(pair)
        if found is None:
            found = known[pair] = float(Levenshtein.normalized_distance(first.content, second.content))
        return found

    return cost


TEDS = Metric(
    "teds",
    score=teds,
    values={"generate_until": "similarity of HTML tables"},
    bounds=(0.0, 1.0),
    check=check_teds,
    only_computed=True,
)
