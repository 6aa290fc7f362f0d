"""Tables of Markdown, for pages that are made from records of the code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as GitHub and the site read it; pipes in cells are escaped. No spaces fill the cells: a count of
    the words of a page counts no pipes.
    """
    lines = [f"|{'|'.join(head)}|", f"|{'---|' * len(head)}"]
    lines += [f"|{'|'.join(cell.replace('|', chr(92) + '|') for cell in row)}|" for row in rows]
    return "\n".join(lines) + "\n"
