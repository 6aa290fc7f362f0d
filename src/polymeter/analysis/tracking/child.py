"""Tracking in a separate process, which a training run starts: ``python -m polymeter.analysis.tracking.child``.

It reads the arguments of ``track`` as JSON from stdin, and writes the curve's document into the file named there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from polymeter.analysis.tracking.tracking import WaitClock, track
from polymeter.core.errors import PolymeterError
from polymeter.core.text.secrets import hide_secrets
from polymeter.store.folder import write_json

ANSWER = "answer"
"""The entry that names the file for the document."""


def main() -> int:
    """Track with the arguments from stdin. Return the exit code of the curve, or 2 with a message."""
    asked: dict[str, Any] = json.load(sys.stdin)
    answer = Path(asked.pop(ANSWER))
    try:
        curve = track(waiting=WaitClock(settle_s=0), **asked)
    except PolymeterError as error:
        where = f" [{error.where}]" if error.where else ""
        hint = f" {error.hint}" if error.hint else ""
        sys.stderr.write(hide_secrets(f"{error.what}{where}{hint}") + "\n")
        return 2
    write_json(answer, curve.document())
    return curve.exit_code


if __name__ == "__main__":
    sys.exit(main())
