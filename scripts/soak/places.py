"""Where runs of one kind live: their folder, the server that they ask, their unbroken run, and what they leave."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scripts.soak.endpoint import Endpoint
from scripts.soak.kinds import RUN, Kind
from tests.oracle.old_runs import INPUTS, environment

END_S = 600.0
_GUESTS = Path(__file__).parent / "guests"
_LATENCY = re.compile(rb'"latency_ms":[^,}]*')
_SERVER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_SETTLE_S = 0.2


@dataclass
class Place:
    """Where lives of one kind are lived.

    Attributes:
        kind: What is run.
        server: What it asks.
        root: A folder for all lives.
        left: What the unbroken run left; see ``left_by``.
        n_needed: How many requests it sent.
        opened_s: When it opened its journal, since its start.
        asked_s: When it sent its first request.
        whole_s: How long it lasted.
    """

    kind: Kind
    server: Endpoint
    root: Path
    left: dict[str, bytes] = field(default_factory=dict)
    n_needed: int = 0
    opened_s: float = 0.0
    asked_s: float = 0.0
    whole_s: float = 0.0


@contextlib.contextmanager
def opened(kind: Kind) -> Iterator[Place]:
    """A folder, a server, and the unbroken run: each of its requests was sent once."""
    with tempfile.TemporaryDirectory(prefix="polymeter_soak_") as folder, Endpoint() as server:
        place = Place(kind, server, Path(folder).resolve())
        if kind.make_weights is not None:
            kind.make_weights(place.root / "weights")
        here, began = fresh(place.root / "whole"), time.monotonic()
        process = started(place, here)
        for name, has_come in (("opened_s", journal_of), ("asked_s", lambda here: n_asked(place, here, 0))):
            while process.poll() is None and not has_come(here):
                time.sleep(0.005)
            setattr(place, name, time.monotonic() - began)
        code = process.wait(END_S)
        place.whole_s = time.monotonic() - began
        said = (here / "said").read_text()
        assert code in (0, 1), said
        place.left, place.n_needed = left_by(here), n_asked(place, here, 0)
        assert 0 < place.n_needed == n_answered(here), f"{place.n_needed} asked, {n_answered(here)} answered: {said}"
        yield place


def fresh(here: Path) -> Path:
    """A working folder with the benchmarks and wrappers, and nothing else."""
    shutil.rmtree(here, ignore_errors=True)
    for source in (INPUTS, _GUESTS):
        shutil.copytree(source, here, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return here


def started(place: Place, here: Path) -> subprocess.Popen[bytes]:
    """Start the run, or go on with it, as a user does: with the same command."""
    filled = {"{url}": place.server.base_url, "{host}": place.server.url, "{weights}": str(place.root / "weights")}
    words = list(place.kind.words)
    for name, value in filled.items():
        words = [word.replace(name, value) for word in words]
    return command(here, words)


def command(here: Path, words: list[str]) -> subprocess.Popen[bytes]:
    """Start a command of Polymeter; what it says goes into a file."""
    own = {"SOAK_COUNTED": str(here / "counted.log"), "OMP_NUM_THREADS": "1"}
    with (here / "said").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "polymeter", *words],
            cwd=here,
            env={**os.environ, **environment(here), **own, **dict.fromkeys(_SERVER_KEYS, "a-key-of-nobody")},
            stdout=said,
            stderr=said,
        )


def journal_of(here: Path) -> Path | None:
    """The journal: in the run folder, or in the one that EvalScope's work folder holds."""
    return next((path for path in (here / RUN).glob("**/journal.db")), None)


def n_asked(place: Place, here: Path, served_before: int) -> int:
    """The requests that were sent in this life, to the server and to models in the process."""
    log = here / "counted.log"
    n_counted = len(log.read_text().splitlines()) if log.exists() else 0
    return place.server.n_asked - served_before + n_counted


def n_asked_at_rest(place: Place, here: Path, served_before: int) -> int:
    """The same once nothing arrives any more: what a process sent before its death may reach the server after it."""
    asked = -1
    while asked != (asked := n_asked(place, here, served_before)):
        time.sleep(_SETTLE_S)
    return asked


def n_answered(here: Path) -> int:
    """The answers that are in the journal. Prompts that a wrapper makes itself are none."""
    journal = journal_of(here)
    if journal is None:
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        try:
            rows = database.execute("SELECT COUNT(*) FROM responses WHERE role != 'own_prompt'").fetchall()
        except sqlite3.Error:  # killed before its tables were made
            return 0
    return int(rows[0][0])


def left_by(here: Path) -> dict[str, bytes]:
    """What a run leaves that must not depend on kills: results, samples, the digests in the names of its media, and
    EvalScope's reports; without latencies, its own path and what was paid, which counts tries that failed.
    """
    journal = journal_of(here)
    if journal is None:
        return {}
    run = journal.parent
    files = [run / "results.json", *run.glob("samples/*.jsonl"), *(here / RUN).glob("reports/**/*.json")]
    plain = {file.name: _unpaid(file).replace(str(here).encode(), b".") for file in files if file.exists()}
    media = sorted(file.name for file in (run / "media").rglob("*") if file.is_file())
    return {"media": "\n".join(media).encode()} | {name: _LATENCY.sub(b"", text) for name, text in plain.items()}


def _unpaid(file: Path) -> bytes:
    """A file without the usage of a run."""
    if file.name != "results.json":
        return file.read_bytes()
    content = json.loads(file.read_bytes())
    return json.dumps(
        {name: value for name, value in content.items() if name not in ("usage", "usage_by_role")}
    ).encode()
