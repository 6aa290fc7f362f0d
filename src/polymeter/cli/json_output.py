"""``--json``: one JSON document on stdout and nothing else there. ``docs/json.md`` describes the documents.

Whatever else is printed meanwhile (progress, notes, what a benchmark's own code prints, also in processes that it
starts) goes to stderr. A command that ends with a message instead of a result, as usage errors do, prints no document.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.printing import as_json

if TYPE_CHECKING:
    from polymeter.api import RunResult

SCHEMA_VERSION = 1
_STDOUT, _STDERR = 1, 2

AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON document and nothing else; messages go to stderr.", rich_help_panel="Output"
    ),
]


@contextmanager
def stdout_kept(*, is_json: bool) -> Iterator[None]:
    """Inside this, what is printed to stdout goes to stderr, if stdout is for a document."""
    if not is_json:
        yield
        return
    sys.stdout.flush()
    saved = os.dup(_STDOUT)
    try:
        os.dup2(_STDERR, _STDOUT)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        with suppress(OSError, ValueError):  # of a guest that wrapped the stream; what it holds is not ours
            sys.stdout.flush()
        os.dup2(saved, _STDOUT)
        os.close(saved)


def print_document(kind: str, content: Mapping[str, Any]) -> None:
    """Print the document of a command.

    Args:
        kind: What it is of: ``run``, ``tasks``, ``task``, ``models``, ``model`` or ``check``.
        content: Its further entries, as plain data.
    """
    typer.echo(as_json({"schema_version": SCHEMA_VERSION, "kind": kind, **content}))


def run_document(result: RunResult) -> dict[str, Any]:
    """The outcome of a run: what ``run``, ``resume`` and ``score`` print."""
    folder = result.folder
    return {
        "status": result.status,
        "exit_code": result.exit_code,
        "reason": result.reason,
        "n_failed": result.n_failed,
        "missed": list(result.missed),
        "incomplete": list(result.incomplete),
        "folder": str(folder.path),
        "report": str(result.report) if result.report.exists() else None,
        "results": result.results or None,
    }
