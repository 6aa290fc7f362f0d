"""The flag for the verdicts of people, which several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Verdicts = Annotated[
    bool,
    typer.Option(
        "--verdicts",
        help="Use the verdicts that people gave in 'polymeter view': their scores and labels count, and samples that "
        "they excluded do not.",
    ),
]
