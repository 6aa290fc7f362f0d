"""Runs in lm-eval's environment: makes rows that the chosen tasks read, and the answers of the scripted models."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.lm_eval import installed
from conformance.lm_eval.fitting import SECONDS, Fitting, made_task
from conformance.lm_eval.published import Published, published_tasks
from conformance.made_rows.answering import candidates, choose, largest_gap, others, scripted_answers


def prepare(task: Published, work: Path, seed: int, manager: Any, places: dict[str, str]) -> dict[str, Any]:
    """The book's entry of a task: where its rows are, and answers if it generates text."""
    folder = work / "rows" / task.name.replace("/", "_")
    fitting = Fitting(task, folder, seed, places)
    if not fitting.fit(manager):
        return {"failure": fitting.failure}
    entry: dict[str, Any] = {"output_type": task.output_type, "place": task.place, "columns": dict(fitting.shape.kinds)}
    entry |= {"dataset": task.dataset, **_told(task)}
    if task.output_type != "generate_until":
        return entry
    try:
        with contained.time_limit(SECONDS):
            return {**entry, **_answers(made_task(task.name, manager), (seed, task.name))}
    except (Exception, contained.OutOfTime) as error:
        return {**entry, "unanswered": contained.reason(error)}


def _told(task: Published) -> dict[str, Any]:
    """What the configuration says that decides how the task is run and compared."""
    config = task.config
    settings, few_shot = config.get("generation_kwargs") or {}, config.get("fewshot_config") or {}
    until = settings.get("until") or [config.get("fewshot_delimiter", "\n\n")]
    return {
        "is_drawn": bool(settings.get("do_sample") or settings.get("temperature")),
        "until": [until] if isinstance(until, str) else list(until),
        "shots": config.get("num_fewshot"),
        "draws_from_measured": draws_from_measured(config, few_shot),
        "filters": _names(task, "filter_list"),
        "metrics": _names(task, "metric_list"),
    }


def draws_from_measured(config: Mapping[str, Any], few_shot: Mapping[str, Any]) -> bool:
    """Whether lm-eval may show a row among its own examples: they come from its split, and the task does not say so."""
    if config.get("fewshot_split") or few_shot.get("split") or few_shot.get("samples"):
        return False
    test, validation = config.get("test_split"), config.get("validation_split")
    # Without a test split lm-eval takes both for the same, and leaves the row out.
    return bool(test) and (config.get("training_split") or validation or test) == test


def _names(task: Published, field: str) -> list[str]:
    """The filters or metrics that a task names, for the report."""
    items = task.config.get(field) or []
    if field == "filter_list":
        items = [step for one in items for step in one["filter"]]
    return [str(getattr(name, "name", name)) for one in items if (name := one.get("function", one.get("metric")))]


def _answers(task: Any, key: Sequence[object]) -> dict[str, Any]:
    docs = list(task.eval_docs)
    task.set_config("num_fewshot", 0)
    task.set_fewshot_seed(seed=1)
    task.build_all_requests(limit=None, rank=0, world_size=1)
    targets = []
    for doc in docs:
        target = task.doc_to_target(doc)
        needs_choices = isinstance(target, int) and task.config.doc_to_choice is not None
        targets.append(candidates(doc, target, task.doc_to_choice(doc) if needs_choices else None))
    chosen = choose(targets, lambda column, dress: _gap(task, docs, column, dress))
    return {"answers": scripted_answers(chosen, task.config.repeats, key), "gap": chosen.gap}


def _gap(task: Any, docs: Sequence[Any], column: Sequence[str], dress: str) -> float | None:
    """How far apart right and wrong answers are in the task's means; nothing if scoring fails."""
    made = []
    for is_right in (True, False):
        sums = Counter[str]()
        for number, instance in enumerate(task.instances):
            said = column[instance.doc_id] if is_right else others(column, instance.doc_id)[0]
            task.instances[number].resps = [dress.format(said)] * task.config.repeats
        task.apply_filters()
        for instance in task.instances:
            for name, response in instance.filtered_resps.items():
                scores = task.process_results(docs[instance.doc_id], [response])
                sums.update(
                    {f"{key},{name}": value for key, value in scores.items() if isinstance(value, (int, float))}
                )
        made.append({name: float(total) / len(docs) for name, total in sums.items()})
    return largest_gap(made[0], made[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--book", type=Path, required=True, help="the file to write; what it has is not tried again")
    parser.add_argument("--names", type=Path, required=True, help="JSON list of tasks to prepare")
    arguments = parser.parse_args()
    places: dict[str, str] = {}
    manager = installed.contained_manager(places)
    names = json.loads(arguments.names.read_text(encoding="utf-8"))
    tasks = published_tasks(manager)
    book = json.loads(arguments.book.read_text(encoding="utf-8")) if arguments.book.exists() else {}
    for name in names:
        if name in book:
            continue
        # Written first: a task that ends the process is not tried again.
        book[name] = {"failure": "ends the process"}
        arguments.book.write_text(json.dumps(book), encoding="utf-8")
        book[name] = prepare(tasks[name], arguments.work, arguments.seed, manager, places)
        arguments.book.write_text(json.dumps(book), encoding="utf-8")
        print(name, book[name].get("failure", f"ok {book[name].get('gap', '')}"), flush=True)


if __name__ == "__main__":
    main()
