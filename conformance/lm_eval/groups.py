"""Groups of published tasks: the numbers that a group makes of its members', in both tools.

Of each folder of tasks, groups with ``aggregate_metric_list`` that are unlike each other are tried, those with most
members first. A member reads rows that were made for tasks like it, each member fewer or more of them: so sizes
differ, and with them weighted means from plain ones. This runs in lm-eval's environment: ``members`` says what a group
needs, ``original`` and ``ours`` run it, both with answers that are computed from the text that the model is shown.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import Observation, plain, write_observation
from conformance.groups import copy_rows
from conformance.lm_eval import installed
from conformance.lm_eval.cases import RESAMPLES
from conformance.lm_eval.observing import observed_values
from conformance.lm_eval.ours import tasks_root

LEAST_ROWS, SIZES = 6, 3
PER_PLACE, MOST_MEMBERS = 2, 120
SECONDS = 300
WHO = "computed"


def chosen_groups(groups: Iterable[tuple[str, str, Any]], per_place: int = PER_PLACE) -> list[str]:
    """The names of groups that are unlike each other, some of each folder of tasks.

    Args:
        groups: Their names, their folders, and what `run.plan.selection.select` makes of each.
        per_place: How many of a folder.
    """
    made, seen, counts = [], set[object](), Counter[str]()
    for name, place, chosen in sorted(groups, key=lambda group: (-len(group[2].tasks), group[0])):
        kinds = sorted({_kind(one) for one in chosen.groups})
        key = (place, *kinds)
        if not any(one.aggregates for one in chosen.groups) or len(chosen.tasks) > MOST_MEMBERS:
            continue
        if key in seen or counts[place] >= per_place:
            continue
        seen.add(key)
        counts[place] += 1
        made.append(name)
    return sorted(made)


def _kind(group: Any) -> tuple[str, ...]:
    return tuple(sorted(json.dumps(dict(one), sort_keys=True, default=str) for one in group.aggregates))


def all_groups(only: str) -> Iterator[tuple[str, str, Any]]:
    """The groups of the installed package that a glob names, for `chosen_groups`."""
    from polymeter.catalog.listing import build_catalog
    from polymeter.run.plan.selection import select

    root = tasks_root()
    catalog = build_catalog([root], parity="lm-eval")
    folder = Path(root.partition(":")[2])
    for entry in sorted(catalog, key=lambda entry: entry.name):
        if entry.kind != "group" or not entry.is_user or not fnmatch.fnmatchcase(entry.name, only):
            continue
        try:
            with contained.time_limit(SECONDS):
                yield entry.name, entry.file.relative_to(folder).parts[0], select([entry.name], catalog)
        except Exception as error:
            print(f"{entry.name}: {contained.reason(error)}", flush=True)


def members(work: Path, seed: int, out: Path, only: str) -> None:
    """Write rows for all groups whose members can have some, and what was done to a list."""
    from pyarrow.lib import ArrowException

    from conformance.lm_eval.fitting import Fitting
    from conformance.lm_eval.published import published_tasks

    found = list(all_groups(only))
    groups = {name: chosen for name, _, chosen in found}
    names = chosen_groups(found)
    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    published = published_tasks(manager)
    fitted: dict[str, str] = {}
    made = {}
    for group in names:
        tasks = [published.get(spec.name) for spec in groups[group].tasks]
        why = ""
        for task in tasks:
            if task is None or task.is_class:
                why = "a member is no file of its own"
            elif task.rows_key not in fitted:
                fitting = Fitting(task, work / "rows-of-kinds" / task.rows_key, seed, places)
                fitted[task.rows_key] = "" if fitting.fit(manager) else fitting.first_failure
            if task is not None and fitted.get(task.rows_key):
                why = f"{task.name}: {fitted[task.rows_key]}"
            if why:
                break
        if why:
            print(f"{group} is left out: {why}", flush=True)
            continue
        try:
            made[group] = _placed([task for task in tasks if task is not None], work, work / "group-rows" / group)
        except ArrowException as error:  # a column of one dataset, as texts for one member and as numbers for another
            print(f"{group} is left out: its members' rows do not fit together: {error}", flush=True)
    out.write_text(json.dumps(made), encoding="utf-8")


def _placed(tasks: Sequence[Any], work: Path, folder: Path) -> dict[str, Any]:
    """The rows of a group's members, by dataset; members that read one dataset find each other's rows in it."""
    sources: dict[str, list[Path]] = {}
    for task in tasks:
        of_dataset = sources.setdefault(task.dataset, [])
        if (rows := work / "rows-of-kinds" / task.rows_key) not in of_dataset:
            of_dataset.append(rows)
    places = {}
    for number, (dataset, rows) in enumerate(sorted(sources.items())):
        places[dataset] = str(folder / str(number))
        copy_rows(rows, Path(places[dataset]), LEAST_ROWS + number % SIZES)
    return {"places": places, "members": [task.name for task in tasks]}


def original(groups: Mapping[str, Any], out: Path) -> None:
    """Run the groups in lm-eval."""
    from conformance.lm_eval.record import computed_model

    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    from lm_eval.evaluator import simple_evaluate

    for name, group in groups.items():
        places.clear()
        places.update(group["places"])
        try:
            with contained.time_limit(SECONDS):
                document = simple_evaluate(
                    model=computed_model(), tasks=[name], task_manager=manager, bootstrap_iters=RESAMPLES
                )
        except (Exception, SystemExit, contained.OutOfTime) as error:
            write_observation(out, Observation(name, WHO, failure=contained.reason(error)))
        else:
            write_observation(out, Observation(name, WHO, values=_values(document or {})))
        print(name, flush=True)


def ours(groups: Mapping[str, Any], work: Path, out: Path, *, has_parity: bool) -> None:
    """Run the groups in Polymeter."""
    import polymeter
    from conformance.lm_eval.computed_here import Computed
    from polymeter.catalog.listing import build_catalog
    from polymeter.interop.lm_eval.results import LmEvalFacts, LmEvalStoredRun, results_document
    from polymeter.run.plan.selection import select

    root = tasks_root()
    parity = {"parity": "lm-eval"} if has_parity else {}
    catalog = build_catalog([root], **parity)
    contained.only_this_machine()
    for name, group in groups.items():
        run = out.parent / f"run-{out.stem}"
        shutil.rmtree(run, ignore_errors=True)
        try:
            result = polymeter.evaluate(
                Computed(is_chat=False),
                [name],
                include_paths=[root],
                data=group["places"],
                output=run,
                cache_dir=work / "cache",
                is_offline=True,
                media="none",
                seed=0,
                **parity,
            )
            chosen = select([name], catalog)
            specs, inner = ({one.name: one for one in several} for several in (chosen.tasks, chosen.groups))
            facts = LmEvalFacts(WHO, {}, "", specs, inner, bootstrap_iters=RESAMPLES)
            values = _values(results_document(LmEvalStoredRun(result.folder, facts)))
        except Exception as error:
            write_observation(out, Observation(name, WHO, failure=contained.reason(error)))
            continue
        write_observation(out, Observation(name, WHO, values=values))
        print(name, flush=True)


def _values(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a document says of all groups with numbers, and of those inside them: each number, and the rest in one."""
    made: dict[str, Any] = {}
    for name in document.get("groups") or {}:
        values = observed_values(name, document)
        made |= {f"{name} {key}": values.pop(key) for key in [key for key in values if "," in key]}
        made[f"{name} facts"] = {**values, "counts": plain(document["results"][name].get("sample_count"))}
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["members", "original", "ours"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--groups", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*", help="glob of groups, for their members")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--parity", action="store_true")
    arguments = parser.parse_args()
    if arguments.what == "members":
        members(arguments.work, arguments.seed, arguments.groups, arguments.only)
        return
    groups = json.loads(arguments.groups.read_text(encoding="utf-8"))
    arguments.out.unlink(missing_ok=True)
    if arguments.what == "original":
        original(groups, arguments.out)
    else:
        ours(groups, arguments.work, arguments.out, has_parity=arguments.parity)


if __name__ == "__main__":
    main()
