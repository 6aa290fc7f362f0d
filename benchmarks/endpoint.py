"""How much of an endpoint's speed Polymeter reaches: 2,000 requests to the fault server in a separate process.

The *window* lasts from the first request to the last answer, as the server sees it. The requests that come before all
others (is the server there, does the model take images) count only in the time of the whole process. *Ideal* is the
lower bound: if all answers take equally long, whole rounds of ``CONCURRENCY`` requests; otherwise the sum of the
latencies that the server drew, divided by ``CONCURRENCY``. Machines differ and are shared, so the best of several runs
is shown, beside a bare ``aiohttp`` client that does the same work by turns with Polymeter.
"""

from __future__ import annotations

import base64
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, build_opener

from benchmarks.measure import Measured, measure

N_REQUESTS = 2_000
CONCURRENCY = 64
CALM = ("--latency", "constant", "--mean-ms", "100")
STORMY = ("--latency", "lognormal", "--mean-ms", "200", "--fault", "rate_limit=0.02", "--fault", "internal=0.01")
N_FEW, N_COSTED = 64, 704
Command = Callable[[str, Path, Path, int], list[str]]
"""From a server's address, a task, a folder and a number of requests to what is typed."""
_ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Window:
    """One run as the server saw it (in seconds), and the process of the client."""

    window_s: float
    ideal_s: float
    answered: int
    faults: int
    process: Measured

    @property
    def ratio(self) -> float:
        """The window, as a multiple of the ideal."""
        return self.window_s / self.ideal_s


@contextmanager
def fault_server(*words: str) -> Iterator[str]:
    """A fault server in a separate process; yields its base URL."""
    command = [sys.executable, "-m", "tests.helpers.fault_server", *words]
    process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def through_polymeter(base_url: str, task: Path, folder: Path, n: int) -> list[str]:
    """The command that a user would type."""
    return [
        *(str(Path(sys.executable).with_name("polymeter")), "run", "--model", "openai:fault", "--base-url", base_url),
        *("--tasks", str(task), "--concurrency", str(CONCURRENCY), "--output", str(_new_folder(folder)), "--quiet"),
        *(() if n == N_REQUESTS else ("--limit", str(n))),
    ]


def without_report(base_url: str, task: Path, folder: Path, n: int) -> list[str]:
    """The same with one sample in its HTML report, which else has as many images as fit 20 MB, whatever the model."""
    return [*through_polymeter(base_url, task, folder, n), "--report-samples", "1"]


def through_bare_client(base_url: str, task: Path, folder: Path, n: int) -> list[str]:
    """A client that does nothing but read the pictures, if there are any, and send requests."""
    return [sys.executable, "-m", "benchmarks.endpoint", base_url, str(n), *map(str, task.parent.glob("*.parquet"))]


def through_httpx(base_url: str, task: Path, folder: Path, n: int) -> list[str]:
    """The same with ``httpx``, which SDKs of providers use."""
    return [*through_bare_client(base_url, task, folder, n), "httpx"]


def windows_of(
    weather: Sequence[str], commands: Mapping[str, Command], task: Path, folder: Path, *, n: int = 3
) -> dict[str, list[Window]]:
    """Several runs of some commands, by turns.

    Raises:
        RuntimeError: if a command failed or an answer was lost.
    """
    windows: dict[str, list[Window]] = {name: [] for name in commands}
    with fault_server(*weather) as base_url:
        for _ in range(n):
            for name, command in commands.items():
                _fetch(base_url, "/reset")
                process = measure(command(base_url, task, folder, N_REQUESTS), cwd=_ROOT, log=folder / "bench.log")
                windows[name].append(_window(_fetch(base_url, "/stats"), process))
    return windows


def costs_ms(commands: Mapping[str, Command], task: Path, folder: Path, *, n: int = 3) -> dict[str, float]:
    """Processor time of one request in ms, of some commands by turns: the median difference between a run of many
    requests and one of few, so that neither start-up nor what else the machine does counts.
    """
    found: dict[str, list[float]] = {name: [] for name in commands}
    with fault_server(*CALM) as base_url:
        for _ in range(n):
            for name, command in commands.items():
                few, many = (
                    measure(command(base_url, task, folder, n_requests), cwd=_ROOT, log=folder / "bench.log").cpu_s
                    for n_requests in (N_FEW, N_COSTED)
                )
                found[name].append(1e3 * (many - few) / (N_COSTED - N_FEW))
    return {name: statistics.median(each) for name, each in found.items()}


def _new_folder(folder: Path) -> Path:
    """A folder of its own for each run. Where thousands of files were just deleted, a file system may take a
    millisecond of processor time to make each new one.
    """
    return Path(tempfile.mkdtemp(dir=folder)) / "run"


def _fetch(base_url: str, path: str) -> dict[str, Any]:
    with build_opener(ProxyHandler({})).open(base_url.removesuffix("/v1") + path) as answer:
        content: dict[str, Any] = json.load(answer)
    return content


def _window(stats: dict[str, Any], process: Measured) -> Window:
    if stats["answered"] < N_REQUESTS:
        raise RuntimeError(f"{stats['answered']} answers to {N_REQUESTS} requests")
    is_calm = not stats["faults"]
    rounds = math.ceil(N_REQUESTS / CONCURRENCY)
    ideal_s = rounds * stats["busy_s"] / stats["answered"] if is_calm else stats["busy_s"] / CONCURRENCY
    return Window(stats["window_s"], ideal_s, stats["answered"], sum(stats["faults"].values()), process)


def _contents(pictures: str | None) -> Iterator[Any]:
    if pictures is None:
        yield from (f"What is {n} plus {n}?" for n in range(N_REQUESTS))
        return
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(pictures).iter_batches(100):
        for row in batch.to_pylist():
            url = f"data:image/jpeg;base64,{base64.b64encode(row['image']['bytes']).decode()}"
            yield [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": row["question"]}]


async def bare_client(base_url: str, n: str, pictures: str | None = None, library: str = "aiohttp") -> None:
    """Send ``n`` requests, ``CONCURRENCY`` at a time; with the pictures of a Parquet file if one is given."""
    import asyncio

    bodies = (
        json.dumps({"model": "fault", "messages": [{"role": "user", "content": content}]}).encode()
        for content in islice(_contents(pictures), int(n))
    )
    url, headers = base_url + "/chat/completions", {"Content-Type": "application/json"}
    if library == "httpx":
        import httpx

        async with httpx.AsyncClient(timeout=60, trust_env=False, headers=headers) as client:

            async def ask_httpx() -> None:
                for body in bodies:
                    (await client.post(url, content=body)).json()

            # Its pool looks through all connections for each request, which would cost most with many.
            await asyncio.gather(*(ask_httpx() for _ in range(8)))
        return
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def ask() -> None:
            for body in bodies:
                async with session.post(url, data=body) as response:
                    await response.json()

        await asyncio.gather(*(ask() for _ in range(CONCURRENCY)))


if __name__ == "__main__":
    import asyncio

    asyncio.run(bare_client(*sys.argv[1:]))
