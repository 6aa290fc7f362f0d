"""The samples of a task as a script that its lists load, for a search, filters and orders over all of their pages.

It is a script and not a JSON file because browsers load no other data from a folder of files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polymeter.report.run.extract import script_json
from polymeter.viewer.browsing import Browsed
from polymeter.viewer.bundle.private import Private
from polymeter.viewer.filters import STATES, Filters, select
from polymeter.viewer.sample_index import FIELD, NONE, SCORE, SampleIndex

FILE = "samples.js"
_ROW = re.compile(r"<li>\s*<a class=\"row\".*?</li>", re.S)
_SEARCHED = ("id", "file", "prompt", "answer", "target")
_LONGEST = 1_000
"""The characters of each text that are searched."""
_MOST_VALUES = 60
_MOST_FIELDS = 6


def rows_of(page: str) -> list[str]:
    """Return the rows in a page of a list."""
    return _ROW.findall(page)


def samples_script(own: Browsed, rows: Sequence[str], private: Private) -> str:
    """Return the script with the data of a list's samples.

    Args:
        own: Their task, without filters.
        rows: Their rows in the order of the dataset; of these samples, and no others, the script has data.
        private: What a bundle leaves out.
    """
    index = own.found.index
    n = 0 if index is None else min(len(rows), index.n)
    data: dict[str, Any] = {"rows": rows[:n]}
    if index is not None and n:
        data |= {
            "texts": _texts(index, n, private),
            "states": {state: _places(own, index, state, n) for state in STATES},
            "choices": _choices(index, n, private.hidden),
            "metrics": {
                private.hidden(name): {
                    "values": [
                        None if math.isnan(value) else value for value in index.column(SCORE + name)[:n].tolist()
                    ],
                    "isLower": name in own.axes and own.axes[name].is_lower_better is True,
                }
                for name in index.metrics
            },
        }
    return f"window.SAMPLES = {script_json(data)};\n"


def _texts(index: SampleIndex, n: int, private: Private) -> list[str]:
    # Private texts are removed before a cut leaves a part of one.
    columns = [
        [
            private.hidden_in_lower(str(text or "").lower())[:_LONGEST]
            for text in index.texts(name).slice(0, n).to_pylist()
        ]
        for name in _SEARCHED
        if name != "file" or index.has_files
    ]
    return ["\n".join(texts) for texts in zip(*columns, strict=True)]


def _places(own: Browsed, index: SampleIndex, state: str, n: int) -> list[int]:
    found = select(index, Filters.of_query([("state", state)]), own.main).positions
    return sorted(int(place) for place in found if place < n)


def _choices(index: SampleIndex, n: int, hidden: Callable[[str], str]) -> dict[str, dict[str, Any]]:
    """Subsets and categories, each with its values and the place of each sample's value in them; -1: none."""
    columns = {"Subset": (index.column("subset"), index.subsets)} if len(index.subsets) > 1 else {}
    columns |= {name: (index.column(FIELD + name), values) for name, values in index.fields.items()}
    few = {name: pair for name, pair in columns.items() if 2 <= len(pair[1]) <= _MOST_VALUES}
    return {
        hidden(name): {
            "values": [hidden(str(value)) for value in values],
            "places": np.where(codes[:n] == NONE, -1, codes[:n]).tolist(),
        }
        for name, (codes, values) in [*few.items()][:_MOST_FIELDS]
    }
