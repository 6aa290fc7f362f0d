"""Runs in lmms-eval's environment: makes rows that the installed task can read, and the book of answers to them.

A task's hooks are called on generated rows; when one fails, the form of a column that the failure points at is changed,
and so on. A task that cannot be made to read generated rows is named in the book with the last failure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.answers import generator, known, loss
from conformance.frame import MODELS
from conformance.lmms_eval import installed
from conformance.lmms_eval.choosing import Published, published_tasks
from conformance.lmms_eval.hints import HINTS
from conformance.lmms_eval.templates import tasks_folder
from conformance.made_rows.answering import candidates, choose, largest_gap, others, scripted_answers
from conformance.made_rows.repair import Repairs
from conformance.made_rows.rows import Shape, is_answer, make_rows, write_rows
from conformance.made_rows.schema import columns_of

N_ROWS = 12
MOST_REPAIRS = 30
SECONDS = 40


class Preparation:
    """One task on its way to rows and answers."""

    def __init__(
        self, task: Published, work: Path, seed: int, managers: dict[str, Any], places: dict[str, str]
    ) -> None:
        self.published = task
        self.kind = "chat" if task.has_messages else "simple"
        if not task.has_messages and task.config.get("output_type", "generate_until") == "generate_until":
            self.kind = "chat" if generator("kind", seed, task.name).random() < 0.3 else "simple"
        self.folder = work / "rows" / task.name.replace("/", "_")
        self.output = work / "submissions"
        self.seed = seed
        self.manager = managers[self.kind]
        self.places = places
        self.row: dict[str, Any] = {}
        self.is_slow = False

    def prepare(self, tasks: Path) -> dict[str, Any]:
        """The book's entry."""
        hints = HINTS.get(self.published.file.relative_to(tasks).parts[0], {})
        shape = Shape(columns_of(self.published.config), {**hints, **HINTS.get(self.published.name, {})})
        repairs = Repairs(shape, tasks)
        failure = ""
        for _ in range(MOST_REPAIRS):
            try:
                with contained.time_limit(SECONDS):
                    made = self._try(shape)
                if made.get("gap") == 0.0 and not self.is_slow:
                    made = self._with_other_answers(shape, made)
                return {"kind": self.kind, "columns": dict(shape.kinds), "hooks": self.published.hooks, **made}
            except (Exception, SystemExit, contained.OutOfTime) as error:
                real = installed.real_error(error)
                failure = contained.reason(real)
                if isinstance(real, (ImportError, contained.OutOfTime)) or not repairs.repair(real, self.row):
                    break
        return {"kind": self.kind, "failure": failure}

    def _with_other_answers(self, shape: Shape, made: dict[str, Any]) -> dict[str, Any]:
        """Where no answer counts as right, what is expected may have another form: a letter, the text of an option."""
        answers = [name for name in shape.columns.keys if is_answer(name)]
        for kind in ("letter", "text", "number", "yesno") if len(answers) == 1 else ():
            other = Shape(shape.columns, {**shape.kinds, answers[0]: kind})
            try:
                with contained.time_limit(SECONDS):
                    tried = self._try(other)
            except (Exception, SystemExit, contained.OutOfTime):
                continue
            if tried.get("gap", 0.0) > 0:
                shape.kinds.update(other.kinds)
                return tried
        with contained.time_limit(SECONDS):
            return self._try(shape)  # its rows are written again

    def _try(self, shape: Shape) -> dict[str, Any]:
        rows = make_rows(shape, N_ROWS, f"{self.seed}:{self.published.name}")
        if not rows[0]:
            raise LookupError("reads no column")
        self.row = rows[0]
        for file in self.folder.glob("*.parquet"):
            file.unlink()
        write_rows(rows, self.folder, self.published.splits)
        self.places["current"] = str(self.folder)
        task = installed.load_task(self.published.name, self.manager, self.kind)
        task.args = installed.command_line(self.output)
        docs = list(task.eval_docs)
        scored_docs = list(task.eval_docs_no_media)
        if len(docs) < 2:
            raise LookupError(f"{len(docs)} rows are left of {N_ROWS}")
        self.row = docs[0]
        for doc in docs:
            self.row = doc
            if task.OUTPUT_TYPE not in {"generate_until_multi_round", "generate_until_agentic"}:
                task.doc_to_text(doc)
            task.doc_to_visual(doc)
            if task.config.doc_to_choice is not None and not isinstance(task.doc_to_choice(doc), list):
                raise TypeError("object is not iterable: doc_to_choice gives no list")
            if self.kind == "chat":
                task.doc_to_messages(doc)
            task.fewshot_context(doc, task.config.num_fewshot or 0, None, False, False, None)
        if task.OUTPUT_TYPE in {"multiple_choice", "loglikelihood"}:
            return {"output_type": task.OUTPUT_TYPE, "n": len(docs), **self._losses(task, docs)}
        return {"output_type": task.OUTPUT_TYPE, "n": len(docs), **self._answers(task, scored_docs, docs)}

    def _losses(self, task: Any, docs: Sequence[Any]) -> dict[str, Any]:
        losses: dict[str, Any] = {model: {} for model in MODELS}
        n_among = 0
        knows = {model: known(model, len(docs), (self.seed, self.published.name)) for model in MODELS}
        for number, doc in enumerate(docs):
            choices = (
                task.doc_to_choice(doc) if task.config.doc_to_choice is not None else [str(task.doc_to_target(doc))]
            )
            target = task.doc_to_target(doc)
            target = choices[target] if isinstance(target, int) and target < len(choices) else target
            n_among += target in choices
            for model in MODELS:
                losses[model][number] = {
                    str(choice).strip(): loss(
                        model,
                        choice == target,
                        number in knows[model],
                        (self.seed, self.published.name, number, choice),
                    )
                    for choice in choices
                }
        return {"losses": losses, "gap": n_among / len(docs)}

    def _answers(self, task: Any, scored_docs: Sequence[Any], docs: Sequence[Any]) -> dict[str, Any]:
        targets = [self._targets(task, doc) for doc in docs]
        chosen = choose(targets, lambda column, dress: self._gap(task, scored_docs, column, dress))
        self.is_slow = chosen.is_slow
        repeats = max(1, min(task.config.repeats or 1, 4))
        answers = scripted_answers(chosen, repeats, (self.seed, self.published.name))
        return {"answers": answers, "dress": chosen.dress, "gap": chosen.gap}

    def _targets(self, task: Any, doc: Any) -> list[str]:
        target = task.doc_to_target(doc) if task.config.doc_to_target is not None else None
        needs_choices = isinstance(target, int) and task.config.doc_to_choice is not None
        return candidates(doc, target, task.doc_to_choice(doc) if needs_choices else None)

    def _gap(self, task: Any, docs: Sequence[Any], column: Sequence[str], dress: str) -> float | None:
        """How far apart right and wrong answers are in the task's aggregated numbers; nothing if scoring fails."""
        made = []
        for is_right in (True, False):
            items: dict[str, list[Any]] = {}
            for number, doc in enumerate(docs):
                self.row = doc
                said = column[number] if is_right else others(column, number)[0]
                if task.OUTPUT_TYPE == "generate_until_multi_round":
                    scored = task.process_results(doc, [[dress.format(said)] * 2])
                else:
                    scored = task.process_results(doc, [dress.format(said)])
                for name, value in scored.items():
                    items.setdefault(name, []).append(value)
            made.append({name: self._aggregate(task, name, values) for name, values in items.items()})
        return largest_gap(made[0], made[1])

    @staticmethod
    def _aggregate(task: Any, name: str, values: list[Any]) -> Any:
        import inspect

        aggregate = task.aggregation().get(name)
        if aggregate is None:
            return None
        if "args" in inspect.signature(aggregate).parameters:
            return aggregate(values, args=task.args)
        return aggregate(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--book", type=Path, required=True, help="the file to write; tasks that it has are not tried again"
    )
    parser.add_argument("--names", type=Path, required=True, help="JSON list of tasks to prepare")
    arguments = parser.parse_args()
    places: dict[str, str] = {}
    installed.quiet()
    import lmms_eval.evaluator  # noqa: F401 - before its functions are replaced

    contained.open_locally(places)
    installed.without_waiting(arguments.work / "hub")
    contained.only_this_machine()
    installed.make_asked_files(arguments.work)
    folder = tasks_folder()
    names = json.loads(arguments.names.read_text(encoding="utf-8"))
    tasks = {task.name: task for task in published_tasks(folder)}
    managers = installed.task_managers()
    book_file = arguments.book
    book = json.loads(book_file.read_text(encoding="utf-8")) if book_file.exists() else {}
    for task in (tasks[name] for name in names if name in tasks and name not in book):
        print(task.name, end=" ", flush=True)
        # Written first: a task that ends the process is not tried again.
        book[task.name] = {"failure": "ends the process"}
        book_file.write_text(json.dumps(book), encoding="utf-8")
        book[task.name] = Preparation(task, arguments.work, arguments.seed, managers, places).prepare(folder)
        book_file.write_text(json.dumps(book), encoding="utf-8")
        print(book[task.name].get("failure", f"ok {book[task.name].get('gap', '')}"), flush=True)


if __name__ == "__main__":
    sys.exit(main())
