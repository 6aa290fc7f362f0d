"""The suite against lm-eval: only its logs, since its tasks are the format that the suite of lmms-eval checks."""

from __future__ import annotations

from pathlib import Path

from conformance.frame import python_of
from conformance.logs.checking import check

ENVIRONMENT = ".venv-lm-eval"


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run the suite; whether every number is equal. Rows and weights are the same for every seed."""
    return check("lm-eval", work / "logs", python_of(ENVIRONMENT))
