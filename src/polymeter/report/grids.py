"""Tables of ready texts: on a terminal, and as Markdown, LaTeX and CSV. Other modules provide the texts.

Names come from models, tasks and folders: each form escapes what it would interpret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polymeter.report.render import escaped

if TYPE_CHECKING:
    from rich.table import Table

_WIDEST_TEXT = 28
_BETWEEN = 2
_NARROWEST = 8
"""The width that names keep; a terminal that is narrower still breaks the lines, and no number is cut."""
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "<": "$<$",
        "−": "$-$",
    }
)


@dataclass(frozen=True, slots=True)
class Heading:
    """The head of a column.

    Attributes:
        text: Its text.
        is_number: Whether its cells are numbers, which are aligned right and never broken.
        is_wrapped: Whether a long heading is broken on a terminal.
    """

    text: str
    is_number: bool = True
    is_wrapped: bool = False


def terminal_table(
    headings: Sequence[Heading], rows: Sequence[Sequence[str]], styles: Sequence[str] = ()
) -> tuple[Table, int]:
    """A table for a console, and the width that it needs at least.

    Args:
        headings: The heads of its columns.
        rows: The cells of each row.
        styles: The style of each row; default: none.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, heading in enumerate(headings):
        table.add_column(
            Text(heading.text),
            justify="right" if heading.is_number else "left",
            no_wrap=not (heading.is_wrapped or not heading.is_number),
            overflow="fold",
            min_width=_least(heading, [row[place] for row in rows]),
            max_width=None if heading.is_number else _WIDEST_TEXT,
        )
    for row, style in zip(rows, styles or [""] * len(rows), strict=True):
        table.add_row(*(Text(cell, style=style) for cell in row))
    needed = [_least(heading, [row[place] for row in rows]) for place, heading in enumerate(headings)]
    return table, sum(needed) + _BETWEEN * len(needed)


def plain_table(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """The lines of a table's head and of its body, as ``terminal_table`` draws them, for thousands of cells: ``rich``
    takes a second for these.
    """
    from rich.cells import cell_len

    widths = _widths(headings, rows)

    def lines(cells: Sequence[str]) -> Iterator[str]:
        parts = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for number in range(max(map(len, parts))):
            padded = []
            for part, heading, width in zip(parts, headings, widths, strict=True):
                text = part[number] if number < len(part) else ""
                blank = " " * (width - cell_len(text))
                padded.append(blank + text if heading.is_number else text + blank)
            yield " " + (" " * _BETWEEN).join(padded).rstrip()

    head = [*lines([heading.text for heading in headings])]
    rule = " " + "─" * (sum(widths) + _BETWEEN * (len(widths) - 1))
    return [*head, rule], [line for row in rows for line in lines(row)]


def _folded(text: str, width: int) -> list[str]:
    """A text in parts that are at most so wide, broken at blanks where there are some."""
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return [text]
    parts, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if cell_len(longer) <= width:
            line = longer
            continue
        if line:
            parts.append(line)
        line = ""
        for character in word:
            if cell_len(line + character) > width:
                parts.append(line)
                line = ""
            line += character
    return [*parts, line]


def width_of(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> int:
    """The width that columns take in a ``plain_table``."""
    return sum(width + _BETWEEN for width in _widths(headings, rows))


def _widths(headings: Sequence[Heading], rows: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    widths = []
    for place, heading in enumerate(headings):
        cells = max((cell_len(row[place]) for row in rows), default=0)
        head = min(cell_len(heading.text), _WIDEST_TEXT // 2) if heading.is_wrapped else cell_len(heading.text)
        widths.append(max(head, cells) if heading.is_number else min(max(head, cells), _WIDEST_TEXT))
    return widths


def markdown_table(headings: Sequence[Heading], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown, without a line break at its end."""
    lines = [
        [escaped(heading.text) for heading in headings],
        ["--:" if heading.is_number else ":--" for heading in headings],
        *([escaped(cell) for cell in row] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex_table(headings: Sequence[Heading], rows: Iterable[Sequence[str]]) -> str:
    """A table as LaTeX, for the package booktabs, without a line break at its end."""
    return "\n".join(
        [
            f"\\begin{{tabular}}{{{''.join('r' if heading.is_number else 'l' for heading in headings)}}}",
            "\\toprule",
            " & ".join(latex(heading.text) for heading in headings) + r" \\",
            "\\midrule",
            *(" & ".join(latex(cell) for cell in row) + r" \\" for row in rows),
            "\\bottomrule",
            "\\end{tabular}",
        ]
    )


def latex(text: str) -> str:
    """A text with everything escaped that LaTeX would interpret."""
    return text.translate(_LATEX).replace("↑", r"$\uparrow$").replace("↓", r"$\downarrow$")


def _least(heading: Heading, cells: Sequence[str]) -> int:
    """The least width of a column."""
    from rich.cells import cell_len

    is_wrapped = heading.is_wrapped or not heading.is_number
    head = min(cell_len(heading.text), _NARROWEST) if is_wrapped else cell_len(heading.text)
    widths = [cell_len(cell) for cell in cells]
    return max([head, *widths]) if heading.is_number else max(head, min(_NARROWEST, max(widths, default=0)))
