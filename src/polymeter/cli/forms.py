"""In which form a command prints its tables, for commands that have several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]
_PIPED = 100
"""The width of tables that no terminal shows: every column fits."""


class OutputForm(str, Enum):
    """Forms of printed output."""

    text = "text"
    json = "json"
    markdown = "markdown"
    csv = "csv"
    latex = "latex"


def print_document(
    document: Document,
    form: OutputForm,
    *,
    text: Callable[[Console, Document], None],
    markdown: Callable[[Document], str],
    csv: Callable[[Document], str],
    latex: Callable[[Document], str],
) -> None:
    """Print a document in a form.

    Args:
        document: What to print.
        form: The form.
        text: Prints it as text.
        markdown: Makes it Markdown.
        csv: Makes it CSV.
        latex: Makes it LaTeX.
    """
    from polymeter.cli.printing import as_json, say

    if form is OutputForm.json:
        typer.echo(as_json(document))
    elif form is OutputForm.text:
        from rich.console import Console

        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = max(console.width, _PIPED)
        text(console, document)
    else:
        make = {OutputForm.markdown: markdown, OutputForm.csv: csv, OutputForm.latex: latex}[form]
        say(make(document).rstrip("\n"))


def words(text: str) -> list[str]:
    """A list of names, separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]
