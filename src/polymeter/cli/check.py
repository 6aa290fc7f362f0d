"""``polymeter check``: find out what is wrong with a benchmark, without a model. Its code runs only where the user asks
to see prompts or to try the gold answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.api.trying import GoldCheck, ShownPrompt

_MARKS = {"full": "full marks", "short": "NOT full marks", "unknown": "no known full mark"}


def check(
    path: Annotated[Path, typer.Argument(help="A YAML file or a folder.", metavar="PATH", show_default=False)],
    include_path: Annotated[
        list[Path] | None, typer.Option(help="A folder of further benchmarks.", metavar="FOLDER", show_default=False)
    ] = None,
    prompts: Annotated[
        int, typer.Option(help="Show the first N prompts of each task (runs its code).", metavar="N", min=0)
    ] = 0,
    run_gold: Annotated[
        bool, typer.Option("--run-gold", help="Answer with the gold and see whether it scores (runs the tasks' code).")
    ] = False,
    limit: Annotated[
        float | None,
        typer.Option(help="With --run-gold: at most so many samples of each task.", metavar="N", show_default=False),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Local files in place of a dataset: id=path.", metavar="ID=PATH", show_default=False),
    ] = None,
    debug: Debug = False,
) -> int:
    """Check a benchmark file or a folder of them; prints each problem with its file and line."""
    from polymeter.api import check_path
    from polymeter.cli.pairs import parse_places

    if not path.exists():
        raise PlanError(
            f"There is no file or folder {str(path)!r}.", hint="Name a YAML file, or a folder that holds some."
        )
    others, places = tuple(include_path or ()), parse_places(data or (), "--data")
    problems = check_path(path, others)
    for problem in problems:
        typer.echo(f"{problem.where}: {problem.message}")
    if problems:
        typer.echo(f"{len(problems)} problem{'' if len(problems) == 1 else 's'} found.", err=True)
        return 2
    typer.echo(f"{path}: no problems found.")
    if prompts:
        _show_prompts(path, prompts, others, places)
    return _show_gold(path, others, places, limit) if run_gold else 0


def _show_prompts(path: Path, n: int, others: tuple[Path, ...], data: dict[str, str]) -> None:
    from polymeter.api.trying import first_prompts

    for shown in first_prompts(path, n, others, data):
        typer.echo("\n".join(_prompt(shown)))


def _show_gold(path: Path, others: tuple[Path, ...], data: dict[str, str], limit: float | None) -> int:
    from polymeter.api.trying import check_gold

    is_fine = True
    for found in check_gold(path, others, data, limit=limit):
        typer.echo("\n".join(_gold(found)))
        is_fine = is_fine and found.is_fine
    return 0 if is_fine else 1


def _prompt(shown: ShownPrompt) -> Iterator[str]:
    from polymeter.api.trying import ask_in_words
    from polymeter.core.parts import Text

    for number, request in enumerate(shown.requests, 1):
        of_many = f" ({number} of {len(shown.requests)} asked together)" if len(shown.requests) > 1 else ""
        yield f"\n── {shown.task}, sample {shown.sample}{of_many}"
        for message in request.messages:
            yield f"[{message.role}]"
            for part in message.parts:
                yield part.text if isinstance(part, Text) else f"<{part.modality}: {part.describe()}>"
        yield typer.style(f"→ {ask_in_words(request)}", dim=True)


def _gold(found: GoldCheck) -> Iterator[str]:
    from polymeter.report.formatting import number

    if found.problem:
        yield f"{found.task}: could not be tried: {found.problem}"
        return
    yield f"{found.task}: gold answers of {found.n_samples:,} samples, {found.n_scored:,} scored"
    for result in found.results:
        filtered = "" if result.filter == "none" else f" ({result.filter})"
        yield f"  {result.metric}{filtered} = {number(result.value)}: {_MARKS[result.verdict]}"
    yield from (f"  sample {error}" for error in found.errors)
