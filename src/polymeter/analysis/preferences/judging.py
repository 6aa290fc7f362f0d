"""Judgement of pairs of answers in a separate run, which is journaled, can be resumed, and asks about each pair only
once.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.analysis.preferences.collecting import Collected, collect
from polymeter.analysis.preferences.standings import standings
from polymeter.api.result import RunResult
from polymeter.api.running import ModelLike, evaluate
from polymeter.core.errors import PlanError
from polymeter.core.machine.files import temporary_name
from polymeter.core.machine.places import file_name, naming_places, require_place
from polymeter.core.records.progress import Progress
from polymeter.core.settings.arguments import Names
from polymeter.report.formatting import count, listing
from polymeter.store.folder import RunFolder
from polymeter.tasks.pairs.file import write_pairs

TASK = "pairwise"
_FOLDER = "pairs"
_FILE = f"{TASK}.pairs"


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Pairs of answers that a judge has compared.

    Attributes:
        result: The run with the comparisons.
        standings: Win rates, scores with intervals, and the judge's preference for a position, as plain data.
    """

    result: RunResult
    standings: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the document that ``polymeter pairwise --json`` prints."""
        return {**self.standings, "status": self.result.status, "exit_code": self.result.exit_code}


@naming_places()
def pairwise(  # noqa: PLR0913  (callers name them)
    first: Path | str,
    *others: Path | str,
    judge: ModelLike,
    judge_args: Mapping[str, Any] | None = None,
    rubric: str = "",
    tasks: Names = (),
    allow: Collection[str] = (),
    limit: int | None = None,
    max_pairs: int | None = None,
    seed: int = 0,
    output: Path | str | None = None,
    progress: Progress | None = None,
    command: str = "",
    tell: Callable[[str], None] | None = None,
    **options: Any,
) -> Pairwise:
    """Let a judge decide which of two answers is better, for runs of the same samples, with each pair in both orders.

    The verdicts go into a separate run folder. The same call continues where it stopped, and nothing is asked twice.

    Args:
        first: A run folder.
        *others: Run folders of the same tasks. Every two runs are compared.
        judge: The model that judges.
        judge_args: Arguments for it.
        rubric: The criteria for a better answer, in words for the judge; default: it does what the prompt asks for, and
            is correct, complete and clear.
        tasks: Only tasks whose names match one of these patterns.
        allow: Allowed differences between the runs besides the model, as for ``compare``.
        limit: The most samples of each task.
        max_pairs: The most pairs, spread evenly over the pairs of runs.
        seed: The seed for the selection of pairs.
        output: The run folder; default: a folder beside the first run, named after the runs and the judge.
        progress: Receives progress; default: none.
        command: The command to record.
        tell: Receives a sentence about the requests, before the first one.
        **options: Fields of ``polymeter.RunOptions`` (``concurrency``, ``generation``, ``max_retries``, …).

    Raises:
        PlanError: if there is nothing to compare, more than the model differs, the output contains other pairs, or the
            judge cannot be used. No request has been sent.
        StorageError: if a folder cannot be read or written.
    """
    for what, number in (("--limit", limit), ("--max-pairs", max_pairs)):
        if number is not None and number < 1:
            raise PlanError(f"{number} leaves nothing to judge.", where=what, hint="Give 1 or more.")
    paths = [Path(path) for path in (first, *others)]
    found = collect(paths, rubric=rubric, tasks=tasks, allow=allow, limit=limit, max_pairs=max_pairs, seed=seed)
    folder = Path(output) if output is not None else _default_output(paths[0], found, judge)
    require_place(folder, "The run folder")
    is_new = not RunFolder(folder).is_begun()
    file = _written(found, folder, may_replace=is_new or bool(options.get("is_restart")))
    if tell is not None:
        tell(_cost(found, str(judge)))
    try:
        with _naming_judge():
            result = evaluate(
                judge,
                str(file),
                model_args=judge_args,
                output=folder,
                seed=seed,
                progress=progress,
                command=command,
                **options,
            )
    except BaseException:
        if is_new and not RunFolder(folder).is_begun():
            shutil.rmtree(file.parent, ignore_errors=True)
        raise
    return Pairwise(result, standings(result.folder, TASK, file, str(result.results.get("model") or judge)))


@contextmanager
def _naming_judge() -> Iterator[None]:
    """Turn errors about the option of the model into errors about that of the judge, which is the model of this run."""
    try:
        yield
    except PlanError as error:
        if not error.where.startswith("--model"):
            raise
        hint = error.hint.replace("--model", "--judge")
        raise PlanError(error.what, where=error.where.replace("--model", "--judge"), hint=hint) from error


def _written(found: Collected, folder: Path, *, may_replace: bool) -> Path:
    """Write the file of pairs in the run's folder, and return its path.

    Raises:
        PlanError: if the folder contains other pairs.
    """
    file = folder / _FOLDER / _FILE
    new = file.with_name(temporary_name(_FILE))
    write_pairs(new, found.head, found.pairs)
    try:
        if file.exists() and not may_replace and not filecmp.cmp(file, new, shallow=False):
            raise PlanError(
                "This folder contains verdicts on other pairs: other runs, another rubric, or other samples.",
                where=str(folder),
                hint="Name another --output, or discard these verdicts with --restart.",
            )
        if not file.exists() or may_replace:
            found.copy_images(file.parent)
            new.replace(file)
    finally:
        new.unlink(missing_ok=True)
    return file.resolve()


def _default_output(first: Path, found: Collected, judge: ModelLike) -> Path:
    words = ["pairwise", *(name.rpartition("/")[2] for name in found.head.runs), "by", str(judge)]
    name = "-".join("".join(sign if sign.isalnum() or sign in "._" else "_" for sign in word) for word in words)
    return first.resolve().parent / file_name(name, "")


def _cost(found: Collected, judge: str) -> str:
    """Describe the most requests that will be sent. Requests that the journal has answered are not repeated."""
    of_all = f" of {found.n_possible:,} possible" if len(found.pairs) < found.n_possible else ""
    images = f", with {count(len(found.images), 'image')}" if found.images else ""
    return (
        f"{count(len(found.pairs), 'pair')}{of_all} of answers by {listing(found.head.runs)}: at most "
        f"{count(found.n_requests, 'request')} to {judge}, about {found.n_characters:,} characters of prompts and "
        f"answers{images}."
    )
