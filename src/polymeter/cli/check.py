"""``polymeter check``: find problems of a benchmark without a model. Its code runs only if the user wants to see
prompts or to score the references.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.options import Parity
from polymeter.cli.printing import say
from polymeter.cli.state import Debug
from polymeter.core.codec import jsonable
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.api.trying import ReferenceCheck, ShownPrompt

_MARKS = {"full": "full marks", "short": "NOT full marks", "unknown": "no known full mark"}


def check(  # noqa: PLR0917  (one parameter for each option)
    path: Annotated[Path, typer.Argument(help="A YAML file or a folder.", metavar="PATH", show_default=False)],
    include_path: Annotated[
        list[Path] | None, typer.Option(help="A further folder of benchmarks.", metavar="FOLDER", show_default=False)
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
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Check a benchmark file or a folder of them; prints each problem with its file and line."""
    from polymeter.cli.pairs import parse_places

    if not path.exists():
        raise PlanError(f"There is no file or folder {str(path)!r}.", hint="Name a YAML file, or a folder of them.")
    folders, local_data = tuple(include_path or ()), parse_places(data or (), "--data")
    found: dict[str, list[dict[str, Any]]] = {"problems": [], "references": []}
    with stdout_kept(is_json=as_json):
        code = _check(path, folders, local_data, prompts, limit, parity, found, runs_references=run_gold)
    if as_json:
        print_document("check", {"path": str(path), "exit_code": code, **found})
    return code


def _check(
    path: Path,
    folders: tuple[Path, ...],
    local_data: dict[str, str],
    prompts: int,
    limit: float | None,
    parity: str | None,
    found: dict[str, list[dict[str, Any]]],
    *,
    runs_references: bool,
) -> int:
    """Check, print what is found and note it in ``found``; returns the exit code."""
    from polymeter.api import check_path

    problems = check_path(path, folders, parity)
    found["problems"] = [{"where": problem.where, "message": problem.message} for problem in problems]
    for problem in problems:
        say(f"{problem.where}: {problem.message}")
    if problems:
        say(f"{len(problems)} problem{'' if len(problems) == 1 else 's'} found.", err=True)
        return 2
    say(f"{path}: no problems found.")
    if prompts:
        _show_prompts(path, prompts, folders, local_data, parity)
    return _show_references(path, folders, local_data, limit, parity, found) if runs_references else 0


def _show_prompts(path: Path, n: int, folders: tuple[Path, ...], data: dict[str, str], parity: str | None) -> None:
    from polymeter.api.trying import first_prompts

    for shown in first_prompts(path, n, folders, data, parity):
        typer.echo("\n".join(_prompt(shown)))


def _show_references(
    path: Path,
    folders: tuple[Path, ...],
    data: dict[str, str],
    limit: float | None,
    parity: str | None,
    found: dict[str, list[dict[str, Any]]],
) -> int:
    from polymeter.api.trying import check_references

    is_fine = True
    for task_check in check_references(path, folders, data, limit=limit, parity=parity):
        say("\n".join(_references(task_check)))
        found["references"].append(jsonable(asdict(task_check)))
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
