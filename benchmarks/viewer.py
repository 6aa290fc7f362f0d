"""``view``: pages of a server in a process of its own, asked for as a browser asks for them."""

from __future__ import annotations

import html
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

FILTERS = {
    "filter: wrong, worst first": "state=wrong&sort=worst&min=-{}&metric=exact_match",
    "filter: a text in answers": "q=mock+{}&in=answer",
    "filter: a text anywhere, found nowhere": "q=nowhere{}",
    "filter: a text anywhere, in every sample": "q=o&max={}&metric=exact_match",
    "filter: longest answer first": "sort=longest&min=-{}&metric=exact_match",
}
"""What is filtered of a large run: the address of each, with a number that makes it a new one."""


@dataclass(frozen=True)
class Server:
    """A viewer that serves.

    Attributes:
        process: Its process.
        client: Asks it for pages.
        started_s: How long it took until it listened.
    """

    process: subprocess.Popen[str]
    client: httpx.Client
    started_s: float

    def ms(self, path: str) -> float:
        """How long a page takes, with all of its bytes."""
        began = time.perf_counter()
        answer = self.client.get(path)
        took_ms = 1000 * (time.perf_counter() - began)
        if answer.status_code != 200:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text[:2000]}")
        return took_ms

    def median_ms(self, path: str, n: int = 5) -> float:
        """The median of several times."""
        return statistics.median(self.ms(path) for _ in range(n))

    def n_of_search(self, path: str) -> int:
        """How many requests a search takes, with those that its page makes by itself."""
        n, following = 0, path
        while following:
            n += 1
            text = self.client.get(following, headers={"hx-request": "true"}).text
            found = re.search(r'hx-get="(/search[^"]*)"', text)
            following = html.unescape(found[1]) if found else ""
            if "again=1" in following:
                time.sleep(0.5)
        return n

    def wait_for(self, path: str) -> float:
        """How many seconds pass until a page no longer says that samples are being read."""
        began = time.perf_counter()
        while 'id="waiting"' in self.client.get(path).text:
            time.sleep(0.5)
        return time.perf_counter() - began

    def own_mb(self) -> float:
        """The memory of the process that is no file: pages of files that are mapped can be given back at any time."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A viewer over a folder of runs."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "polymeter", "view", str(folder), "--no-open"], stdout=subprocess.PIPE, text=True
    )
    try:
        address = re.search(r"http\S+", process.stdout.readline())[0]
        with httpx.Client(base_url=address, timeout=120) as client:
            yield Server(process, client, time.perf_counter() - began)
    finally:
        process.terminate()
        process.wait()
