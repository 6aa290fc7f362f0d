"""``leaderboard``: the run folders of many models, made once."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks import data
from benchmarks.measure import polymeter


def many_runs(folder: Path, n_runs: int, n_tasks: int, n_docs: int) -> Path:
    """A folder with runs of different models, more and less able, on tasks of short text questions.

    One is measured; the others are its folder with other answers right, as their own runs would have written it.
    """
    tasks = data.text_task(folder, n_docs)
    source = (tasks / "bench_text.yaml").read_text()
    names = [f"bench_text_{number:02}" for number in range(n_tasks)]
    (tasks / "bench_text.yaml").unlink()
    for name in names:
        (tasks / f"{name}.yaml").write_text(source.replace("task: bench_text", f"task: {name}"))
    chosen = ("--model", "mock", "--model-args", "mode=gold", "--tasks", "bench_text_*", "--include-path", str(tasks))
    polymeter("run", *chosen, "--output", "made", "-q", cwd=folder)
    made = folder / "made"
    manifest = json.loads((made / "run.json").read_text())
    results = json.loads((made / "results.json").read_text())
    for number in range(n_runs):
        _write_run(folder / "runs" / f"run-{number:03}", number, manifest, results, made / "journal.db")
    return folder


def _write_run(run: Path, number: int, manifest: dict, results: dict, journal: Path) -> None:  # type: ignore[type-arg]
    run.mkdir(parents=True)
    own, told = copy.deepcopy(manifest), copy.deepcopy(results)
    told["model"] = own["model"]["name"] = f"model-{number:03}"
    own["identity"]["model"]["seed"] = number
    luck = random.Random(number)
    share = 0.5 + 0.4 * luck.random()
    with closing(sqlite3.connect(journal)) as source, closing(sqlite3.connect(run / "journal.db")) as copied:
        source.backup(copied)
        ids = dict(copied.execute("SELECT name, id FROM tasks"))
        for name, task in told["tasks"].items():
            n = task["n_samples"]
            wrong = [place for place in range(n) if luck.random() >= share]
            copied.executemany(
                "UPDATE scores SET body=replace(body, '1.0]', '0.0]') WHERE task=? AND sample=?",
                ((ids[name], place) for place in wrong),
            )
            for result in task["results"]:
                result["value"] = 1 - len(wrong) / n
                result["stderr"] = (result["value"] * (1 - result["value"]) / (n - 1)) ** 0.5
                half = 1.96 * result["stderr"]
                result["interval"] = [result["value"] - half, result["value"] + half]
        copied.commit()
    (run / "run.json").write_text(json.dumps(own, indent=2))
    (run / "results.json").write_text(json.dumps(told, indent=2))
