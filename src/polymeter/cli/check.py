"""``polymeter check``: find problems of a benchmark without a model. First without running its code; then a few rows
are played, which runs it, unless the user turns that off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymeter.cli.options import Parity
from polymeter.cli.printing import say
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError
from polymeter.report.formatting import count, one_line

if TYPE_CHECKING:
    from polymeter.api.playing import PlayedTask, PlayList
    from polymeter.api.trying import ReferenceCheck, ShownPrompt
    from polymeter.core.catalog import Problem

_NAMES_SHOWN = 5
_MARKS = {"full": "full marks", "short": "NOT full marks", "unknown": "no known full mark"}


def check(
    path: Annotated[Path, typer.Argument(help="A YAML file or a folder.", metavar="PATH", show_default=False)],
    *,
    include_path: Annotated[
        list[Path] | None, typer.Option(help="A further folder of benchmarks.", metavar="FOLDER", show_default=False)
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            help="Play the first N rows with the reference, an empty and a wrong answer (runs the tasks' code, without "
            "the network); 0: run no code. Default: 3 rows of up to 20 tasks.",
            metavar="N",
            min=0,
            show_default=False,
        ),
    ] = None,
    prompts: Annotated[
        int, typer.Option(help="Show the first N prompts of each task (runs its code).", metavar="N", min=0)
    ] = 0,
    run_gold: Annotated[
        bool, typer.Option("--run-gold", help="Answer with the references and score them (runs the tasks' code).")
    ] = False,
    limit: Annotated[
        float | None,
        typer.Option(
            help="With --run-gold: the maximum number of samples of each task.", metavar="N", show_default=False
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Local files that replace a dataset: id=path.", metavar="ID=PATH", show_default=False),
    ] = None,
    parity: Parity = None,
    debug: Debug = False,
) -> int:
    """Check a benchmark file or a folder of them; prints each problem with its file and line. A few rows are played,
    which says what is remarkable about prompts, references and scores.
    """
    from polymeter.api import check_path
    from polymeter.cli.pairs import parse_places

    if not path.exists():
        raise PlanError(f"There is no file or folder {str(path)!r}.", hint="Name a YAML file, or a folder of them.")
    folders, local_data = tuple(include_path or ()), parse_places(data or (), "--data")
    problems = check_path(path, folders, parity)
    _show_problems(problems)
    n_remarkable = 0
    if rows != 0:
        shown, n_remarkable = _play(path, folders, local_data, rows, parity, problems)
        problems = [*problems, *shown]
    if problems:
        say(f"{count(len(problems), 'problem')} found.", err=True)
        return 2
    remarkable = f", but look at {count(n_remarkable, 'task')} above" if n_remarkable else ""
    say(f"{path}: no problems found{remarkable}.")
    if prompts:
        _show_prompts(path, prompts, folders, local_data, parity)
    return _show_references(path, folders, local_data, limit, parity) if run_gold else 0


def _show_problems(problems: Sequence[Problem]) -> None:
    for problem in problems:
        say(f"{problem.where}: {problem.message}")


def _play(
    path: Path,
    folders: tuple[Path, ...],
    data: dict[str, str],
    rows: int | None,
    parity: str | None,
    problems: Sequence[Problem],
) -> tuple[list[Problem], int]:
    """Play rows of the tasks that have no problem yet, and print what is remarkable.

    Returns:
        The problems that this shows, and how many tasks are to be looked at.
    """
    from polymeter.api.playing import ELSEWHERE, MOST_TASKS, ROWS, list_plays, play

    broken = [problem.file for problem in problems]
    plays = list_plays(path, folders, data, broken=broken, most=MOST_TASKS if rows is None else None, parity=parity)
    if plays.code:
        say(f"Playing rows runs {_files(plays)}; --rows 0 runs no code.", err=True)
    known = {(problem.where, problem.message) for problem in problems}
    found: list[Problem] = []
    skipped: dict[str, list[str]] = {}
    as_expected: dict[int, list[str]] = {}
    n_remarkable = 0
    for played in play(plays, rows or ROWS, parity):
        if played.problem is not None:
            if (played.problem.where, played.problem.message) not in known:
                found.append(played.problem)
                _show_problems([played.problem])
        elif played.skipped:
            skipped.setdefault(played.skipped, []).append(played.task)
        elif played.findings:
            n_remarkable += 1
            say("\n".join(_findings(played)))
        else:
            as_expected.setdefault(played.n_rows, []).append(played.task)
    for n, names in as_expected.items():
        say(f"{_names(names)}: {count(n, 'row')} played with the reference, an empty and a wrong answer: as expected.")
    elsewhere = {ELSEWHERE: [*plays.elsewhere]} if plays.elsewhere else {}
    for why, tasks in {**elsewhere, **skipped}.items():
        say(f"not played: {_names(tasks)}: {why}")
    if plays.left_out:
        say(f"not played: {_names(plays.left_out)}: name a file, or play all tasks with --rows {rows or ROWS}")
    return found, n_remarkable


def _findings(played: PlayedTask) -> Iterator[str]:
    yield f"{played.task}: {count(played.n_rows, 'row')} played:"
    yield from (f"  {finding}" for finding in played.findings)


def _files(plays: PlayList) -> str:
    places = [one_line(str(file)) for file in plays.code]
    n_more = len(places) - _NAMES_SHOWN
    more = f" and {count(n_more, 'further Python file')}" if n_more > 0 else ""
    return f"{', '.join(places[:_NAMES_SHOWN])}{more}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return f"{', '.join(names[:_NAMES_SHOWN])}{more}"


def _show_prompts(path: Path, n: int, folders: tuple[Path, ...], data: dict[str, str], parity: str | None) -> None:
    from polymeter.api.trying import first_prompts

    for shown in first_prompts(path, n, folders, data, parity):
        typer.echo("\n".join(_prompt(shown)))


def _show_references(
    path: Path, folders: tuple[Path, ...], data: dict[str, str], limit: float | None, parity: str | None
) -> int:
    from polymeter.api.trying import check_references

    is_fine = True
    for task_check in check_references(path, folders, data, limit=limit, parity=parity):
        say("\n".join(_references(task_check)))
        is_fine = is_fine and task_check.is_fine
    return 0 if is_fine else 1


def _prompt(shown: ShownPrompt) -> Iterator[str]:
    from polymeter.api.trying import describe_parameters
    from polymeter.core.parts import Text
    from polymeter.report.formatting import clean

    for number, request in enumerate(shown.requests, 1):
        of_many = f" ({number} of {len(shown.requests)} sent together)" if len(shown.requests) > 1 else ""
        yield clean(f"\n── {shown.task}, sample {shown.sample}{of_many}")
        for message in request.messages:
            yield f"[{message.role}]"
            for part in message.parts:
                yield clean(part.text if isinstance(part, Text) else f"<{part.modality}: {part.describe()}>")
        yield typer.style(clean(f"→ {describe_parameters(request)}"), dim=True)


def _references(task_check: ReferenceCheck) -> Iterator[str]:
    from polymeter.report.formatting import number

    if task_check.problem:
        yield f"{task_check.task}: could not be run: {task_check.problem}"
        return
    yield f"{task_check.task}: references of {task_check.n_samples:,} samples, {task_check.n_scored:,} scored"
    for result in task_check.results:
        filtered = "" if result.filter == "none" else f" ({result.filter})"
        yield f"  {result.metric}{filtered} = {number(result.value)}: {_MARKS[result.verdict]}"
    yield from (f"  sample {error}" for error in task_check.errors)
