"""A folder of runs of several kinds, and a viewer over it in a process of its own, for tests in a browser."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from polymeter.core.request import Output, Request, Response
from tests.helpers.viewed_runs import hostile_sample, sample, write_run

SECOND = "second"


def paint(request: Request) -> Response:
    """An image of one colour."""
    from PIL import Image

    return Response((Output(images=(Image.new("RGB", (256, 256), "teal"),)),))


def write_viewed_runs(folder: Path) -> Path:
    """Write runs that can be compared, one with failures, hostile texts or edited images, and an unfinished one."""
    import polymeter
    from polymeter.models.mock import MockBatch

    write_run(folder / "first", [sample(n, right=n % 4 != 0) for n in range(120)], model="small")
    write_run(folder / SECOND, [sample(n, right=n % 3 != 0) for n in range(120)], model="large")
    failing = [sample(n, right=bool(n % 2), status=("ok", "error", "unscored")[min(n % 7, 2)]) for n in range(30)]
    write_run(folder / "failing", failing, model="broken")
    write_run(folder / "hostile", [hostile_sample(n) for n in range(3)], model="<script>window.hacked=9</script>")
    write_run(folder / "going", [sample(n) for n in range(10)], status="running", n_planned=40)
    painter = MockBatch(paint, identity={"backend": "mock", "name": "painter"})
    polymeter.evaluate(painter, ["demo_edit"], output=folder / "drawn", limit=4)
    return folder


@contextmanager
def serving(*words: str | Path) -> Iterator[str]:
    """The address of a viewer in a process of its own."""
    command = [sys.executable, "-m", "polymeter", "view", *map(str, words), "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield re.search(r"http://\S+", line)[0].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        process.stdout.close()
