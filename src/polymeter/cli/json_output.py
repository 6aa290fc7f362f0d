"""``--json``: one JSON document on stdout and nothing else there. ``docs/json.md`` describes the documents.

All other output meanwhile (progress, notes, what a benchmark's own code prints, also in processes that it
starts) goes to stderr. A command that ends with a message instead of a result, as usage errors do, prints no document.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Annotated, Any

import typer

from polymeter.cli.printing import as_json

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
        kind: What it is of, such as ``run`` or ``tasks``; docs/json.md has all of them.
        content: Its further entries, as plain data.
    """
    typer.echo(as_json({"schema_version": SCHEMA_VERSION, "kind": kind, **content}))
