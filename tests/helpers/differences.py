"""Tests of differences from other systems: each measures one switch both ways."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.core.names.parity import difference_tables
from polymeter.core.names.systems import systems


def difference(switch: str, *, here: Any, there: Any) -> Any:
    """A test of one switch, run without and with parity.

    The test gets ``parity``, which it passes on as the option of that name (``parity_with`` makes the object of it),
    and ``expected``: ``here`` without parity, ``there`` with it.
    """
    owner = next((system for system in systems() if switch in _switches(system)), None)
    name = owner.parity_name if owner else ""

    def mark(test: Any) -> Any:
        both = pytest.mark.parametrize(("parity", "expected"), [("none", here), (name, there)], ids=["here", "there"])
        return both(test) if owner else pytest.mark.skip(reason=f"no system has the switch {switch!r}")(both(test))

    return mark


def _switches(system: Any) -> set[str]:
    rows = (row for table in difference_tables(system) for row in table.rows)
    return {str(row.switch) for row in rows if row.is_switched}
