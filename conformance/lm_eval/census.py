"""The census: every name of the installed lm-eval listed, checked and opened on made rows, and why what fails fails.

A name is *listed* if the catalog has it; *checked* if it is resolved and its configuration read, without data; a task
is *opened* if it is compiled on rows that were made for tasks like it, and the prompt of its first sample is made.
Rows count as made if lm-eval reads them in one of the tasks that share them. A task that does not open here is opened
in lm-eval too, so that a failure of ours alone shows. ``--every N`` opens a sample of one task in N.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.answers import generator

SECONDS = 30
WORKERS = min(2, len(os.sched_getaffinity(0)))  # processes at a time
LEAST_SHARE = 12_500 / 13_093
ENOUGH_FAILURES = 2
PACKAGE = "a package that is not installed"
NETWORK = "data, a metric or a tokenizer from the network"
ROWS = "rows that the generator cannot make"
THEIRS = "a fault of the task or of lm-eval"
OURS = "a fault of ours"
REFUSED = "a fault of the task that is refused on purpose"
# What the text of a failure tells, tried in order.
CLASSES: Sequence[tuple[str, str]] = (
    (REFUSED, r"results of a group are means|There is no task, group or tag"),
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


def classify(here: str, there: str | None, made: str | None) -> str:
    """Whose fault it is that a name is not checked, or a task does not open here.

    Args:
        here: Why Polymeter does not open it.
        there: Why lm-eval does not open it; empty if it does, ``None`` if it was not tried.
        made: Why no rows were made for it; empty if they were.
    """
    if there == "":
        return kind_of_failure(here) or OURS
    if made and kind_of_failure(here) != PACKAGE:
        here = made  # without rows nothing opens, and what is missing then is the data itself
    if told := kind_of_failure(here) or kind_of_failure(there or ""):
        return told
    return THEIRS if is_fault_of_code(there or made or "") else ROWS


def is_fault_of_code(text: str) -> bool:
    """Whether lm-eval fails whatever the rows are: names that do not exist, fields that it does not know."""
    return (
        re.search(
            r"NameError|UnboundLocal|unexpected keyword|has no function|cannot import|Cannot import|Include cycle"
            r"|not a registered|is not a string!|is not defined|SyntaxError|No such file|FileNotFound"
            r"|multiple values for",
            text,
        )
        is not None
    )


def sampled(names: Sequence[str], every: int) -> set[str]:
    """One name in some, drawn with a fixed seed: a share of every folder of tasks; all of them if each is wanted."""
    ordered = sorted(names)
    return set(ordered) if every == 1 else set(generator("census", every).sample(ordered, len(ordered) // every))


def make(work: Path, seed: int, number: int, every: int) -> None:
    """Make rows for every kind of task, every `WORKERS`-th of them; in lm-eval's environment."""
    from conformance.lm_eval import installed
    from conformance.lm_eval.fitting import MOST_REPAIRS, Fitting
    from conformance.lm_eval.published import Published, published_tasks

    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    out = work / f"rows-{number}.jsonl"
    done = {line["key"] for line in lines_of(work, "rows")}
    by_place: dict[str, dict[str, Published]] = {}
    n_tasks = Counter[str]()
    tasks = published_tasks(manager)
    if number == 0:
        write_index(work, tasks, manager)
    wanted = sampled(list(tasks), every)
    for task in tasks.values():
        if not task.is_class and task.name in wanted:
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
            return ""
        # The first failure tells more than those that other forms led to.
        return fitting.failure if kind_of_failure(fitting.failure) else fitting.first_failure

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


def write_index(work: Path, tasks: Mapping[str, Any], manager: Any) -> None:
    """What lm-eval's index has, as ``index.json``: the other sides need no lm-eval for it."""
    index = {
        "tasks": {
            name: {"dataset": task.dataset if task.config.get("dataset_path") else "", "key": task.rows_key}
            for name, task in tasks.items()
        },
        "classes": [name for name, task in tasks.items() if task.is_class],
        "groups": manager.all_groups,
        "tags": manager.all_tags,
    }
    (work / "index.json").write_text(json.dumps(index), encoding="utf-8")


def there(work: Path, number: int) -> None:
    """Open in lm-eval what does not open here, every `WORKERS`-th of the tasks."""
    from conformance.lm_eval import installed
    from conformance.lm_eval.fitting import made_task
    from conformance.lm_eval.published import published_tasks

    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    tasks = published_tasks(manager)
    out = work / f"there-{number}.jsonl"
    done = {line["name"] for line in lines_of(work, "there")}
    made = rows_made(work)
    failed = sorted(
        line["name"] for line in lines_of(work, "here") if line["tried"] and (line["check"] or line["open"])
    )
    for name in failed[number::WORKERS]:
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


def here(work: Path, number: int, every: int) -> None:
    """List and check every name in Polymeter, and open the tasks, every `WORKERS`-th of them."""
    from conformance.lm_eval.ours import tasks_root
    from polymeter.catalog.listing import build_catalog
    from polymeter.catalog.trying import first_prompt
    from polymeter.run.plan.selection import select

    contained.only_this_machine()
    index = json.loads((work / "index.json").read_text(encoding="utf-8"))
    catalog = build_catalog([tasks_root()])
    out = work / f"here-{number}.jsonl"
    done = {line["name"] for line in lines_of(work, "here")}
    listed = {entry.name for entry in catalog}
    made = rows_made(work)
    names = sorted([*index["tasks"], *index["groups"]])
    wanted = sampled(list(index["tasks"]), every)
    for name in names[number::WORKERS]:
        if name in done:
            continue
        task = index["tasks"].get(name)
        is_tried = name in wanted
        line: dict[str, Any] = {"name": name, "is_listed": name in listed, "check": "", "open": "", "tried": is_tried}
        step = "check"
        try:
            with contained.time_limit(SECONDS):
                specs = select([name], catalog).tasks
                step = "open"
                if task is not None and is_tried:
                    rows = work / "rows" / task["key"]
                    has_rows = task["dataset"] and not made.get(task["key"], "no rows")
                    data = {task["dataset"]: str(rows)} if has_rows else {}
                    opened = _opened(specs[0], data)
                    first_prompt(opened, opened.samples[0])
        except (Exception, SystemExit, contained.OutOfTime) as error:
            line[step] = _whole(error)
        append_line(out, line)


def _opened(spec: Any, data: Mapping[str, str]) -> Any:
    """A task on its rows; where its code opens a configuration of its own, they are that configuration's too."""
    from polymeter.catalog.trying import open_spec
    from polymeter.core.errors import DataError

    try:
        return open_spec(spec, data)
    except DataError as error:
        wanted = re.search(r"There is no configuration '([^']+)'", str(error))
        if wanted is None:
            raise
        return open_spec(spec, {f"{name}:{wanted[1]}": rows for name, rows in data.items()})


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
    return {line["key"]: line["failure"] for line in lines_of(work, "rows")}


def lines_of(work: Path, side: str) -> Iterator[dict[str, Any]]:
    """What all processes of a side observed."""
    return (line for file in sorted(work.glob(f"{side}-*.jsonl")) for line in read_lines(file))


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
    ours = {line["name"]: line for line in lines_of(work, "here")}
    theirs = {line["name"]: line["failure"] for line in lines_of(work, "there")}
    made = rows_made(work)
    is_good = True
    for title, names in (
        ("tasks", [name for name in index["tasks"] if name not in set(index["classes"])]),
        ("classes in Python", index["classes"]),
        ("groups", index["groups"]),
    ):
        looked = [name for name in names if name in ours]
        is_good = _report_kind(title, looked, ours, theirs, {**index, "made": made}) and is_good
    return is_good


def _report_kind(
    title: str,
    names: Sequence[str],
    ours: Mapping[str, Mapping[str, Any]],
    theirs: Mapping[str, str],
    index: Mapping[str, Any],
) -> bool:
    n_listed = sum(bool(ours[name]["is_listed"]) for name in names)
    n_checked = sum(not ours[name]["check"] for name in names)
    print(f"{len(names)} {title}: {n_listed} listed, {n_checked} checked")
    tried = [name for name in names if ours[name]["tried"]]
    if tried:
        n_open = sum(not ours[name]["check"] and not ours[name]["open"] for name in tried)
        n_there = sum(theirs.get(name) == "" for name in tried)
        print(f"  {len(tried)} of them tried on rows: {n_open} open here; of the rest, {n_there} open in lm-eval")
    kinds: dict[str, list[str]] = {}
    for name in names:
        if why := ours[name]["check"] or ours[name]["open"]:
            key = index["tasks"].get(name, {}).get("key", "")
            kinds.setdefault(classify(why, theirs.get(name), index["made"].get(key)), []).append(name)
    for kind, members in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"  {len(members)}: {kind}")
        reasons: dict[str, list[str]] = {}
        for name in members:
            reasons.setdefault((ours[name]["check"] or ours[name]["open"])[:200], []).append(name)
        for text, alike in sorted(reasons.items(), key=lambda item: -len(item[1]))[:25]:
            print(f"    {len(alike)} like {alike[0]}: {text}")
    n_without_fault = len(tried) - len([name for name in kinds.get(OURS, ()) if ours[name]["tried"]])
    if tried:
        print(f"  {n_without_fault} of {len(tried)} without a fault of ours")
    is_enough = title != "tasks" or n_without_fault >= LEAST_SHARE * len(tried)
    return is_enough and n_listed == len(names)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--side", choices=["make", "there", "here", "report"])
    parser.add_argument("--every", type=int, default=1, help="open one task in so many")
    parser.add_argument("--number", type=int, default=0, help="which part of the names")
    arguments = parser.parse_args()
    if arguments.side == "make":
        make(arguments.work, arguments.seed, arguments.number, arguments.every)
    elif arguments.side == "here":
        here(arguments.work, arguments.number, arguments.every)
    elif arguments.side == "there":
        there(arguments.work, arguments.number)
    elif arguments.side == "report":
        return 0 if report(arguments.work) else 1
    else:
        run(arguments.work, arguments.seed, arguments.every)
        return 0 if report(arguments.work) else 1
    return 0


def run(work: Path, seed: int, every: int) -> None:
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
        "OMP_NUM_THREADS": "1",
    }

    def part(side: str, number: int) -> None:
        words = ["--work", str(work), "--seed", str(seed), "--side", side, "--number", str(number)]
        words += ["--every", str(every)]
        log = work / f"{side}-{number}.log"
        # A task may end the process; what was noted before it is kept, and a second attempt goes on.
        for _ in range(3):
            if run_child(Path(sys.executable), __spec__.name, words, environment=variables, log=log) == 0:
                return

    for side in ("make", "here", "there"):
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(part, [side] * WORKERS, range(WORKERS)))


if __name__ == "__main__":
    sys.exit(main())
