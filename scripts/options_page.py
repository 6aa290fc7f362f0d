"""Writes the table of options in docs/python.md from the fields of ``RunOptions``.

    python scripts/options_page.py

A test compares the page with the fields, so it fails until this was run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from polymeter.core.options import RunOptions, mark_of

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
_TABLE = re.compile(r"(?<=^## Options\n)(?P<before>.*?)^\|.*?(?=^[^|])", re.M | re.S)


def table() -> str:
    """The table: an option a line, in the order of the fields."""
    return "".join(f"| {' | '.join(row)} |\n" for row in _rows())


def _rows() -> Iterator[tuple[str, ...]]:
    yield "option", "flag", "default", "meaning", "mark"
    yield ("---",) * 5
    flags = RunOptions.flags()
    for name, field in RunOptions.model_fields.items():
        flag = flags.get(name)
        default = field.get_default(call_default_factory=True)
        yield (
            f"`{name}`",
            f"`{flag.names[0].partition('/')[0]}`" if flag else "",
            "" if default is None or default in ("", (), {}) else f"`{default}`",
            (field.description or "").replace("|", "\\|"),
            mark_of(RunOptions, name) or "",
        )


def main() -> None:
    """Write the page."""
    text = PAGE.read_text("utf-8")
    PAGE.write_text(_TABLE.sub(lambda found: found["before"] + table(), text, count=1), "utf-8")


if __name__ == "__main__":
    main()
