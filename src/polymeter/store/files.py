"""Writing the small files of a run folder whole. Large append-only data belongs in the journal, not here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polymeter.core.files import replacing

__all__ = ["replacing", "write_json", "write_text"]


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole. NaN and infinities are kept as Python writes them."""
    with replacing(path) as file:
        json.dump(value, file, indent=2, ensure_ascii=False)
        file.write("\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with replacing(path) as file:
        file.write(text)
