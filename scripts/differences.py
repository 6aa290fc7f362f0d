"""Make the tables of ``docs/differences.md`` from the records of the systems: ``python -m scripts.differences``.

The prose of the page stays as it is. Each table stands between two comments, the first of which names its system and
heading; ``--check`` changes nothing and exits with 1 if the page is not up to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from polymeter.core.errors import PlanError
from polymeter.core.names.parity import DifferenceTable, difference_tables
from polymeter.core.names.systems import systems

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
_TABLE = re.compile(r"<!-- table (?P<system>\w+): (?P<heading>.+?) -->\n.*?<!-- end -->", re.S)
_HEAD = "| rule | there | here | why | `--parity` |\n|---|---|---|---|---|"


def page_with_tables(page: str) -> str:
    """The page with every table as the records have it.

    Raises:
        PlanError: if a system has a table that the page does not show, or the page shows one that no system has.
    """
    tables = {(system.name, table.heading): table for system in systems() for table in difference_tables(system)}
    shown = {(match["system"], match["heading"]) for match in _TABLE.finditer(page)}
    for system, heading in tables.keys() ^ shown:
        raise PlanError(f"Only one of the page and the records has the table {heading!r} of {system!r}.")
    return _TABLE.sub(lambda match: _drawn(match, tables[match["system"], match["heading"]]), page)


def _drawn(match: re.Match[str], table: DifferenceTable) -> str:
    rows = []
    for row in table.rows:
        switch = f"`{row.switch}`" if row.is_switched else str(row.switch)
        rows.append(f"| {row.rule} | {row.there} | {row.here} | {row.why} | {switch} |")
    start = f"<!-- table {match['system']}: {match['heading']} -->"
    return "\n".join([start, "", _HEAD, *rows, "", "<!-- end -->"])


def main() -> int:
    """Write the page, or check it."""
    before = PAGE.read_text("utf-8")
    after = page_with_tables(before)
    if "--check" in sys.argv[1:]:
        return int(before != after)
    PAGE.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
