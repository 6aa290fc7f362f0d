"""Numbers in a report of EvalScope's, of either generation, by where they stand."""

from __future__ import annotations

from typing import Any


def note_metric(metric: dict[str, Any], place: str, scores: dict[str, Any], counts: dict[str, Any]) -> None:
    """Note the scores and counts of a metric, its categories and their subsets.

    Args:
        metric: The metric, as plain data.
        place: Its name.
        scores: Gets the scores.
        counts: Gets the numbers of samples.
    """
    _note(metric, place, scores, counts)
    for category in metric["categories"]:
        name = category["name"]
        inner = f"{place}, {'/'.join(name) if isinstance(name, list) else name}"
        _note(category, inner, scores, counts)
        for subset in category["subsets"]:
            _note(subset, f"{inner}, {subset['name']}", scores, counts)


def _note(node: dict[str, Any], place: str, scores: dict[str, Any], counts: dict[str, Any]) -> None:
    scores[place] = node["score"]
    counts[f"num {place}"] = node["num"]
    if "macro_score" in node:
        scores[f"{place} (macro)"] = node["macro_score"]
