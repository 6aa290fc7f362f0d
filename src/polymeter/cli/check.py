"""``polymeter check``: find problems of a benchmark without a model. First without running its code; then a few rows
are played, which runs it, unless the user turns that off.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.printing import say
from polymeter.cli.run_flags import takes_options
from polymeter.cli.state import Debug
from polymeter.core.errors import PlanError
from polymeter.core.text.codec import jsonable

if TYPE_CHECKING:
    from polymeter.catalog.playing import PlayedTask, PlayList
    from polymeter.catalog.trying import ReferenceCheck, ShownPrompt
    from polymeter.core.content import Audio, Image, Video
    from polymeter.core.errors import Problem
    from polymeter.core.records.lint_finding import LintFinding

_NAMES_SHOWN = 5
_LONGEST_FINDING = 120
_MARKS = {"full": "full marks", "short": "NOT full marks", "unknown": "no known full mark"}


@takes_options("check")
def check(
    path: Annotated[
        Path, typer.Argument(help="A YAML file, a table, or a folder of them.", metavar="PATH", show_default=False)
    ],
    *,
    options: dict[str, Any],
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
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """Check a benchmark file or a folder of them; prints each problem with its file and line. A few rows are played to
    find problems of prompts, references and scores.
    """
    if not path.exists():
        raise PlanError(
            f"There is no file or folder {str(path)!r}.", hint="Name a YAML file, a table, or a folder of them."
        )
    given = (options.get("include_paths", ()), options.get("data", {}), options.get("parity"))
    checked = _Checked(path, *given, is_strict=options.get("is_strict", False))
    with stdout_kept(is_json=as_json):
        code = 2 if _has_problems(checked, rows) else 0
        if code == 0 and prompts:
            _show_prompts(checked, prompts)
        if code == 0 and run_gold:
            code = _show_references(checked, limit)
    if as_json:
        print_document("check", {"path": str(path), "exit_code": code, **checked.found})
    return code


@dataclass(frozen=True)
class _Checked:
    """The checked files and the findings so far, as JSON has them."""

    path: Path
    folders: tuple[Path, ...]
    data: dict[str, str]
    parity: str | None
    is_strict: bool = False
    found: dict[str, list[dict[str, Any]]] = field(
        default_factory=lambda: {"problems": [], "plays": [], "references": []}
    )


def _has_problems(checked: _Checked, rows: int | None) -> bool:
    """Look for problems, without running code and then by playing rows, and print them. If strict, a warning is one."""
    from polymeter.api import check_path
    from polymeter.report.formatting import count

    problems = check_path(checked.path, checked.folders, checked.parity)
    _show_problems(checked, problems)
    remarkable: dict[str, tuple[LintFinding, ...]] = {}
    if rows != 0:
        shown, remarkable = _play(checked, rows, problems)
        problems = [*problems, *shown]
    if problems:
        say(f"{count(len(problems), 'problem')} found.", err=True)
        return True
    n_warnings = sum(finding.is_warning for findings in remarkable.values() for finding in findings)
    if checked.is_strict and n_warnings:
        say(f"{count(n_warnings, 'warning')} found, and with --strict a warning is an error.", err=True)
        return True
    say(f"{checked.path}: no problems found{_look_at(remarkable)}.")
    return False


def _look_at(remarkable: Mapping[str, Sequence[LintFinding]]) -> str:
    """Return the end of a sentence about the findings: the finding itself if there is only one."""
    from polymeter.report.formatting import clip

    if not remarkable:
        return ""
    [(name, findings), *more] = remarkable.items()
    if more or len(findings) > 1:
        return f", but look at the warnings above about {_first_names([*remarkable])}"
    summary = findings[0].text.partition(" (")[0].rstrip(".")  # the rest is above
    return f", but look at {name}: {clip(summary[:1].lower() + summary[1:], _LONGEST_FINDING)}"


def _show_problems(checked: _Checked, problems: Sequence[Problem]) -> None:
    for problem in problems:
        checked.found["problems"].append({"where": problem.where, "message": problem.message})
        say(f"{problem.where}: {problem.message}")


def _play(
    checked: _Checked, rows: int | None, problems: Sequence[Problem]
) -> tuple[list[Problem], dict[str, tuple[LintFinding, ...]]]:
    """Play rows of the tasks that have no problem yet, and print what is remarkable.

    Returns:
        The problems that this shows, and what is remarkable, by task.
    """
    from polymeter.catalog.playing import ELSEWHERE, MOST_TASKS, ROWS, list_plays, play

    broken = [problem.file for problem in problems]
    most = MOST_TASKS if rows is None else None
    plays = list_plays(checked.path, checked.folders, checked.data, broken=broken, most=most, parity=checked.parity)
    _announce(plays)
    known = {(problem.where, problem.message) for problem in problems}
    found: list[Problem] = []
    skipped: dict[str, list[str]] = {}
    as_expected: dict[int, list[PlayedTask]] = {}
    remarkable: dict[str, tuple[LintFinding, ...]] = {}
    for played in play(plays, rows or ROWS, checked.parity):
        if played.problem is not None:
            if (played.problem.where, played.problem.message) not in known:
                found.append(played.problem)
                _show_problems(checked, [played.problem])
            continue
        checked.found["plays"].append(_as_data(played))
        if played.findings:
            remarkable[played.task] = played.findings
            say("\n".join(_findings(played)))
        if played.skipped:
            skipped.setdefault(played.skipped, []).append(played.task)
        elif not played.findings:
            as_expected.setdefault(played.n_rows, []).append(played)
    _say_as_expected(as_expected)
    elsewhere = {ELSEWHERE: [*plays.elsewhere]} if plays.elsewhere else {}
    for why, tasks in {**elsewhere, **skipped}.items():
        say(f"not played: {_first_names(tasks)}: {why}")
    if plays.left_out:
        say(f"not played: {_first_names(plays.left_out)}: name a file, or play all tasks with --rows {rows or ROWS}")
    return found, remarkable


def _announce(plays: PlayList) -> None:
    """Print what was guessed, and the code that playing rows runs."""
    for guess in plays.guesses:
        say(guess)
    if plays.code:
        say(f"Playing rows runs {_files(plays)}; --rows 0 runs no code.", err=True)


def _say_as_expected(as_expected: Mapping[int, Sequence[PlayedTask]]) -> None:
    """Print the tasks of which nothing is remarkable, by the number of rows that were played."""
    from polymeter.report.formatting import count

    for n, alike in as_expected.items():
        names, has = _first_names([one.task for one in alike]), "It has" if len(alike) == 1 else "They have"
        sizes = _first_names([f"{one.n_of:,}" for one in alike])
        n_of = f"{has} {sizes} row{'' if [one.n_of for one in alike] == [1] else 's'}"
        answers = "the reference, an empty and a wrong answer"
        say(f"{names}: {count(n, 'row')} played with {answers}: as expected. {n_of}.")


def _as_data(played: PlayedTask) -> dict[str, Any]:
    return {
        "task": played.task,
        "n_rows": played.n_rows,
        "findings": [finding.message for finding in played.findings],
        "details": [finding.as_data() for finding in played.findings],
        "skipped": played.skipped or None,
    }


def _findings(played: PlayedTask) -> Iterator[str]:
    from polymeter.report.formatting import count, one_line

    how = "" if played.skipped else f" {played.n_rows:,} of its {count(played.n_of, 'row')} played:"
    yield f"{played.task}:{how}"
    yield from (f"  {one_line(finding.message)}" for finding in played.findings)


def _files(plays: PlayList) -> str:
    from polymeter.report.formatting import count, one_line

    places = [one_line(str(file)) for file in plays.code]
    n_more = len(places) - _NAMES_SHOWN
    more = f" and {count(n_more, 'further Python file')}" if n_more > 0 else ""
    return f"{', '.join(places[:_NAMES_SHOWN])}{more}"


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
    return f"{', '.join(names[:_NAMES_SHOWN])}{more}"


def _show_prompts(checked: _Checked, n: int) -> None:
    from polymeter.catalog.trying import first_prompts

    for shown in first_prompts(checked.path, n, checked.folders, checked.data, checked.parity):
        typer.echo("\n".join(_prompt(shown)))


def _show_references(checked: _Checked, limit: float | None) -> int:
    from polymeter.catalog.trying import check_references

    is_fine = True
    checks = check_references(checked.path, checked.folders, checked.data, limit=limit, parity=checked.parity)
    for task_check in checks:
        say("\n".join(_references(task_check)))
        checked.found["references"].append(jsonable(asdict(task_check)))
        is_fine = is_fine and task_check.is_fine
    return 0 if is_fine else 1


def _prompt(shown: ShownPrompt) -> Iterator[str]:
    from polymeter.catalog.trying import describe_parameters
    from polymeter.core.content import Text
    from polymeter.report.formatting import clean

    for number, request in enumerate(shown.requests, 1):
        of_many = f" ({number} of {len(shown.requests)} sent together)" if len(shown.requests) > 1 else ""
        yield clean(f"\n── {shown.task}, sample {shown.sample}{of_many}")
        for message in request.messages:
            yield f"[{message.role}]"
            for part in message.parts:
                yield clean(part.text if isinstance(part, Text) else _medium(part))
        yield typer.style(clean(f"→ {describe_parameters(request)}"), dim=True)
    if shown.expected:
        yield clean(f"expected: {shown.expected}")


def _medium(part: Image | Audio | Video) -> str:
    """A medium of a prompt by the name of its file where the dataset gives one, else by its place."""
    from polymeter.core.content import Image

    if not isinstance(part, Image):
        return f"<{part.modality}: {part.describe()}>"
    place = part.place()  # which reads the row, and with it the file's name
    return f"<image: {part.file_name() or (Path(place).name if Path(place).is_absolute() else place)}>"


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
