"""Tables, dataset classes over them, and a judge that says what a test wants."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.core.content import is_image
from polymeter.core.request import Error, Request, Response
from polymeter.core.task import ReduceContext, Result, SampleStatus, Score, ScoredRow
from polymeter.tasks.table import classes as native

Table = Sequence[Mapping[str, Any]]


class Judge:
    """Says one thing after the other, the last one for good, and notes what it was asked and told.

    Args:
        *answers: What it says; ``None`` is a failed request.
    """

    roles = frozenset({"judge"})

    def __init__(self, *answers: str | None) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []
        self.refused: list[str] = []

    def __call__(self, role: str, request: Request) -> Response:
        assert role == "judge"
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return Response(error=Error("permanent", "out of order")) if answer is None else Response.of_text(answer)

    def refuse(self, why: str) -> None:
        self.refused.append(why)


def write_table(path: Path, rows: Table) -> Path:
    """A TSV file with the columns of all rows."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter="\t", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def served(root: Path, rows: Table, name: str = "mine") -> Any:
    """The instance of the class that serves a table, which lies in the folder of tables."""
    write_table(root / f"{name}.tsv", rows)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return native.class_for(columns)(dataset=name)


def played(dataset: Any, answers: Sequence[Any], **judge_kwargs: Any) -> list[ScoredRow]:
    """Rows with the scores of answers, in the table's order. An answer ``None`` is a failed sample."""
    rows = []
    for place, answer in enumerate(answers):
        line = dataset.data.iloc[place]
        if answer is None:
            rows.append(ScoredRow(str(line["index"]), place, (), None, SampleStatus.ERROR, None))
            continue
        found = dataset.evaluate_sample(line, answer, **judge_kwargs)
        values = {
            (key, "none"): value for key, value in found.items() if not isinstance(value, str) and not is_image(value)
        }
        tell = getattr(dataset, "cluster", None)
        cluster = tell(line) if tell else None
        rows.append(ScoredRow(str(line["index"]), place, (), cluster, SampleStatus.OK, Score(values)))
    return rows


def results(dataset: Any, rows: Sequence[ScoredRow], folder: Path) -> dict[str, Result]:
    """Results by metric and subset: ``acc``, ``acc category/odd``."""
    found = dataset.results(rows, ReduceContext(folder))
    return {" ".join(filter(None, (result.metric, "/".join(result.subset)))): result for result in found}
