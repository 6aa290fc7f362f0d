"""The suite against lm-eval: prepare rows, run both tools on one checkpoint and on scripted answers, compare."""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conformance.answers import generator
from conformance.comparing import Expected, Observations, check_rows, compare, print_comparison
from conformance.frame import python_of, read_observations, run_child
from conformance.groups import GroupSuite
from conformance.lm_eval.cases import OTHER_WAYS, Case, Way
from conformance.lm_eval.expected import EXPECTED_OF_GROUPS, ROWS, expected_of
from conformance.logs.checking import check

ENVIRONMENT = ".venv-lm-eval"
LEAST_TASKS = 120
LEAST_GROUPS = 30
TOLERANCE = 1e-6
WORKERS = min(2, len(os.sched_getaffinity(0)))  # processes at a time
POSITIONS = 4096
HERE = "conformance.lm_eval"
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+>")


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run the suite; whether every number is equal or has its row."""
    if missing := check_rows([Expected(row) for row in ROWS]):
        print(f"docs/differences.md has no row named {', '.join(missing)}")
        return False
    stage = Stage(work)
    names = stage.chosen(only)
    book = stage.prepare(names, seed)
    usable = sorted(name for name, entry in book.items() if "failure" not in entry)
    print(f"{len(names)} published tasks tried, {len(usable)} read generated rows")
    cases = [Case(name, generator("way", seed, name).choice((Way(), Way(), *OTHER_WAYS))) for name in usable]
    theirs = stage.observe("original", cases, "original")
    addressed = sorted({name for (name, _), one in theirs.items() if any(map(_ADDRESS.search, one.prompts.values()))})
    if addressed:
        print(f"{len(addressed)} show addresses of memory to the model, and are left out: {', '.join(addressed)}")
    theirs = {key: one for key, one in theirs.items() if key[0] not in addressed}
    is_good = True
    for switched in [mode for mode in ("off", "on") if parity in (mode, "both")]:
        ours = stage.observe("ours", cases, f"ours-{switched}", *(["--parity"] if switched == "on" else []))
        made = compare(
            theirs,
            ours,
            [rule for rule in expected_of(cases, book, work / "rows") if switched == "off" or rule.stays],
            models_of=lambda case: models_in(theirs, case),
            tolerance=TOLERANCE,
        )
        made.same_for_all_models.clear()  # a task without generated text is answered by the checkpoint alone
        title = "with --parity lm-eval" if switched == "on" else "without --parity"
        is_good = print_comparison(made, title, LEAST_TASKS if only == "*" else 1) and is_good
        print_kinds([case for case in cases if case.name in made.tasks], book)
    groups = GroupSuite(
        name="lm-eval",
        module=f"{HERE}.groups",
        work=work,
        python=stage.python,
        variables=stage.variables,
        expected=EXPECTED_OF_GROUPS,
        least=LEAST_GROUPS,
        models=["computed"],
    )
    is_good = groups.run(only, parity) and is_good
    return check("lm-eval", work / "logs", stage.python) and is_good


def census(work: Path) -> bool:
    """The census: every name of the installed package, opened by both tools."""
    return run_child(python_of(ENVIRONMENT), f"{HERE}.census", ["--work", str(work)]) == 0


def models_in(theirs: Observations, case: str) -> Sequence[str]:
    """Who answered a case there."""
    return [model for name, model in theirs if name == case]


def print_kinds(cases: Iterable[Case], book: Mapping[str, Mapping[str, Any]]) -> None:
    """How many of the compared cases are of which kind."""
    cases = list(cases)
    entries = [book[case.task] for case in cases]
    counts = {
        "output types": Counter(str(entry["output_type"]) for entry in entries),
        "ways": Counter(case.way.name or "as the task says" for case in cases),
        "filters": Counter(name for entry in entries for name in entry["filters"]),
        "metrics": Counter(name for entry in entries for name in entry["metrics"]),
    }
    for title, counted in counts.items():
        print(f"  {title}: {', '.join(f'{name} {count}' for name, count in counted.most_common()) or 'none'}")


class Stage:
    """Drivers in lm-eval's environment, several at a time.

    Args:
        work: The folder for rows, observations and logs.
    """

    def __init__(self, work: Path) -> None:
        self.work = work
        self.python = python_of(ENVIRONMENT)
        self.variables = {
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "HF_EVALUATE_OFFLINE": "1",
            "HF_HOME": str(work / "hf"),
            "OPENAI_API_KEY": "none",
            "TOKENIZERS_PARALLELISM": "false",
            "OMP_NUM_THREADS": "1",  # the checkpoint is so small that threads would wait for each other
            "DISABLE_MULTIPROC": "1",
            "PYTHONHASHSEED": "0",
        }

    def chosen(self, only: str) -> list[str]:
        """The names of the tasks to try; the checkpoint is made, too."""
        out = self.work / "names.json"
        words = ["--out", str(out), "--checkpoint", str(self.work / "tiny"), "--positions", str(POSITIONS)]
        if run_child(self.python, f"{HERE}.cases", words, environment=self.variables, log=self.work / "cases.log"):
            raise SystemExit(f"No tasks could be chosen: see {self.work / 'cases.log'}")
        return [name for name in json.loads(out.read_text(encoding="utf-8")) if fnmatch.fnmatchcase(name, only)]

    def prepare(self, names: Sequence[str], seed: int) -> dict[str, dict[str, Any]]:
        """The book: what is known of each task, with the rows on disk."""
        self._shards("prepare", "prepare", names, "--seed", str(seed), "--book", "{folder}/book.json")
        book: dict[str, dict[str, Any]] = {}
        for number in range(WORKERS):
            file = self.work / f"prepare-{number}" / "book.json"
            book.update(json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})
        (self.work / "book.json").write_text(json.dumps(book), encoding="utf-8")
        return book

    def observe(self, module: str, cases: Sequence[Case], label: str, *more: str) -> Observations:
        """What one tool made of the cases."""
        book = str(self.work / "book.json")
        data = [case.as_data() for case in cases]
        self._shards(module, label, data, "--book", book, "--out", "{folder}/observed.jsonl", *more)
        made: dict[tuple[str, str], Any] = {}
        for number in range(WORKERS):
            made.update(read_observations(self.work / f"{label}-{number}" / "observed.jsonl"))
        return made

    def _shards(self, module: str, label: str, items: Sequence[Any], *more: str) -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda number: self._shard(module, label, items, number, *more), range(WORKERS)))

    def _shard(self, module: str, label: str, items: Sequence[Any], number: int, *more: str) -> None:
        folder = self.work / f"{label}-{number}"
        folder.mkdir(exist_ok=True)
        (folder / "names.json").write_text(json.dumps(items[number::WORKERS]), encoding="utf-8")
        given = ["--work", str(self.work), "--names", str(folder / "names.json"), *more]
        given = [one.replace("{folder}", str(folder)) for one in given]
        log = self.work / f"{label}-{number}.log"
        # A task that ends the process is marked before it runs, so the second attempt passes it by.
        for _ in range(5):
            if run_child(self.python, f"{HERE}.{module}", given, environment=self.variables, log=log) == 0:
                return
