"""``polymeter evalscope``: EvalScope 0.17's own command line, as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymeter.cli.pairs import parse_places
from polymeter.cli.state import State, state_of
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.evalscope import flags

if TYPE_CHECKING:
    from polymeter.interop.evalscope.evaluation import EvalscopeResult

_WHERE = "polymeter evalscope"
_COMMANDS = ("eval", "version")
_MISSING = {
    "perf": "Polymeter does not test the load of endpoints; vLLM's 'vllm bench serve' and others do",
    "app": "every run writes a page, report.html, that shows its samples",
    "server": "call polymeter.evaluate() from your own server",
}
_HELP = """\
Usage: polymeter evalscope eval [OPTIONS]

Take EvalScope's command line: eval, version. 'polymeter evalscope eval --help' lists the options."""


def evalscope(context: typer.Context) -> int:
    """Take EvalScope's command line: eval, version."""
    return run_words(state_of(context), list(context.args))


def run_words(state: State, words: list[str]) -> int:
    """Run a command of EvalScope.

    Raises:
        PlanError: There is no such command, or it cannot run as asked for.
    """
    if not words or words[0] in ("-h", "--help"):
        typer.echo(_HELP)
        return 0
    command, rest = words[0], words[1:]
    if command in _MISSING:
        raise PlanError(f"There is no {command!r} here.", where=_WHERE, hint=f"{_MISSING[command]}.")
    if command in ("version", "--version", "-v"):
        from polymeter import __version__

        typer.echo(f"polymeter {__version__}, taking the command line of EvalScope 0.17")
        return 0
    if command != "eval":
        hint = did_you_mean(command, (*_COMMANDS, *_MISSING)) or f"Known: {', '.join(_COMMANDS)}."
        raise PlanError(f"There is no command {command!r}.", where=_WHERE, hint=hint)
    if not rest or {"-h", "--help"} & set(rest):
        flags.make_parser().print_help()
        return 0
    given, places = flags.parse(rest)
    state.is_debug |= bool(given.get("debug"))
    return _evaluate(state, given, places)


def show(result: EvalscopeResult) -> None:
    """Print the table of an evaluation, and where everything lies."""
    for note in result.notes:
        typer.echo(note, err=True)
    if result.table:
        typer.echo(result.table)
    if result.run.results:
        typer.echo(f"outputs  {result.folder}", err=True)
        typer.echo(f"report   {result.run.report}", err=True)


def _evaluate(state: State, given: dict[str, Any], places: dict[str, list[str]]) -> int:
    from polymeter.cli.progress import make_progress
    from polymeter.interop.evalscope.evaluation import evaluate_evalscope

    where: dict[str, Any] = {
        "include_paths": tuple(Path(folder) for folder in places.get("include_path", ())),
        "data": parse_places(places.get("data", ()), "--data"),
        "weights": parse_places(places.get("weights", ()), "--weights"),
    }
    with make_progress(is_quiet=False) as progress:
        result = evaluate_evalscope(given, progress=progress, typed=state.command, **where)
    show(result)
    if result.run.status != "complete":
        typer.echo("The run did not end. Go on with the same command and", err=True)
        typer.echo(f"  --use-cache {result.folder}", err=True)
    return result.exit_code
