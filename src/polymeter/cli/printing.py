"""Printing text that others wrote (names of tasks, messages of guests and servers): it cannot control the terminal, and
holds no key.
"""

from __future__ import annotations

import re
from typing import Any

import typer

from polymeter.core.text.json_text import json_text
from polymeter.core.text.secrets import scrubbed

_UNSEEN = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def say(text: str, *, err: bool = False) -> None:
    """Print a text without control characters, direction overrides and known secrets; line breaks and tabs stay."""
    from polymeter.report.formatting import clean

    typer.echo(clean(scrubbed(text)), err=err)


def as_json(value: Any) -> str:
    """Plain data as indented JSON that says the same and controls no terminal: JSON itself escapes only some of the
    characters that do.
    """
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text(value, indent=2))
