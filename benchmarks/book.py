"""What was measured: a line for people as it goes, and all raw numbers with the machine's facts in a file."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("aiohttp", "datasets", "numpy", "pandas", "pillow", "pyarrow")


class Book:
    """Lines and their raw numbers."""

    def __init__(self) -> None:
        self._lines: list[dict[str, Any]] = []

    def line(
        self,
        what: str,
        measured: str,
        budget: str = "",
        runs: Sequence[Measured] = (),
        seconds: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Print one line, and keep it with the processes, or the seconds of each way, that it was computed from."""
        told = f"  {what:<38} {measured:<66}" + (f" budget: {budget}" if budget else "")
        print(told.rstrip(), flush=True)
        line = {"what": what, "measured": measured, "budget": budget, "runs": [asdict(run) for run in runs]}
        self._lines.append(line if seconds is None else {**line, "seconds": seconds})

    def take(self, file: Path) -> None:
        """Take over the lines that another process has saved and printed."""
        self._lines += json.loads(file.read_text(encoding="utf-8"))["lines"]

    def save(self, file: Path) -> None:
        """Write all lines, with the machine that they were measured on."""
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"machine": machine(), "lines": self._lines}, indent=1)
        file.write_text(text + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """What the numbers of a machine depend on."""
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": commit.stdout.strip(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30),
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.is_file() else []
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
