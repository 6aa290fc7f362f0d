"""The census: every name of the installed lm-eval listed, checked and opened on made rows, and why what fails fails.

A task is *listed* if the catalog has it; *checked* if its configuration is read and its functions are found, without
data; *opened* if it is compiled on rows that were made for tasks like it, and the prompt of its first sample is made.
lm-eval opens the same rows, so that a failure of ours alone shows.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import contained

SECONDS = 30
WORKERS = 2
LEAST_OPEN = 12_500
ENOUGH_FAILURES = 2
PACKAGE = "a package that is not installed"
NETWORK = "data, a metric or a tokenizer from the network"
ROWS = "rows that the generator cannot make"
THEIRS = "a fault of the task or of lm-eval"
OURS = "a fault of ours"
REFUSED = "a fault of the task that is refused on purpose"
# What the text of a failure tells, tried in order.
CLASSES: Sequence[tuple[str, str]] = (
    (PACKAGE, r"ModuleNotFoundError|No module named|ImportError|is not installed|pip install|needs? the package"),
    (
        NETWORK,
        r"Hugging Face Hub|huggingface|LocalEntryNotFound|ConnectionError|gaierror|not this machine|offline|OfflineMode"
        r"|MaxRetry|Hub\b|LookupError: \*+|couldn't connect|URLError",
    ),
)


def kind_of_failure(text: str) -> str:
    """What is missing, by the text of a failure; empty if it does not tell."""
    return next((name for name, pattern in CLASSES if re.search(pattern, text)), "")


def classify(name: str, here: str, there: str | None, made: str | None) -> str:
    """Whose fault it is that a task does not open here.

    Args:
        name: The task.
        here: Why Polymeter does not open it.
        there: Why lm-eval does not open it; empty if it does, ``None`` if it was not tried.
        made: Why no rows were made for it; empty if they were.
    """
    if there == "":
        return kind_of_failure(here) or OURS
    told = kind_of_failure(here) or kind_of_failure(there or "") or kind_of_failure(made or "")
    if told:
        return told
    return THEIRS if is_fault_of_code(there or made or "") else ROWS


def is_fault_of_code(text: str) -> bool:
    """Whether lm-eval fails whatever the rows are: names that do not exist, fields that it does not know."""
    return (
        re.search(
            r"NameError|UnboundLocal|unexpected keyword|has no function|cannot import|Cannot import|Include cycle"
            r"|not a registered|is not defined|SyntaxError|No such file|FileNotFound|multiple values for",
            text,
        )
        is not None
    )


def make(work: Path, seed: int, number: int) -> None:
    """Make rows for every kind of task, every `WORKERS`-th of them; in lm-eval's environment."""
    from conformance.lm_eval import installed
    from conformance.lm_eval.fitting import MOST_REPAIRS, Fitting
    from conformance.lm_eval.published import Published, published_tasks

    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    out = work / f"rows-{number}.jsonl"
    done = {line["key"] for line in read_lines(out)}
    by_place: dict[str, dict[str, Published]] = {}
    n_tasks = Counter[str]()
    for task in published_tasks(manager).values():
        if not task.is_class:
            by_place.setdefault(task.place, {}).setdefault(task.rows_key, task)
            n_tasks[task.rows_key] += 1
    forms: dict[str, dict[str, str]] = {}
    failures = Counter[tuple[str, str]]()

    def fitted(task: Published, most_repairs: int) -> str:
        """Why no rows fit; empty if some do. Forms that fitted a task of the folder are tried first."""
        fitting = Fitting(task, work / "rows" / task.rows_key, seed, places)
        is_made = fitting.fit(manager, forms.get(task.place), most_repairs)
        if not is_made and most_repairs > 1 and task.place in forms:
            fitting = Fitting(task, work / "rows" / task.rows_key, seed, places)
            is_made = fitting.fit(manager, None, most_repairs)
        if is_made:
            found = fitting.shape.kinds.items()
            forms[task.place] = {name: form for name, form in found if not form.startswith("=")}
        return fitting.failure

    left: list[Published] = []
    for place in sorted(by_place)[number::WORKERS]:
        for count, (key, task) in enumerate(by_place[place].items()):
            if key in done:
                continue
            failure = fitted(task, 1 if count else MOST_REPAIRS)
            if failure and count:
                left.append(task)
            else:
                append_line(out, {"key": key, "task": task.name, "failure": failure})
    # What needs another form comes last, the rows that serve most tasks first.
    for task in sorted(left, key=lambda task: -n_tasks[task.rows_key]):
        is_hopeless = max((n for (at, _), n in failures.items() if at == task.place), default=0) >= ENOUGH_FAILURES
        failure = fitted(task, 4 if is_hopeless else MOST_REPAIRS)
        failures[task.place, failure[:40]] += bool(failure)
        append_line(out, {"key": task.rows_key, "task": task.name, "failure": failure})


def there(work: Path, number: int) -> None:
    """Open every task in lm-eval, every `WORKERS`-th of them; its index goes to ``index.json``."""
    from conformance.lm_eval import installed
    from conformance.lm_eval.fitting import made_task
    from conformance.lm_eval.published import published_tasks

    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    tasks = published_tasks(manager)
    if number == 0:
        index = {
            "tasks": {name: {"dataset": task.dataset, "key": task.rows_key} for name, task in tasks.items()},
            "classes": [name for name, task in tasks.items() if task.is_class],
            "groups": manager.all_groups,
            "tags": manager.all_tags,
        }
        (work / "index.json").write_text(json.dumps(index), encoding="utf-8")
    out = work / f"there-{number}.jsonl"
    done = {line["name"] for line in read_lines(out)}
    made = rows_made(work)
    for name in sorted(tasks)[number::WORKERS]:
        if name in done or (made.get(tasks[name].rows_key, "no rows") and not tasks[name].is_class):
            continue
        places["current"] = str(work / "rows" / tasks[name].rows_key)
        try:
            with contained.time_limit(SECONDS):
                made_task(name, manager)
            failure = ""
        except (Exception, SystemExit, contained.OutOfTime) as error:
            failure = contained.reason(error)
        append_line(out, {"name": name, "failure": failure})


def here(work: Path, number: int) -> None:
    """List, check and open every name in Polymeter, every `WORKERS`-th of them."""
    from conformance.lm_eval.ours import tasks_root
    from polymeter.api.tasks import build_catalog
    from polymeter.api.trying import first_prompt, open_spec
    from polymeter.engine.selection import select

    contained.only_this_machine()
    index = json.loads((work / "index.json").read_text(encoding="utf-8"))
    catalog = build_catalog([tasks_root()])
    out = work / f"here-{number}.jsonl"
    done = {line["name"] for line in read_lines(out)}
    listed = {entry.name for entry in catalog}
    made = rows_made(work)
    names = sorted([*index["tasks"], *index["groups"]])
    for name in names[number::WORKERS]:
        if name in done:
            continue
        line: dict[str, Any] = {"name": name, "is_listed": name in listed, "check": "", "open": ""}
        task = index["tasks"].get(name)
        step = "check"
        try:
            with contained.time_limit(SECONDS):
                specs = select([name], catalog).tasks
                step = "open"
                if task is not None:
                    rows = work / "rows" / task["key"]
                    data = {} if made.get(task["key"], "") else {task["dataset"]: str(rows)}
                    opened = open_spec(specs[0], data)
                    first_prompt(opened, opened.samples[0])
        except (Exception, SystemExit, contained.OutOfTime) as error:
            line[step] = _whole(error)
        append_line(out, line)


def _whole(error: BaseException) -> str:
    """An error with what caused it."""
    causes: list[str] = []
    one: BaseException | None = error
    while one is not None and len(causes) < 3:
        causes.append(contained.reason(one))
        one = one.__cause__ or one.__context__
    return " ← ".join(causes)


def rows_made(work: Path) -> dict[str, str]:
    """Why no rows were made, by kind of rows; empty if they were."""
    lines = (line for file in sorted(work.glob("rows-*.jsonl")) for line in read_lines(file))
    return {line["key"]: line["failure"] for line in lines}


def read_lines(file: Path) -> list[dict[str, Any]]:
    """The lines of a file of observations; none if there is no file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []


def append_line(file: Path, line: Mapping[str, Any]) -> None:
    """Add a line to a file of observations."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def report(work: Path) -> bool:
    """Print the census; whether enough tasks open, and what does not is no fault of ours."""
    index = json.loads((work / "index.json").read_text(encoding="utf-8"))
    ours = {line["name"]: line for file in sorted(work.glob("here-*.jsonl")) for line in read_lines(file)}
    theirs = {line["name"]: line["failure"] for file in sorted(work.glob("there-*.jsonl")) for line in read_lines(file)}
    made = rows_made(work)
    is_good = True
    for title, names in (
        ("tasks", [name for name in index["tasks"] if name not in set(index["classes"])]),
        ("classes in Python", index["classes"]),
        ("groups", index["groups"]),
    ):
        tried = [name for name in names if name in ours]
        is_good = _report_kind(title, tried, ours, theirs, {**index, "made": made}) and is_good
    n_open = sum(not ours[name]["check"] and not ours[name]["open"] for name in index["tasks"] if name in ours)
    print(f"{n_open} tasks open ({LEAST_OPEN} needed)")
    return is_good and n_open >= LEAST_OPEN


def _report_kind(
    title: str,
    names: Iterable[str],
    ours: Mapping[str, Mapping[str, Any]],
    theirs: Mapping[str, str],
    index: Mapping[str, Any],
) -> bool:
    names = list(names)
    n_listed = sum(bool(ours[name]["is_listed"]) for name in names)
    n_checked = sum(not ours[name]["check"] for name in names)
    failed = [name for name in names if ours[name]["check"] or ours[name]["open"]]
    n_there = sum(theirs.get(name) == "" for name in names)
    print(f"{len(names)} {title}: {n_listed} listed, {n_checked} checked, {len(names) - len(failed)} opened", end="")
    print(f"; lm-eval opens {n_there}" if title != "groups" else "")
    kinds: dict[str, list[str]] = {}
    for name in failed:
        key = index["tasks"].get(name, {}).get("key", "")
        why = ours[name]["check"] or ours[name]["open"]
        kinds.setdefault(classify(name, why, theirs.get(name), index["made"].get(key)), []).append(name)
    for kind, members in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"  {len(members)}: {kind}")
        reasons = Counter((ours[name]["check"] or ours[name]["open"])[:160] for name in members)
        for text, count in reasons.most_common(25):
            example = next(name for name in members if (ours[name]["check"] or ours[name]["open"])[:160] == text)
            print(f"    {count} like {example}: {text}")
    return OURS not in kinds and n_listed == len(names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--side", choices=["make", "there", "here", "report"])
    parser.add_argument("--number", type=int, default=0, help="which part of the names")
    arguments = parser.parse_args()
    if arguments.side == "make":
        make(arguments.work, arguments.seed, arguments.number)
    elif arguments.side in {"there", "here"}:
        (there if arguments.side == "there" else here)(arguments.work, arguments.number)
    elif arguments.side == "report":
        return 0 if report(arguments.work) else 1
    else:
        run(arguments.work, arguments.seed)
        return 0 if report(arguments.work) else 1
    return 0


def run(work: Path, seed: int) -> None:
    """All sides, each in `WORKERS` processes; what was done before is not done again."""
    from concurrent.futures import ThreadPoolExecutor

    from conformance.frame import run_child

    variables = {
        "HF_HUB_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "HF_EVALUATE_OFFLINE": "1",
        "HF_HOME": str(work / "hf"),
        "OPENAI_API_KEY": "none",
        "TOKENIZERS_PARALLELISM": "false",
    }

    def part(side: str, number: int) -> None:
        words = ["--work", str(work), "--seed", str(seed), "--side", side, "--number", str(number)]
        log = work / f"{side}-{number}.log"
        # A task may end the process; what was noted before it is kept, and a second attempt goes on.
        for _ in range(3):
            if run_child(Path(sys.executable), __spec__.name, words, environment=variables, log=log) == 0:
                return

    for side in ("make", "there", "here"):
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(part, [side] * WORKERS, range(WORKERS)))


if __name__ == "__main__":
    sys.exit(main())
