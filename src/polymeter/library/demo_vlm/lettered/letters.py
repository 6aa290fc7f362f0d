"""Scoring of the lettered options.

It stands apart from ``utils.py``, whose bytes are part of what identifies the images that the other tasks show: a
change there would make their unfinished runs ask again.
"""

from __future__ import annotations

from typing import Any

from polymeter.extend import read_choice

Doc = dict[str, Any]


def process_letter(doc: Doc, results: list[str]) -> dict[str, float]:
    """Score the option that the answer chooses, by its letter or its text."""
    chosen = read_choice(results[0], doc["choices"])
    return {"acc": float(chosen is not None and "ABCD"[chosen] == doc["letter"])}
