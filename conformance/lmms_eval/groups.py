"""Groups of published tasks: the numbers that a group makes of its members', in both tools.

Every group with ``aggregate_metric_list`` is tried. A member reads the rows that were made for it, or for a task of its
folder that has the same hooks, each member fewer or more of them: so sizes differ, and with them weighted means from
plain ones. This runs in lmms-eval's environment: ``members`` says what a group needs, ``original`` and ``ours`` run it.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.frame import MODELS, Observation, write_observation
from conformance.groups import copy_rows
from conformance.lmms_eval import installed
from conformance.lmms_eval.choosing import published_tasks, telling
from conformance.lmms_eval.observing import observed_values
from conformance.lmms_eval.templates import tasks_folder

LEAST_ROWS, SIZES = 5, 6
SECONDS = 600
_KINDS = ("losses", "answers")


def aggregating_groups(folder: Path, only: str) -> Iterator[tuple[str, list[Any]]]:
    """The groups of a glob that aggregate, in the order of their names, with the specs of all tasks in them."""
    from polymeter.catalog.listing import build_catalog
    from polymeter.run.plan.selection import select

    catalog = build_catalog([folder], parity="lmms-eval")
    for entry in sorted(catalog, key=lambda entry: entry.name):
        if entry.kind != "group" or not entry.is_user or not fnmatch.fnmatchcase(entry.name, only):
            continue
        try:
            chosen = select([entry.name], catalog)
        except Exception as error:
            print(f"{entry.name}: {contained.reason(error)}", flush=True)
            continue
        if any(group.aggregates for group in chosen.groups):
            yield entry.name, list(chosen.tasks)


def members(work: Path, book: Mapping[str, Any], out: Path, only: str) -> None:
    """Write rows and answers for all groups whose members have some, and what was done to a list."""
    folder = tasks_folder()
    published = {task.name: task for task in published_tasks(folder)}
    prepared = {telling(published[name], folder): name for name in book if name in published and "kind" in book[name]}
    made = {}
    for group, specs in aggregating_groups(folder, only):
        entries: dict[str, Any] = {}
        places: dict[str, str] = {}
        for number, spec in enumerate(specs):
            own = spec.name if spec.name in book else None
            like = own or prepared.get(telling(published[spec.name], folder) if spec.name in published else None)
            place = str(spec.config["dataset_path"])
            if spec.config.get("dataset_name"):
                place += f":{spec.config['dataset_name']}"
            if like is None or "failure" in book[like] or place in places:
                why = "its dataset is another member's" if place in places else "no rows"
                print(f"{group} is left out: {spec.name}: {why}", flush=True)
                break
            places[place] = str(work / "group-rows" / group / spec.name)
            copy_rows([work / "rows" / like.replace("/", "_")], Path(places[place]), LEAST_ROWS + number % SIZES)
            entries[spec.name] = book[like]
        else:
            made[group] = {"kind": next(iter(entries.values()))["kind"], "places": places, "members": sorted(entries)}
            (work / "group-rows" / group / "book.json").write_text(json.dumps(entries), encoding="utf-8")
    out.write_text(json.dumps(made), encoding="utf-8")


def original(work: Path, groups: Mapping[str, Any], out: Path) -> None:
    """Run the groups in lmms-eval."""
    from lmms_eval.evaluator import simple_evaluate

    from conformance.lmms_eval import wrapper

    places: dict[str, str] = {}
    contained.open_locally(places)
    installed.without_waiting(work / "hub")
    managers = installed.task_managers()
    for name, group in groups.items():
        places.clear()
        places.update(group["places"])
        for model in MODELS:
            made = wrapper.ScriptedSimple if group["kind"] == "simple" else wrapper.ScriptedChat
            lm = made(book=str(work / "group-rows" / name / "book.json"), model=model, as_result="true")
            try:
                with contained.time_limit(SECONDS):
                    document = simple_evaluate(
                        model=lm,
                        tasks=[name],
                        task_manager=managers[group["kind"]],
                        cli_args=installed.command_line(work / "submissions"),
                        bootstrap_iters=100,
                        log_samples=True,
                        verbosity="ERROR",
                    )
            except (Exception, SystemExit, contained.OutOfTime) as error:
                write_observation(out, Observation(name, model, failure=contained.reason(installed.real_error(error))))
                break
            write_observation(out, Observation(name, model, values=_values(document or {})))


def ours(work: Path, groups: Mapping[str, Any], out: Path, *, has_parity: bool) -> None:
    """Run the groups in Polymeter."""
    import polymeter
    from conformance.lmms_eval.ours import WRAPPER
    from polymeter.interop.lmms_eval.results import LmmsEvalFacts, item_errors, results_document, stored_run

    folder = tasks_folder()  # before the shims stand in for the package
    for name, group in groups.items():
        for model in MODELS:
            run = out.parent / f"run-{out.stem}"
            shutil.rmtree(run, ignore_errors=True)
            try:
                result = polymeter.evaluate(
                    f"lmms:scripted_{group['kind']}",
                    [name],
                    model_path=str(WRAPPER),
                    model_args={"book": str(work / "group-rows" / name / "book.json"), "model": model},
                    include_paths=[folder],
                    data=group["places"],
                    output=run,
                    cache_dir=work / "cache",
                    is_offline=True,
                    media="none",
                    **({"parity": "lmms-eval"} if has_parity else {}),
                )
            except Exception as error:
                write_observation(out, Observation(name, model, failure=contained.reason(error)))
                break
            facts, stored = LmmsEvalFacts("scripted", "", ""), stored_run(result.folder)
            document = results_document(stored.manifest, stored.results, facts, errors=item_errors(stored))
            write_observation(out, Observation(name, model, values=_values(document)))


def _values(document: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of all groups with numbers, keys and all, and their versions."""
    rows = document.get("groups") or {}
    versions = document.get("versions", {})
    return {
        **{f"{name} {key}": value for name, row in rows.items() for key, value in observed_values(row).items()},
        **{f"{name} alias": row["alias"] for name, row in rows.items()},
        **{f"{name} version": versions[name] for name in rows if name in versions},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["members", "original", "ours"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--groups", type=Path, required=True)
    parser.add_argument("--only", default="*", help="glob of groups, for their members")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--parity", action="store_true")
    arguments = parser.parse_args()
    installed.quiet()
    if arguments.what == "original":
        import lmms_eval.evaluator  # noqa: F401  - before functions of datasets are replaced
    contained.only_this_machine()
    installed.make_asked_files(arguments.work)
    if arguments.what == "members":
        book = json.loads((arguments.work / "book.json").read_text(encoding="utf-8"))
        members(arguments.work, book, arguments.groups, arguments.only)
        return
    groups = json.loads(arguments.groups.read_text(encoding="utf-8"))
    arguments.out.unlink(missing_ok=True)
    if arguments.what == "original":
        original(arguments.work, groups, arguments.out)
    else:
        installed.without_downloads(arguments.work / "hub")
        ours(arguments.work, groups, arguments.out, has_parity=arguments.parity)


if __name__ == "__main__":
    main()
