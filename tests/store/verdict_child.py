"""Gives verdicts on a run: ``FOLDER NAME COUNT``. It begins when its input ends. Used by ``test_verdicts``."""

from __future__ import annotations

import sys
from pathlib import Path

from polymeter.store.verdicts import HumanVerdict, give_verdict

if __name__ == "__main__":
    run, name, number = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.read()
    for index in range(int(number)):
        give_verdict(Path(run), HumanVerdict("", "capitals", f"{name}-{index}", "score", {"acc": 1.0}, by=name))
