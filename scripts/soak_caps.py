"""Kill capped runs at random instants, and compare what they spent with what the server charges.

The server charges for every request that it works on, at the moment that it arrives: also for those that it answers
with 500, with half a JSON, or not at all, and for those of a run that dies. In every second life a byte is a token and
every answer is as long as it may be, so that little is charged less than the run reserves.

A life is a run of a judged task with random faults, concurrency and cap. It is killed up to three times, at a random
time or between named steps: before and after a reservation is committed, before its answer is handed on, before it is
settled. Then it is continued with higher caps until it is complete.

Every life must show: no part of the run has spent more than its cap by the server's account, the run's own account is
at least the server's, and no request whose answer is in the journal was sent again.

    python -m scripts.soak_caps                       200 lives
    python -m scripts.soak_caps --n 20 --seed 1000    fewer, with other seeds
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.helpers.fault_server import FaultServer
from tests.helpers.fault_weather import Latency, Weather
from tests.helpers.judged import judged_folder

N_ROWS = 16
PRICES = {"fault": (2, 10), "judge": (40, 160)}
"""US dollars for a million tokens of prompts and of answers, by model."""
_FAULTS = ("rate_limit", "rate_limit_after", "internal", "unavailable", "reset", "hang", "truncated", "malformed")
_STEPS = ("before commit", "after commit", "before answers", "before settling")
_TIMEOUT_S = 0.25
_MOST_PARTS = 12
_LIFE_S = 120.0
_KILLED = -signal.SIGKILL


@dataclass
class Life:
    """What happened in a life.

    Attributes:
        seed: Its seed.
        kills: How often it was killed, by instant.
        n_stops: How often a cap stopped it.
        n_parts: The number of its parts.
        n_lost: Tries that brought no answer: those that failed, and those that a kill lost.
        share: The largest share of a cap that the server charged.
        faults: What must not happen.
    """

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    n_stops: int = 0
    n_parts: int = 0
    n_lost: int = 0
    share: float = 0.0
    faults: list[str] = field(default_factory=list)


def import_all() -> None:
    """Import what a run imports, once for all processes that are forked: this one must not have threads."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with tempfile.TemporaryDirectory() as root, FaultServer() as server:
            task = _task(Path(root))
            with open(os.devnull, "w", encoding="utf-8") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            _evaluate(server.base_url, task, Path(root) / "run", Fraction(100), 4)
        with os.fdopen(writing, "w") as names:
            names.write("\n".join(name for name in sys.modules if not name.startswith(("_", "tests"))))
            names.flush()
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as names:
        for name in names.read().split("\n"):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    os.waitpid(child, 0)


def live(seed: int, root: Path) -> Life:
    """Live one life in an empty folder."""
    chance, life = random.Random(seed), Life(seed)
    shares = {name: chance.uniform(0, 0.06) for name in chance.sample(_FAULTS, chance.randint(0, 5))}
    weather = Weather(
        Latency("uniform", chance.uniform(0.002, 0.02)),
        shares,
        seed=seed,
        keeps_bill=True,
        charges_most=seed % 2 == 1,
        unstated=chance.choice([0.0, 0.0, 0.2]),
    )
    task = _task(root)
    run = root / "run"
    with _served(weather) as url:
        cap = Fraction(chance.randint(10, 700), 1000)
        n_kills = chance.choice([0, 1, 1, 2, 2, 3, 3])
        for number in range(_MOST_PARTS):
            is_last = number == _MOST_PARTS - 1
            kill = _kill(chance) if n_kills > life.kills.total() and not is_last else None
            before = _answered(run)
            n_before = len(_stats(url)["received"])
            code = _part(url, task, run, cap, chance.choice([1, 2, 4, 8]), kill)
            life.n_parts += 1
            stats = _stats(url, at_rest=True)
            _check_part(life, stats, run, cap, before, stats["received"][n_before:])
            if code == _KILLED:
                life.kills[kill[0] if kill else "?"] += 1
            elif code not in (0, 1):
                life.faults.append(f"part {number} ended with {code}")
                break
            elif _status(run) == "stopped":
                life.n_stops += 1
                cap = cap * Fraction(chance.randint(12, 40), 10) + (1 if number > _MOST_PARTS // 2 else 0)
            else:
                break
        if _status(run) != "complete":
            life.faults.append(f"the run is {_status(run)} after {life.n_parts} parts")
        asked = [question for _, question in _stats(url)["received"] if _number(question) is not None]
        life.n_lost = len(asked) - len(_answered(run))
    return life


def _task(root: Path) -> Path:
    file = judged_folder(root / "task", n_rows=N_ROWS) / "facts.yaml"
    file.write_text(file.read_text() + "generation_kwargs: {max_new_tokens: 16}\n")
    return file


def _kill(chance: random.Random) -> tuple[str, float]:
    """How a part is killed: a time and its seconds, or a step and the number of its occurrence."""
    if chance.random() < 0.5:
        return "time", chance.uniform(0.05, 1.0)
    return chance.choice(_STEPS), chance.randint(1, 15)


def _part(url: str, task: Path, run: Path, cap: Fraction, concurrency: int, kill: tuple[str, float] | None) -> int:
    """Run or continue in a process of its own; its exit code."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _child(url, task, run, cap, concurrency, kill)
    if kill is not None and kill[0] == "time":
        deadline_s = time.monotonic() + kill[1]
        while time.monotonic() < deadline_s:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _child(url: str, task: Path, run: Path, cap: Fraction, concurrency: int, kill: tuple[str, float] | None) -> None:
    """Run, and die on the way if told so. Never returns."""
    code = 3
    try:
        with open(run.with_name("said"), "a", encoding="utf-8") as said:
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
        if kill is not None and kill[0] != "time":
            _arm(kill[0], int(kill[1]))
        code = _evaluate(url, task, run, cap, concurrency)
    finally:
        sys.stdout.flush()
        os._exit(code)


def _evaluate(url: str, task: Path, run: Path, cap: Fraction, concurrency: int) -> int:
    import traceback

    from polymeter import evaluate
    from polymeter.core.model import ModelSpec
    from polymeter.run.dispatch.endpoint import dispatcher

    whole = dispatcher.backoff_s
    dispatcher.backoff_s = lambda n_tries, jitter: whole(n_tries, jitter) / 50  # what is waited for spends nothing
    try:
        result = evaluate(
            "openai:fault",
            [str(task)],
            model_args={"base_url": url},
            roles={"judge": ModelSpec("openai", "judge", {"base_url": url})},
            output=run,
            max_cost=float(cap),
            price={name: f"{own[0]}/{own[1]}" for name, own in PRICES.items()},
            concurrency=concurrency,
            timeout_s=_TIMEOUT_S,
            max_retries=8,
        )
    except Exception:  # noqa: BLE001  (the parent reads it)
        traceback.print_exc()
        return 3
    return result.exit_code


def _arm(step: str, occurrence: int) -> None:
    """Have this process killed at the occurrence of a step."""
    from polymeter.run.budget.ledger import Ledger
    from polymeter.run.budget.meter import Meter
    from polymeter.run.schedule.events import Events

    left = [occurrence]

    def passed() -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    committed, settle, answered = Meter.committed, Ledger.settle, Events.answered

    async def before(self: Meter) -> None:
        passed()
        await committed(self)

    async def after(self: Meter) -> None:
        await committed(self)
        passed()

    def answering(self: Events, requests: Any) -> None:
        passed()
        answered(self, requests)

    def settling(self: Ledger, *args: Any) -> None:
        passed()
        settle(self, *args)

    setattr(*{
        "before commit": (Meter, "committed", before),
        "after commit": (Meter, "committed", after),
        "before answers": (Events, "answered", answering),
        "before settling": (Ledger, "settle", settling),
    }[step])  # fmt: skip


@contextlib.contextmanager
def _served(weather: Weather) -> Iterator[str]:
    """The server in a process of its own, so that this one has no threads when it forks."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with FaultServer(weather) as server:
            os.write(writing, server.base_url.encode())
            signal.pause()
    url = os.read(reading, 200).decode()
    os.close(reading)
    os.close(writing)
    try:
        yield url
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _stats(url: str, *, at_rest: bool = False) -> dict[str, Any]:
    """What the server has received and charged. At rest: what a process sent before its death has arrived."""
    last: dict[str, Any] = {}
    while True:
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
            now: dict[str, Any] = json.load(answer)
        if not at_rest or now.get("received") == last.get("received"):
            return now
        last = now
        time.sleep(0.03)


def _check_part(
    life: Life,
    stats: dict[str, Any],
    run: Path,
    cap: Fraction,
    answered_before: set[tuple[str, int]],
    received: list[tuple[str, str]],
) -> None:
    charged = sum(
        (Fraction(n_input) * PRICES[model][0] + Fraction(n_output) * PRICES[model][1]) / 1_000_000
        for model, (n_input, n_output) in stats["charged"].items()
    )
    life.share = max(life.share, float(charged / cap))
    if charged > cap:
        life.faults.append(f"the server charges {float(charged):.9f}, more than the cap of {float(cap):.9f}")
    own = _own_account(run)
    if own is not None and own < charged:
        life.faults.append(f"the run counts {float(own):.9f}, less than the server's {float(charged):.9f}")
    for model, question in received:
        number = _number(question)
        if number is not None and (model, number) in answered_before:
            life.faults.append(f"the answer of {model} to question {number} was in the journal and was asked for again")


def _own_account(run: Path) -> Fraction | None:
    """What the journal holds: reservations that nothing released."""
    if not (run / "journal.db").exists():
        return None
    with contextlib.closing(sqlite3.connect(f"file:{run / 'journal.db'}?mode=ro", uri=True)) as db:
        try:
            found = db.execute("SELECT coalesce(sum(cost), 0) FROM reservations WHERE state != 'released'").fetchone()
        except sqlite3.Error:  # killed before its tables were made
            return None
    return Fraction(found[0], 10**12)


def _answered(run: Path) -> set[tuple[str, int]]:
    """The answers in the journal: model and question."""
    if not (run / "journal.db").exists():
        return set()
    with contextlib.closing(sqlite3.connect(f"file:{run / 'journal.db'}?mode=ro", uri=True)) as db:
        try:
            rows = db.execute("SELECT role, sample FROM responses").fetchall()
        except sqlite3.Error:
            return set()
    return {("fault" if role == "model" else "judge", sample) for role, sample in rows}


def _number(question: str) -> int | None:
    """The number of the row that a request is about; ``None`` for the small requests of a start."""
    _, found, rest = question.partition("question ")
    digits = "".join(character for character in rest[:3].split("\n")[0] if character.isdigit())
    return int(digits) if found and digits else None


def _status(run: Path) -> str:
    try:
        return str(json.loads((run / "run.json").read_text())["status"])
    except (OSError, ValueError):
        return "missing"


def main() -> int:
    """Soak; 0 if no cap was passed and nothing was paid twice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=200, help="lives")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first life")
    given = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "a-key-of-nobody"
    import_all()
    kills: Counter[str] = Counter()
    n_parts = n_stops = n_lost = n_faults = 0
    share = 0.0
    for seed in range(given.seed, given.seed + given.n):
        with tempfile.TemporaryDirectory(prefix="polymeter_caps_") as root:
            life = live(seed, Path(root))
            if life.faults:
                print(f"seed {seed}:", *life.faults[:5], (Path(root) / "said").read_text()[-2000:], sep="\n  ")
        kills += life.kills
        n_parts, n_stops, n_lost = n_parts + life.n_parts, n_stops + life.n_stops, n_lost + life.n_lost
        n_faults, share = n_faults + bool(life.faults), max(share, life.share)
        if (seed - given.seed) % 20 == 19:
            print(f"{seed - given.seed + 1} lives, {kills.total()} kills, {n_faults} with faults", flush=True)
    print(f"{given.n} lives: {n_parts} parts, {n_stops} stops at a cap, {kills.total()} kills ({dict(kills)}),")
    print(f"at most {share:.1%} of a cap charged, {n_lost} tries without an answer (failed, or lost by a kill);")
    print(f"{n_faults} lives with faults.")
    return 1 if n_faults else 0


if __name__ == "__main__":
    sys.exit(main())
