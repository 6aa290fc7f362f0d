"""Which dataset class a table in the folder of tables was fetched for. Such a table has columns that make a benchmark
without code as well, but by its class it measures something else.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from polymeter.core.files import replacing
from polymeter.core.secrets import hide_secrets

_ENDING = ".origin.json"


def note_origin(table: Path, owner: str, url: str) -> None:
    """Write down beside a table for which class it was fetched, and from where."""
    found = {"class": owner, "url": hide_secrets(url), "bytes": table.stat().st_size}
    with suppress(OSError), replacing(_beside(table)) as file:
        json.dump(found, file, ensure_ascii=False)


def origin_of(table: Path) -> str | None:
    """The class that a table was fetched for; ``None`` where it was not, or another has taken its place since."""
    try:
        found = json.loads(_beside(table).read_text(encoding="utf-8"))
        return str(found["class"]) if found["bytes"] == table.stat().st_size else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _beside(table: Path) -> Path:
    return table.with_name(f"{table.name}{_ENDING}")
