"""``polymeter evalscope``: EvalScope 0.17's own command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polymeter.cli.foreign import Subcommands, asks_for_help
from polymeter.cli.printing import say
from polymeter.cli.state import State
from polymeter.interop.evalscope import flags

if TYPE_CHECKING:
    from polymeter.interop.evalscope.evaluation import EvalscopeResult

_HELP = """\
Usage: polymeter evalscope eval [OPTIONS]

Run EvalScope's command line: eval, version. 'polymeter evalscope eval --help' lists the options."""


def run_command(state: State, words: list[str]) -> int:
    """Run a command of EvalScope.

    Raises:
        PlanError: if there is no such command, or it cannot run with these options.
    """
    is_version = words[:1] in (["--version"], ["-v"])
    return _COMMANDS.run(state, ["version"] if is_version else words)


def show(result: EvalscopeResult) -> None:
    """Print the table of an evaluation, and where its files are."""
    for note in result.notes:
        say(note, err=True)
    if result.table:
        say(result.table)
    if result.run.is_complete:
        say(f"outputs  {result.folder}", err=True)
        say(f"report   {result.run.report}", err=True)


def _evaluate(state: State, words: list[str]) -> int:
    if not words or asks_for_help(words):
        flags.EVAL.print_help()
        return 0
    fields, run_options = flags.parse(words)
    state.is_debug |= bool(fields.get("debug"))
    from polymeter.cli.progress import make_progress
    from polymeter.interop.evalscope.evaluation import evaluate_evalscope

    with make_progress(is_quiet=False) as progress:
        result = evaluate_evalscope(fields, progress=progress, typed=state.command, **run_options)
    show(result)
    if result.run.status != "complete":
        say("The run did not end. To resume it, repeat the command with", err=True)
        say(f"  --use-cache {result.folder}", err=True)
    return result.exit_code


def _version(state: State, words: list[str]) -> int:
    from polymeter import __version__

    say(f"polymeter {__version__}, with the command line of EvalScope 0.17 and 1.x")
    return 0


_COMMANDS = Subcommands(
    "polymeter evalscope",
    {"eval": _evaluate, "version": _version},
    elsewhere={
        "perf": "Polymeter does not load-test endpoints; vLLM's 'vllm bench serve' and others do",
        "app": "every run writes an HTML report, report.html, that shows its samples",
        "server": "call polymeter.evaluate() from your own server",
    },
    help=_HELP,
)
