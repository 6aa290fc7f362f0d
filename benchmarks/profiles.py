"""Where the time of three workloads goes, by py-spy, which must be on the path: ``pip install py-spy``.

Usage: ``python -m benchmarks.profiles``. Each workload is a whole process. A sample counts for the innermost module of
Polymeter on its stack, and for imports if one is under way. Threads that wait count for nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks import data, endpoint

_RATE_HZ = 250
_MOST = 12
_IMPORTS = ("<frozen importlib", "_find_and_load")
_WAITS = re.compile(r"(\w+\.)?(wait|select|get|acquire|join) \((threading|selectors|queue)\.py:\d+\)$")
"""py-spy takes a thread that has just been woken, and waits for the interpreter's lock, for one that runs."""
_MODULE = re.compile(r"\(polymeter/(\S+\.py):|polymeter/(\S+?\.py)")


def main() -> None:
    """Print the profile of each workload.

    Raises:
        SystemExit: if py-spy is not there.
    """
    if shutil.which("py-spy") is None:
        raise SystemExit("py-spy is not on the path. Call: pip install py-spy")
    os.environ.update(HF_HUB_OFFLINE="1")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else every process compiles what it imports
    with tempfile.TemporaryDirectory(prefix="polymeter-profiles-") as made:
        folder = Path(made)
        os.environ.update(POLYMETER_CACHE_DIR=str(folder / "cache"), HF_HOME=str(folder / "hf"))
        for name, command in _workloads(folder):
            subprocess.run(command, check=True, capture_output=True)  # fills caches
            shutil.rmtree(folder / "run")
            _print(name, _profiled(command, folder / "profile"))
            shutil.rmtree(folder / "run")


def _workloads(folder: Path) -> Iterator[tuple[str, list[str]]]:
    hooks = data.hooks_task(folder / "hooks", 20_000) / "bench_hooks.yaml"
    yield "20,000 text rows with Python hooks", _run(folder, "mock", hooks)
    images = data.image_task(folder / "images", 2_000) / "bench_images.yaml"
    yield "2,000 rows with a 640x480 JPEG each, decoded", _run(folder, "mock", images)
    text = data.text_task(folder / "text", endpoint.N_REQUESTS) / "bench_text.yaml"
    with endpoint.fault_server(*endpoint.CALM) as url:
        asked = _run(folder, "openai:fault", text, "--base-url", url, "--concurrency", "64")
        yield "2,000 requests to an endpoint, 100 ms each, 64 at a time", asked


def _run(folder: Path, model: str, task: Path, *words: str) -> list[str]:
    command = [sys.executable, "-m", "polymeter", "run", "--model", model, "--tasks", str(task), *words]
    return [*command, "--output", str(folder / "run"), "--quiet"]


def _profiled(command: list[str], raw: Path) -> dict[str, float]:
    """Seconds of running threads by module."""
    spy = ["py-spy", "record", "--rate", str(_RATE_HZ), "--format", "raw", "--output", str(raw), "--", *command]
    subprocess.run(spy, check=True, capture_output=True)
    seconds: dict[str, float] = defaultdict(float)
    for line in raw.read_text(encoding="utf-8").splitlines():
        stack, _, n = line.rpartition(" ")
        if not _WAITS.search(stack):
            seconds[_label(stack)] += int(n) / _RATE_HZ
    return seconds


def _label(stack: str) -> str:
    if any(word in stack for word in _IMPORTS):
        return "imports"
    named = [found[1] or found[2] for found in _MODULE.finditer(stack)]
    return named[-1] if named else "other"


def _print(name: str, seconds: dict[str, float]) -> None:
    total = sum(seconds.values())
    print(f"{name}: {total:.1f} s of running threads")
    for label, spent in sorted(seconds.items(), key=lambda item: -item[1])[:_MOST]:
        print(f"  {100 * spent / total:5.1f} %  {label}")


if __name__ == "__main__":
    main()
