"""Forms of columns: how the cells of a generated column are made."""

from __future__ import annotations

import json
from typing import Any


def one_of(*cells: Any) -> str:
    """A form whose cells are one of several."""
    return f"|{json.dumps(cells)}"


def in_turn(*cells: Any) -> str:
    """A form whose cells are several in turn, by the number of the row."""
    return f"%{json.dumps(cells)}"


def always(cell: Any) -> str:
    """A form whose cells are all the same."""
    return f"={json.dumps(cell)}"
