"""Prints what replicas cost the process of the run, and what a second one gains.

Usage: ``python -m benchmarks.replicas [--small]``. What a sample costs is the processor time of the run's own process,
which the work of other processes disturbs least: planning, journal and scoring included, the same run without replicas
beside it. It is the slope between a short and a long run, so that what a run costs once does not count. The gain is the
wall time of the samples, from the first replica that is ready to the last answer, with one and with two replicas of a
model that computes on one thread and waits for nothing. Beside it stands what two bare processes gain that compute the
same, since cores that share a cache, a clock or a physical core are no two cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.book import Book

N_SHORT, N_LONG = 2_000, 20_000
N_COMPUTED = 400
N_ROUNDS = 3
BUDGET_MS = 0.2
GAIN = 1.7
_TASK = """\
task: bench_replicas
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: "{{text}}"
doc_to_target: text
metric_list: [{metric: exact_match}]
"""
_MODEL = '''\
"""A model that computes on one thread: so many rounds of hashing for each request."""
import hashlib

from polymeter import BatchModel, ModelTraits, Response, register_model


@register_model("hashing")
class Hashing(BatchModel):
    batch_hint = 4

    def __init__(self, rounds=0):
        self.traits = ModelTraits(family="hashing", requests={"generate": True}, modalities={"text": True})
        self._rounds = int(rounds)

    @property
    def identity(self):
        return {"backend": "hashing", "rounds": self._rounds}

    def respond(self, requests):
        return [self._answer(request.text) for request in requests]

    def _answer(self, text):
        value = text.encode()
        for _ in range(self._rounds):
            value = hashlib.sha256(value).hexdigest().encode()
        return Response.of_text(text)
'''
_ROUNDS = 20_000
_BARE = """\
import hashlib, sys, time

rounds, n = int(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
input()
began = time.perf_counter()
for number in range(n):
    value = f"Question {number} of many".encode()
    for _ in range(rounds):
        value = hashlib.sha256(value).hexdigest().encode()
print(time.perf_counter() - began)
"""
_CHILD = """\
import json, sys, time
import polymeter

rounds, replicas, output = int(sys.argv[1]), int(sys.argv[2]) or None, sys.argv[3]
executor = sys.argv[5]
if executor == "ray":
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
began = time.process_time()
result = polymeter.evaluate(
    "hashing", "task.yaml", imports=["hashing.py"], model_args={"rounds": rounds}, replicas=replicas, output=output,
    cpus_per_replica=1 if replicas else None, limit=int(sys.argv[4]), cache_dir="cache", executor=executor,
)
assert result.n_failed == 0, result
print(json.dumps({"cpu_s": time.process_time() - began}))
"""


def main() -> None:
    """Measure, and print one line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replicas")
    parser.add_argument("--small", action="store_true", help="fewer samples and one round, to see that it works")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="polymeter-bench-") as folder:
        if options.small:
            measure_replicas(Path(folder), Book(), n_long=N_SHORT + 2_000, n_computed=40, n_rounds=1)
        else:
            measure_replicas(Path(folder), Book())


def measure_replicas(
    folder: Path, book: Book, *, n_long: int = N_LONG, n_computed: int = N_COMPUTED, n_rounds: int = N_ROUNDS
) -> None:
    """Print the cost of a sample and the gain of a second replica, the ways in turn.

    Args:
        folder: An empty folder.
        book: Where the lines go.
        n_long: Samples of the longer run.
        n_computed: Samples of the runs whose model computes.
        n_rounds: How often each is measured; the median counts.
    """
    rows = (json.dumps({"text": f"Question {number} of many"}) for number in range(n_long))
    (folder / "rows.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "task.yaml").write_text(_TASK, encoding="utf-8")
    (folder / "hashing.py").write_text(_MODEL, encoding="utf-8")
    costs: dict[str, list[float]] = {"alone": [], "local": []} | ({"ray": []} if find_spec("ray") else {})
    for number in range(n_rounds):
        for how, found in costs.items():
            words = {"replicas": 0} if how == "alone" else {"replicas": 2, "executor": how}
            short, long = (_run(folder, 0, f"{number}-{how}-{n}", n, **words) for n in (N_SHORT, n_long))
            found.append((long["cpu_s"] - short["cpu_s"]) / (n_long - N_SHORT) * 1000)
    alone, *others = (median(found) for found in costs.values())
    for where, shared in zip(("processes", "Ray"), others, strict=False):
        told = f"{shared:.3f} ms of the run's processor time, {alone:.3f} ms without replicas"
        book.line(f"a sample, two replicas, {where}", told, f"at most {BUDGET_MS} ms", seconds=dict(costs))
    times: dict[int, list[float]] = {1: [], 2: []}
    for number in range(n_rounds):
        for replicas, found in times.items():
            run = _run(folder, _ROUNDS, f"gain-{number}-{replicas}", n_computed, replicas=replicas)
            found.append(run["computed_s"])
    one, two = (median(found) for found in times.values())
    bare = median(_bare_s(n_computed, 1) / _bare_s(n_computed, 2) for _ in range(n_rounds))
    told = f"{one / two:.2f} x one replica ({one:.1f} s, {two:.1f} s); two bare processes {bare:.2f} x one"
    book.line("two replicas of one thread", told, f"at least {GAIN} x", seconds={"1": times[1], "2": times[2]})


def _bare_s(n_computed: int, n_processes: int) -> float:
    """Wall time in which so many bare processes together compute what the model of the runs does for its samples."""
    words = [sys.executable, "-c", _BARE, str(_ROUNDS), str(n_computed // n_processes)]
    with ExitStack() as running:
        started = [
            running.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(n_processes)
        ]
        for process in started:
            process.stdout.readline()  # type: ignore[union-attr]
        for process in started:
            process.stdin.write("go\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
        return max(float(process.communicate()[0]) for process in started)


def _run(folder: Path, rounds: int, name: str, limit: int, *, replicas: int, executor: str = "local") -> dict[str, Any]:
    """One run: the processor time of its own process, and the wall time from its first replica to its last answer."""
    words = [sys.executable, "-c", _CHILD, str(rounds), str(replicas), name, str(limit), executor]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    part = json.loads((folder / name / "run.json").read_text(encoding="utf-8"))["sessions"][-1]
    slots = (part["lanes"]["model"].get("replicas") or {}).get("slots") or ()
    return {**found, "computed_s": max((slot["ready_s"] for slot in slots), default=0.0)}


if __name__ == "__main__":
    main()
