"""The suite against lmms-eval: prepare rows, run both tools, compare."""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conformance.comparing import Observations, check_rows, compare, print_comparison, same
from conformance.frame import MODELS, plain, python_of, read_observations, run_child
from conformance.groups import GroupSuite
from conformance.judge import judge_endpoint
from conformance.lmms_eval.expected import EXPECTED, EXPECTED_OF_GROUPS
from conformance.lmms_eval.original import OTHER_DRAW
from conformance.logs.checking import check

ENVIRONMENT = ".venv-lmms-eval"
LEAST_TASKS = 120
LEAST_GROUPS = 8
_MEDIA = ("image", "images", "audio")
WORKERS = 3
HERE = "conformance.lmms_eval"


def run(seed: int, work: Path, parity: str, only: str) -> bool:
    """Run the suite; whether every number is equal or has its row."""
    if missing := check_rows(EXPECTED):
        print(f"docs/differences.md has no row named {', '.join(missing)}")
        return False
    with judge_endpoint() as url:
        stage = _Stage(work, url)
        names = _chosen(stage, only)
        book = _prepare(stage, names, seed)
        usable = sorted(name for name, entry in book.items() if "failure" not in entry)
        print(f"{len(names)} published tasks tried, {len(usable)} read generated rows")
        _print_failures(book)
        theirs = stage.observe("original", usable, "original")
        telling = [name for name in usable if _tells(theirs, name)]
        print(f"{len(telling)} of them tell the three models apart in lmms-eval")
        drawn = [name for name in telling if _depends_on_draws(theirs, name)]
        if drawn:
            print(f"{len(drawn)} draw random numbers there, and are left out: {', '.join(drawn)}")
        telling = [name for name in telling if name not in drawn]
        theirs = {key: one for key, one in theirs.items() if key[0] in telling}
        is_good = True
        for switched in [mode for mode in ("off", "on") if parity in (mode, "both")]:
            ours = stage.observe("ours", telling, f"ours-{switched}", *(["--parity"] if switched == "on" else []))
            made = compare(theirs, ours, [rule for rule in EXPECTED if switched == "off" or rule.stays])
            title = "with --parity lmms-eval" if switched == "on" else "without --parity"
            is_good = print_comparison(made, title, LEAST_TASKS if only == "*" else 1) and is_good
            _print_kinds(made.tasks, book)
        is_good = _groups(stage, only, parity) and is_good
        return check("lmms-eval", work / "logs", stage.python) and is_good


def _print_kinds(names: Iterable[str], book: Mapping[str, Mapping[str, Any]]) -> None:
    """How many of the compared tasks have which output type, kind of model, media and hooks."""
    entries = [book[name] for name in names]
    media = [{kind for kind in entry["columns"].values() if kind in _MEDIA} for entry in entries]
    counts = {
        "output types": Counter(str(entry.get("output_type")) for entry in entries),
        "wrappers": Counter(str(entry["kind"]) for entry in entries),
        "media whose form had to be found": Counter(kind for kinds in media for kind in kinds),
        "hooks": Counter(hook for entry in entries for hook in entry.get("hooks", ())),
    }
    for title, counted in counts.items():
        print(f"  {title}: {', '.join(f'{name} {count}' for name, count in counted.most_common()) or 'none'}")


def _groups(stage: _Stage, only: str, parity: str) -> bool:
    """Compare the numbers of groups; whether all are equal or have their row."""
    suite = GroupSuite(
        name="lmms-eval",
        module=f"{HERE}.groups",
        work=stage.work,
        python=stage.python,
        variables=stage.variables,
        expected=EXPECTED_OF_GROUPS,
        least=LEAST_GROUPS,
    )
    return suite.run(only, parity)


def census(work: Path) -> bool:
    """The loading census: every task file of the installed package, planned by Polymeter."""
    return run_child(python_of(ENVIRONMENT), f"{HERE}.census", ["--work", str(work)]) == 0


class _Stage:
    """Drivers in lmms-eval's environment, several at a time."""

    def __init__(self, work: Path, url: str) -> None:
        self.work = work
        self.python = python_of(ENVIRONMENT)
        self.variables = {
            "HF_HUB_OFFLINE": "1",
            "HF_HOME": str(work / "hf"),
            "LMMS_EVAL_HOME": str(work / "lmms"),
            "PROCESSOR": "judge",
            "OPENAI_API_KEY": "none",
            "OPENAI_API_URL": f"{url}/chat/completions",
            "OPENAI_BASE_URL": url,
            "OPENAI_API_BASE": url,
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONHASHSEED": "0",
        }
        (work / "hf").mkdir(exist_ok=True)
        _make_downloaded(work / "hf")

    def shards(self, module: str, label: str, names: list[str], *more: str) -> None:
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda number: self.shard(module, label, names, number, *more), range(WORKERS)))

    def shard(self, module: str, label: str, names: list[str], number: int, *more: str) -> None:
        folder = self.work / f"{label}-{number}"
        folder.mkdir(exist_ok=True)
        (folder / "names.json").write_text(json.dumps(names[number::WORKERS]), encoding="utf-8")
        given = ["--work", str(self.work), "--names", str(folder / "names.json"), *more]
        given = [one.replace("{folder}", str(folder)) for one in given]
        log = self.work / f"{label}-{number}.log"
        # A task that ends the process is marked before it runs, so the second attempt passes it by.
        for _ in range(5):
            if run_child(self.python, f"{HERE}.{module}", given, environment=self.variables, log=log) == 0:
                return

    def observe(self, module: str, names: list[str], label: str, *more: str) -> Observations:
        book = str(self.work / "book.json")
        self.shards(module, label, names, "--book", book, "--out", "{folder}/observed.jsonl", *more)
        made: dict[tuple[str, str], object] = {}
        for number in range(WORKERS):
            made.update(read_observations(self.work / f"{label}-{number}" / "observed.jsonl"))
        return made  # type: ignore[return-value]


def _chosen(stage: _Stage, only: str) -> list[str]:
    out = stage.work / "names.json"
    run_child(stage.python, f"{HERE}.choosing", [str(out)], environment=stage.variables)
    return [name for name in json.loads(out.read_text(encoding="utf-8")) if fnmatch.fnmatchcase(name, only)]


def _prepare(stage: _Stage, names: list[str], seed: int) -> dict[str, dict[str, Any]]:
    stage.shards("prepare", "prepare", names, "--seed", str(seed), "--book", "{folder}/book.json")
    book: dict[str, dict[str, Any]] = {}
    for number in range(WORKERS):
        file = stage.work / f"prepare-{number}" / "book.json"
        book.update(json.loads(file.read_text(encoding="utf-8")) if file.exists() else {})
    (stage.work / "book.json").write_text(json.dumps(book), encoding="utf-8")
    return book


def _tells(theirs: Observations, name: str) -> bool:
    """Whether the original gave numbers that tell the three models apart."""
    made = [theirs.get((name, model)) for model in MODELS]
    if any(one is None or one.failure for one in made):
        return False
    values = [
        {key: value for key, value in one.values.items() if isinstance(value, (int, float)) and "_stderr" not in key}
        for one in made
        if one is not None
    ]
    return bool(values[0]) and all(values[a] != values[b] for a, b in ((0, 1), (0, 2), (1, 2)))


def _depends_on_draws(theirs: Observations, name: str) -> bool:
    """Whether its hooks draw random numbers there, or other ones gave other values: the row ‘random numbers in
    hooks’.
    """
    one, other = theirs.get((name, "messy")), theirs.get((name, OTHER_DRAW))
    return (
        one is None
        or other is None
        or any(made.has_draws for who in (*MODELS, OTHER_DRAW) if (made := theirs.get((name, who))))
        or not same([one.values, one.samples, one.prompts], [other.values, other.samples, other.prompts])
    )


def _make_downloaded(hub: Path) -> None:
    """What OVO-Bench looks for before it asks for a file: a folder that has a recording."""
    recording = hub / "ovobench" / "chunked_videos" / "any.mp4"
    recording.parent.mkdir(parents=True, exist_ok=True)
    recording.touch()


_CLASSES = (
    ("a package that is not installed", ("ModuleNotFoundError", "ImportError")),
    (
        "files from the network",
        ("LocalEntryNotFound", "ConnectionError", "gaierror", "OfflineMode", "MaxRetry", "LookupError: **", "Hub"),
    ),
    (
        "code that fails in lmms-eval whatever the rows are",
        ("NameError", "has no attribute '_", "module 'utils'", "UnboundLocal"),
    ),
    ("rows that the generator cannot make", ("",)),
)


def _print_failures(book: Mapping[str, Mapping[str, Any]]) -> None:
    counts = Counter[str]()
    for entry in book.values():
        if "failure" in entry:
            text = str(plain(entry["failure"]))
            counts[next(name for name, marks in _CLASSES if any(mark in text for mark in marks))] += 1
    for name, count in counts.most_common():
        print(f"  {count} tasks not run there: {name}")
