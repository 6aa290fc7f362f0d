"""Finds rows that a published task reads, in lm-eval's environment: its own class is made on generated rows.

Where that fails, the form of a column that the failure points at is changed, and so on. Whatever then reads the rows in
Polymeter is compared with what lm-eval makes of them, so nothing here decides what is right.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from conformance import contained
from conformance.lm_eval.filtering import forms_that_are_kept
from conformance.lm_eval.hints import hints_for
from conformance.lm_eval.published import Published, tasks_folder
from conformance.made_rows.repair import Repairs
from conformance.made_rows.rows import Shape, is_answer, make_rows, write_rows
from conformance.made_rows.schema import columns_of
from conformance.made_rows.templates import read_template

N_ROWS = 8
MOST_REPAIRS = 100
SECONDS = 60
ENOUGH_SECONDS = 5.0  # of the processor, for one task
LEAST_KEPT = 2  # rows that are enough, where a task keeps some of them
_FIELDS = ("doc_to_text", "doc_to_target", "doc_to_choice", "doc_to_image", "doc_to_audio", "process_results")
_LETTERS = "ABCDEFGHIJ"


class MisfitError(Exception):
    """A field of a task gives something that its output type cannot use.

    Attributes:
        field: Which one.
        wanted: Forms of its column to try.
    """

    def __init__(self, field: str, message: str, wanted: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.field = field
        self.wanted = wanted


class Fitting:
    """One task on its way to rows.

    Args:
        task: The task.
        folder: Where its rows go, one Parquet file for each split.
        seed: What stands in them.
        places: What `contained.open_locally` was given.
    """

    def __init__(self, task: Published, folder: Path, seed: object, places: dict[str, str]) -> None:
        self.task = task
        self.folder = folder
        self.seed = seed
        self.places = places
        self.field = ""
        self.row: dict[str, Any] = {}
        self.failure = ""
        self.first_failure = ""
        config = dict(task.config)
        few_shot = config.get("fewshot_config")
        inner = {f"few-shot {key}": few_shot.get(key) for key in _FIELDS[:3]} if isinstance(few_shot, dict) else {}
        for key in ("description", "gen_prefix"):
            if "{{" in str(config.get(key)):
                inner[key] = config[key]
        for key in ("doc_to_image", "doc_to_audio"):
            if isinstance(columns := config.get(key), list):
                inner |= {f"{key} {place}": one for place, one in enumerate(columns)}
        self.config = {**config, **inner}
        columns = columns_of(self.config, [*_FIELDS, *inner], read_template)
        self.shape = Shape(columns, {**_told_by_choices(config), **hints_for(task.name)})
        self.kept: Iterator[tuple[str, str]] | None = None

    def fit(self, manager: Any, first: Mapping[str, str] | None = None, most_repairs: int = MOST_REPAIRS) -> bool:
        """Write rows; whether the task reads them.

        Args:
            manager: lm-eval's ``TaskManager``.
            first: Forms of columns that fitted a task like this one.
            most_repairs: How often a form is changed.
        """
        self.shape.kinds.update(first or {})
        repairs = Repairs(self.shape, tasks_folder())
        started = time.process_time()
        for _ in range(most_repairs):
            if time.process_time() - started > ENOUGH_SECONDS:
                break
            try:
                with contained.time_limit(SECONDS):
                    self._write()
                    self._try(manager)
                self.failure = ""
                return True
            except (Exception, SystemExit, contained.OutOfTime) as error:
                self.failure = contained.reason(error)
                self.first_failure = self.first_failure or self.failure
                if isinstance(error, (ImportError, contained.OutOfTime)) or "Hugging Face Hub" in str(error):
                    return False
                if self._drops_all_rows(error):
                    if self._keep_rows(manager):
                        continue
                    return False
                if isinstance(error, MisfitError) and self._names_a_column(error):
                    continue
                field = error.field if isinstance(error, MisfitError) else self.field
                wanted = error.wanted if isinstance(error, MisfitError) else ()
                if not repairs.repair(error, self.row, self._columns(field), wanted):
                    return False
        return False

    def _names_a_column(self, error: MisfitError) -> bool:
        """Whether a field is a text that stands for itself, because no column is called so: one is then."""
        text = self.config.get(error.field)
        if not isinstance(text, str) or "{" in text or not text or text in self.shape.columns.keys:
            return False
        self.shape.columns.key(text)
        if error.wanted:
            self.shape.kinds[text] = error.wanted[0]
        return True

    @staticmethod
    def _drops_all_rows(error: BaseException) -> bool:
        said = ("out of bounds for size 0", "samples requested exceeds", "Sample larger than population")
        return (isinstance(error, MisfitError) and not error.field) or any(words in str(error) for words in said)

    def _keep_rows(self, manager: Any) -> bool:
        """Give the next column that ``process_docs`` may look at what it may look for; whether rows are left then."""
        function = _process_docs(self.task.name, manager)
        if function is None:
            return False
        forms = dict(self.shape.kinds)
        started = time.process_time()
        for column, form in forms_that_are_kept(function, self.row):
            if self.shape.kinds.get(column) == form:
                continue
            if time.process_time() - started > ENOUGH_SECONDS:
                break
            self.shape.kinds[column] = form
            try:
                self._write()
                if len(function(contained.read_rows(self.folder / f"{self.task.splits[0]}.parquet"))) >= LEAST_KEPT:
                    return True
            except Exception:
                pass
            self.shape.kinds.pop(column)
            self.shape.kinds.update({column: forms[column]} if column in forms else {})
        return False

    def _columns(self, field: str) -> list[str]:
        """The columns that one field reads, those that are called like answers last unless it is the target."""
        names = list(columns_of(self.config, [field], read_template).keys) if field else list(self.shape.columns.keys)
        return sorted(names, key=is_answer, reverse=field == "doc_to_target")

    def _write(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for number, split in enumerate(self.task.splits):
            rows = make_rows(self.shape, N_ROWS, f"{self.seed}:{self.task.rows_key}:{number}")
            if not rows[0]:
                rows = [{"number": place} for place in range(N_ROWS)]
            if number == 0:
                self.row = rows[0]
            write_rows(rows, self.folder, [split])

    def _try(self, manager: Any) -> None:
        self.places["current"] = str(self.folder)
        self.field = ""
        task = made_task(self.task.name, manager)
        docs = list(task.eval_docs)
        if len(docs) < 2:
            raise MisfitError("", f"{len(docs)} rows are left of {N_ROWS}")
        for doc in docs:
            self.row = dict(doc)
            self._read(task, doc)
        self.field = "doc_to_text"
        is_shots_ours = task.get_config("num_fewshot") is None
        if is_shots_ours:
            task.set_config("num_fewshot", 2 if len(list(task.fewshot_docs() or ())) > 3 else 0)
        task.set_fewshot_seed(seed=1)
        try:
            task.build_all_requests(limit=None, rank=0, world_size=1)
        except AssertionError:
            if not is_shots_ours:
                raise
            task.set_config("num_fewshot", 0)  # some tasks can only be asked without examples
            task.build_all_requests(limit=None, rank=0, world_size=1)
        self._score(task)

    def _read(self, task: Any, doc: Any) -> None:
        self.field = "doc_to_text"
        text = task.doc_to_text(doc)
        self.field = "doc_to_target"
        target = task.doc_to_target(doc)
        kind = task.OUTPUT_TYPE
        if task.config.doc_to_choice is None:
            if kind.startswith("loglikelihood") and not isinstance(target, str):
                raise MisfitError("doc_to_target", "the target is no text", ("text",))
            return
        self.field = "doc_to_choice"
        choices = task.doc_to_choice(doc)
        if (
            not isinstance(choices, list)
            or len(choices) < 2
            or not all(isinstance(one, str) and one for one in choices)
        ):
            raise MisfitError("doc_to_choice", "the choices are no list of texts", ("options", "texts", "literal"))
        label = text if task.multiple_input else target
        if not _is_among(label, choices):
            field = "doc_to_text" if task.multiple_input else "doc_to_target"
            raise MisfitError(field, f"{label!r} is none of {choices!r}", _forms_of_labels(choices))

    def _score(self, task: Any) -> None:
        """Score something, as far as the task's own code does it: it may read more columns."""
        self.field = "process_results"
        seen: dict[str, list[Any]] = {}
        for place, instance in enumerate(task.instances):
            kind = instance.request_type
            number = -1.0 - (place * 7 % 5)
            answer = (number, False) if kind == "loglikelihood" else number if kind.endswith("rolling") else "Answer: B"
            instance.resps = [answer] * task.config.repeats
        task.apply_filters()
        by_doc: dict[int, list[Any]] = {}
        for instance in task.instances:
            by_doc.setdefault(instance.doc_id, []).append(instance)
        for doc_id, doc in task.doc_iterator(rank=0, limit=None, world_size=1):
            self.row = dict(doc)
            for name in task.instances[0].filtered_resps:
                made = task.process_results(doc, [one.filtered_resps[name] for one in by_doc[doc_id]])
                for metric, value in made.items():
                    seen.setdefault(metric, []).append(value)


def made_task(name: str, manager: Any) -> Any:
    """lm-eval's own object for a task."""
    return next(iter(manager.load([name])["tasks"].values()))


def _process_docs(name: str, manager: Any) -> Any:
    from lm_eval.tasks._yaml_loader import load_yaml

    return load_yaml(manager.task_index[name].yaml_path).get("process_docs")


def _is_among(label: Any, choices: Sequence[str]) -> bool:
    if isinstance(label, list):
        return bool(label) and all(_is_among(one, choices) for one in label)
    return 0 <= label < len(choices) if isinstance(label, Integral) else label in choices


def _forms_of_labels(choices: Sequence[str]) -> list[str]:
    """What a column may hold so that it names one of some choices: numbers, texts, letters, digits."""
    count = len(choices)
    return [
        f"|{json.dumps(list(range(count)))}",
        f"|{json.dumps(list(choices))}",
        "number",
        "text",
        f"|{json.dumps(list(_LETTERS[:count]))}",
        f"|{json.dumps([str(one) for one in range(count)])}",
        f"|{json.dumps([str(one + 1) for one in range(count)])}",
        f"|{json.dumps([one.strip() for one in choices])}",
        "letter",
        "bool",
    ]


def _told_by_choices(config: Mapping[str, Any]) -> dict[str, str]:
    """The form of the target's column where the choices are written down."""
    choices, target = config.get("doc_to_choice"), str(config.get("doc_to_target"))
    if isinstance(choices, dict):
        choices = list(choices.values())
    name = re.fullmatch(r"(?:\{\{\s*)?([A-Za-z_]\w*)(?:\s*\}\})?", target)
    if not isinstance(choices, list) or name is None:
        return {}
    return {name[1]: f"|{json.dumps(list(range(len(choices))))}"}
