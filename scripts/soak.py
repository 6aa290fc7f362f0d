"""Kill runs at random instants, resume them to their end, and compare what they leave with an unbroken run.

Every format and every kind of model takes part: task YAML, table, data adapter and dataset class; the mock, a model in
Python, the small vision-language model, an endpoint on loopback, wrappers of two other systems, and images that are
generated, some of them scored by a judge. A life is a run that is killed one to three times, by SIGKILL or SIGTERM, and
then resumed to its end. Afterwards its results and samples must be those of the unbroken run, byte for byte apart from
latencies, and no request may have been sent again but those that were in flight at a kill: sent, and without an answer
in the journal. The one small request with which each start asks whether an endpoint is there does not count.

    make soak                                  200 kills
    python -m scripts.soak --n 20 --seed 1     fewer, with another seed
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.helpers.openai_stub import OpenAIStub, Received, chat
from tests.oracle.old_runs import INPUTS, environment

ROOT = Path(__file__).parents[1]
RUN = "run"
MOST_KILLS = 3
END_S = 300.0
LATENCY = re.compile(rb'"latency_ms":[^,}]*')

_ASKED = ("--import", "asked.py", "--model", "oracle_asked")
_TASKS, _BENCH, _TABLES = (("--include-path", name) for name in ("tasks", "bench", "tables"))
_JUDGE = ("--judge", "openai:judge", "--judge-args", "base_url={url}")

PORTRAITS = """\
from polymeter.judge import LLMJudge

from .text_base import TextBaseDataset
from ..smp import *


class Portraits(TextBaseDataset):
    TYPE = 'T2I'
    DATASET_URL = {'portraits': ''}
    DATASET_MD5 = {'portraits': None}
    METRICS = {'liked': True}

    def evaluate_sample(self, line, prediction, **judge_kwargs):
        judge = LLMJudge()
        colours = [image.convert('RGB').getpixel((0, 0)) for image in prediction]
        return {'liked': judge.get_score(judge(judge.build_prompt(str(colours), line['prompt'], 'like?')))}
"""


@dataclass(frozen=True)
class Kind:
    """A run that is killed.

    Attributes:
        words: What follows ``polymeter run``; ``{url}`` is the address of the endpoint.
        counts: Who counts the requests: the ``server``, the model's own ``log``, or ``nobody``.
    """

    words: tuple[str, ...]
    counts: str = "nobody"


KINDS: Mapping[str, Kind] = {
    "all formats, a model in Python": Kind(
        (*_ASKED, "--tasks", "arithmetic,rounds,quiz,animals", *_TASKS, *_BENCH, *_TABLES), "log"
    ),
    "task YAML, mock": Kind(("--model", "mock", "-a", "delay_ms=3", "--tasks", "arithmetic,choices,votes", *_TASKS)),
    "adapter and table, endpoint": Kind(
        ("--model", "openai:m", "-a", "base_url={url}", "--tasks", "quiz,animals", *_BENCH, *_TABLES),
        "server",
    ),
    "task YAML, endpoint and judge": Kind(
        ("--model", "openai:m", "-a", "base_url={url}", *_JUDGE, "--tasks", "judged,arithmetic", *_TASKS),
        "server",
    ),
    "dataset class, images and judge": Kind((*_ASKED, *_JUDGE, "--tasks", "portraits", *_TABLES), "server"),
    "task YAML, wrapper of lmms-eval": Kind(
        (
            *("--model", "lmms:oracle_lmms", "--model-path", "lmms_wrapper.py", "--model-args", "scale=3"),
            *("--tasks", "sums,choices", *_TASKS),
        )
    ),
    "dataset class and table, wrapper of ULMEvalKit": Kind(
        (
            *("--model", "ulm:OracleUlm", "--model-path", "ulm_wrapper.py", "--model-args", "shade=50"),
            *("--tasks", "animals,garden,shades", *_TABLES),
        )
    ),
    "dataset class and table, drawn images": Kind(
        ("--model", "shapes", "--tasks", "demo_t2i,tones", "--limit", "12", *_TABLES)
    ),
    "task YAML, small vision-language model": Kind(
        ("--model", "tiny_vlm", "--tasks", "demo_vlm_choice", "--limit", "24")
    ),
}


@dataclass
class Tally:
    """What happened.

    Attributes:
        kills: Kills by signal.
        early: Kills before the run folder was there.
        late: Kills that came after the run had ended.
        repeated: Requests that were sent again, all of them in flight at a kill.
        faults: What must not happen.
    """

    kills: Counter[str] = field(default_factory=Counter)
    early: int = 0
    late: int = 0
    repeated: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass
class Place:
    """Where lives of one kind are lived: the server that they ask, and their unbroken run."""

    kind: Kind
    url: str
    n_served: Callable[[], int]
    root: Path
    left: dict[str, bytes] = field(default_factory=dict)
    n_needed: int = 0
    start_s: float = 0.0
    whole_s: float = 0.0


def main() -> int:
    """Live until enough kills have happened; 0 if nothing was lost or asked twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="only kinds whose name contains this")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    names = [name for name in KINDS if given.kind in name]
    tallies = {name: Tally() for name in names}
    with contextlib.ExitStack() as stack:
        places = {name: stack.enter_context(opened(KINDS[name])) for name in names}
        while sum(tally.kills.total() for tally in tallies.values()) < given.n:
            name = min(names, key=lambda name: tallies[name].kills.total())
            live(places[name], tallies[name], chance, f"{name}, life {tallies[name].kills.total()}")
            print(f"{name}: {tallies[name].kills.total()} kills", file=sys.stderr, flush=True)
    return report(tallies, given.seed)


@contextlib.contextmanager
def opened(kind: Kind) -> Iterator[Place]:
    """A server, and the unbroken run."""
    with tempfile.TemporaryDirectory(prefix="polymeter_soak_") as folder, OpenAIStub(answer) as stub:
        stub._server.handle_error = lambda *_: None  # type: ignore[method-assign]  (killed runs hang up)

        def n_served() -> int:
            return sum("completions" in received.path and not is_ping(received) for received in stub.received)

        place = Place(kind, stub.base_url, n_served, Path(folder).resolve())
        here = fresh(place.root / "whole")
        before, began = place.n_served(), time.monotonic()
        process = started(place, here)
        while process.poll() is None and not (here / RUN / "journal.db").exists():
            time.sleep(0.005)
        place.start_s = time.monotonic() - began
        code = process.wait(END_S)
        place.whole_s = time.monotonic() - began
        assert code in (0, 1), (here / "said").read_text()
        place.left = left_by(here)
        place.n_needed = n_asked(place, here, before)
        yield place


def live(place: Place, tally: Tally, chance: random.Random, name: str) -> None:
    """One run: killed a few times, then resumed to its end, then compared."""
    here = fresh(place.root / "life")
    served_before, in_flight = place.n_served(), 0
    for _ in range(chance.randint(1, MOST_KILLS)):
        asked_before, answered_before = n_asked(place, here, served_before), n_answered(place, here)
        how = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        was_killed = killed(place, here, chance, how, tally)
        if not was_killed:
            break
        asked = n_asked(place, here, served_before) - asked_before
        in_flight += max(0, asked - (n_answered(place, here) - answered_before))
    code = started(place, here).wait(END_S)
    if code not in (0, 1):
        tally.faults.append(f"{name}: the resumed run ended with {code}: {(here / 'said').read_text()[-300:]}")
        return
    left = left_by(here)
    differing = sorted(file for file in left.keys() | place.left.keys() if left.get(file) != place.left.get(file))
    if differing:
        tally.faults.append(f"{name}: {', '.join(differing)} differ from the unbroken run's")
        shutil.copytree(here, Path(tempfile.mkdtemp(prefix="polymeter_soak_fault_")) / "life")
    repeated = n_asked(place, here, served_before) - place.n_needed
    tally.repeated += max(0, repeated)
    if place.kind.counts != "nobody" and not 0 <= repeated <= in_flight:
        tally.faults.append(
            f"{name}: {repeated} requests more than needed, and {in_flight} were in flight at the kills"
        )


def killed(place: Place, here: Path, chance: random.Random, how: signal.Signals, tally: Tally) -> bool:
    """Start the run and kill it: half of the time at any instant, else at one after its journal was opened."""
    journal = here / RUN / "journal.db"
    process, began = started(place, here), time.monotonic()
    if chance.random() < 0.5:
        wait_s = chance.uniform(0, place.whole_s)
    else:
        while process.poll() is None and not journal.exists():
            time.sleep(0.002)
        wait_s = time.monotonic() - began + chance.uniform(0, max(place.whole_s - place.start_s, 0.05))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(0.0, wait_s - (time.monotonic() - began)))
    if process.poll() is not None:
        tally.late += 1
        return False
    tally.early += not journal.exists()
    process.send_signal(how)
    tally.kills[how.name] += 1
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        tally.faults.append(f"{how.name} did not end a run within {END_S:g} s: {(here / 'said').read_text()[-300:]}")
        process.kill()
        process.wait()
    return True


def started(place: Place, here: Path) -> subprocess.Popen[bytes]:
    """Start the run, or go on with it, as a user does: with the same command."""
    words = [word.replace("{url}", place.url) for word in place.kind.words]
    with (here / "said").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "polymeter", "run", *words, "--quiet", "--output", RUN],
            cwd=here,
            env={**os.environ, **environment(here), "OPENAI_API_KEY": "x"},
            stdout=said,
            stderr=said,
        )


def fresh(here: Path) -> Path:
    """A working folder with the benchmarks and wrappers, and nothing else."""
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(INPUTS, here, ignore=shutil.ignore_patterns("__pycache__"))
    (here / "tables" / "portraits.py").write_text(PORTRAITS)
    rows = "".join(f"{number}\tportrait number {number}\n" for number in range(12))
    (here / "tables" / "portraits.tsv").write_text("index\tprompt\n" + rows)
    return here


def is_ping(received: Received) -> bool:
    """Whether a request is the one with which every start of a run shows that an endpoint is there."""
    return bool(received.body.get("max_tokens") == 1)


def answer(received: Received) -> object:
    """The endpoint: an answer that follows from the question alone; the judge likes every second one."""
    if not received.raw:  # a look at the models that there are
        return {"data": []}
    body = received.body
    said = sum(map(ord, str(body["messages"])))
    if body["model"] == "judge":
        return chat("AB"[said % 2])
    return chat(f"It is {said % 9}")


def n_asked(place: Place, here: Path, served_before: int) -> int:
    """The requests that were sent in this life."""
    if place.kind.counts == "server":
        return place.n_served() - served_before
    log = here / "calls.log"
    return len(log.read_text().splitlines()) if log.exists() and place.kind.counts == "log" else 0


def n_answered(place: Place, here: Path) -> int:
    """The answers that are in the journal, of those that are counted."""
    journal = here / RUN / "journal.db"
    if not journal.exists():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{journal}?mode=ro", uri=True)) as database:
        try:
            roles = dict(database.execute("SELECT role, COUNT(*) FROM responses GROUP BY role").fetchall())
        except sqlite3.Error:  # killed before its tables were made
            return 0
    images = "portraits" in place.kind.words
    return int(roles.get("judge", 0) if images else sum(roles.values()))


def left_by(here: Path) -> dict[str, bytes]:
    """What a run leaves that must not depend on kills: results and samples, without latencies and its own path."""
    files = [here / RUN / "results.json", *sorted((here / RUN / "samples").glob("*.jsonl"))]
    plain = {file.name: file.read_bytes().replace(str(here).encode(), b".") for file in files if file.exists()}
    return {name: LATENCY.sub(b"", content) for name, content in plain.items()}


def report(tallies: Mapping[str, Tally], seed: int) -> int:
    """Print the table; 0 if there is no fault."""
    width = max(map(len, tallies))
    print(f"{'kind':{width}}  SIGKILL  SIGTERM  before its folder  after its end  sent again  faults")
    for name, tally in tallies.items():
        print(
            f"{name:{width}}  {tally.kills['SIGKILL']:7}  {tally.kills['SIGTERM']:7}  {tally.early:17}  "
            f"{tally.late:13}  {tally.repeated:10}  {len(tally.faults):6}"
        )
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    print(*faults, sep="\n")
    total = sum(tally.kills.total() for tally in tallies.values())
    print(f"{total} kills (seed {seed}): {len(faults)} faults.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
