"""``--parity``, for the commands that score again or show prompts."""

from __future__ import annotations

from typing import Annotated

import typer

Parity = Annotated[
    str | None,
    typer.Option(
        "--parity",
        help="Where Polymeter differs from another system on purpose, take that system's values; none: its own.",
        metavar="SYSTEM",
        show_default=False,
    ),
]
