"""The YAML at the head of a dataset card (``README.md``), which ``datasets`` reads when it opens a local folder."""

from __future__ import annotations

from pathlib import Path

from polymeter.core.text.yaml_text import parse_yaml, text_of

_CARD = "README.md"
_FENCE = "---"


def check_card(folder: Path) -> None:
    """Look at the head of a folder's card before ``datasets`` does, which would expand all that it stands for.

    Raises:
        PlanError: if it is not YAML, or stands for more than a machine holds.
    """
    card = folder / _CARD
    if not card.is_file():
        return
    lines = text_of(card, what="dataset card").split("\n")
    if lines[0].rstrip() != _FENCE:
        return
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
    if end is not None:
        parse_yaml("\n".join(["", *lines[1:end]]), where=str(card))  # an empty line keeps the numbers
