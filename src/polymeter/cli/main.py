"""The entry point: builds the app, runs a command, and turns every outcome into an exit code.

0: all samples scored; 1: the run ended with failed samples; 2: usage or plan error, or a disk that refuses; 3: a number
misses its threshold, or a run is worse than another one by more than was allowed; 130: interrupted. Polymeter's own
errors are printed as what happened, where, and what to do; tracebacks only with ``--debug``.

Every run pays for its start. So ``polymeter NAME`` imports that command alone, and what only some runs need (an event
loop, a client for downloads) is imported by those. ``show`` and ``report`` of a finished run import neither the engine
nor NumPy.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Annotated, Any

import typer

from polymeter import __version__
from polymeter.cli.foreign import SETTINGS, as_typer_command
from polymeter.cli.printing import say
from polymeter.cli.run_flags import with_flags, without_flags
from polymeter.cli.signals import INTERRUPTED
from polymeter.cli.state import State, set_debug
from polymeter.core.errors import PlanError, PolymeterError, did_you_mean
from polymeter.core.machine.places import naming_places
from polymeter.core.names.systems import systems
from polymeter.core.text.secrets import hide_secrets, remember_arguments

# Older versions of typer depend on click, newer ones bundle it: its classes are reached through typer's in both.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
USAGE = 2
PIPE_CLOSED = 141
"""The exit code that a shell reports if the reader of a program's output ends: 128 + ``SIGPIPE``."""
_COMMANDS = (
    "run", "resume", "score", "rerun", "verify", "track", "cost",
    "view", "show", "report", "compare", "ablate", "leaderboard", "power", "pairwise", "agree",
    "import", "export", "log",
    "tasks", "fetch", "models", "check", "init", "docs", "doctor", "python",
)  # fmt: skip
"""Polymeter's own commands as ``--help`` lists them: each is the function of its name in its module of this package."""
_MEANT = {
    **dict.fromkeys(("eval", "evaluate", "bench", "benchmark", "measure"), "run"),
    **dict.fromkeys(("continue", "restart"), "resume"),
    **dict.fromkeys(("list", "ls", "benchmarks"), "tasks"),
    **dict.fromkeys(("diff", "test"), "compare"),
    **dict.fromkeys(("download", "pull"), "fetch"),
    **dict.fromkeys(("validate", "lint"), "check"),
    **dict.fromkeys(("serve", "ui", "open", "app"), "view"),
    **dict.fromkeys(("judge", "rescore"), "score"),
    **dict.fromkeys(("new", "create"), "init"),
    **dict.fromkeys(("estimate", "price", "dry-run"), "cost"),
}
"""The command that other tools call by another name."""
_MODULES = {"import": "import_logs"}
"""The modules of commands with a name that is a keyword of Python."""
_SETTINGS = {"python": SETTINGS}


def build_app(only: str = "", *, with_options: bool = True) -> typer.Typer:
    """The app with all commands: Polymeter's, and those of other systems, whose code is not imported for it.

    Args:
        only: One of Polymeter's commands, to build no other: half of the time goes into options that nobody asks for.
        with_options: Whether commands have the flags of a run's options.

    Raises:
        PlanError: if the command of a system has the name of one of Polymeter's.
    """
    app = typer.Typer(
        name="polymeter",
        help="Measure multimodal models: any benchmark, any model, honest numbers.",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_begin)
    for name in (only,) if only else _COMMANDS:
        module = _MODULES.get(name, name)
        function = getattr(importlib.import_module(f"polymeter.cli.{module}"), module)
        # The list of all commands shows no options, and making those of a run's commands takes pydantic.
        command = with_flags(function) if with_options else without_flags(function)
        app.command(name, context_settings=_SETTINGS.get(name))(command)
    for system in systems():
        for theirs in system.commands:
            if theirs.name in _COMMANDS:
                raise PlanError(f"The system {system.name!r} defines a command that Polymeter has: {theirs.name!r}.")
            if not only:
                app.command(theirs.name, help=theirs.help, context_settings=SETTINGS)(as_typer_command(theirs))
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The arguments after the program's name; default: those of this process.

    Returns:
        The exit code.
    """
    # A process that ends returns all of its memory: searching it for cycles first would take up to 0.3 s.
    atexit.register(gc.freeze)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        sys.excepthook = _print_unexpected
    state = State(arguments=words)
    remember_arguments(words)
    try:
        with naming_places():
            only = words[0] if words and words[0] in _COMMANDS else ""
            if words and not only:
                _refuse_unknown_command(words[0])
            # Not through the app: calling it would put typer's hook for unexpected errors in place of ours.
            is_list = (not words or words[0] in ("-h", "--help")) and "_POLYMETER_COMPLETE" not in os.environ
            command = typer.main.get_command(build_app(only, with_options=not is_list))
            code = command(args=words, prog_name="polymeter", standalone_mode=False, obj=state)
    except PolymeterError as error:
        return _report(state, error)
    except BrokenPipeError:  # as in `polymeter tasks | head`; what is still buffered must not fail once more at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return PIPE_CLOSED
    except (KeyboardInterrupt, typer.Abort):
        _say("Interrupted.")
        return INTERRUPTED
    except _CLICK_ERROR as error:
        return _report_usage(error)
    return int(code or 0)


def _refuse_unknown_command(word: str) -> None:
    """Refuse a first word that is neither an option nor a command, with the command that was probably meant.

    Raises:
        PlanError: if it is neither.
    """
    known = [*_COMMANDS, *(command.name for system in systems() for command in system.commands)]
    if not word or word.startswith("-") or word in known:
        return
    hint = f"Did you mean {_MEANT[word]!r}?" if word in _MEANT else did_you_mean(word, known)
    raise PlanError(f"No such command {word!r}.", hint=hint or "'polymeter --help' lists the commands.")


def _begin(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks.", callback=set_debug, expose_value=True)
    ] = False,
) -> None:
    if version:
        typer.echo(f"polymeter {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def _print_unexpected(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the traceback of a fault of Polymeter's own, without keys."""
    _say(hide_secrets("".join(traceback.format_exception(kind, error, trace)).rstrip()))


def _report(state: State, error: PolymeterError) -> int:
    if state.is_debug:
        _say(hide_secrets("".join(traceback.format_exception(error)).rstrip()))
    _say(f"Error: {error.what}")
    if error.where:
        _say(f"  at {error.where}")
    if error.hint:
        _say(f"  {error.hint}")
    return USAGE


def _report_usage(error: Any) -> int:
    _say(f"Error: {error.format_message()}")
    context = getattr(error, "ctx", None)
    if context is not None:
        _say(f"  '{context.command_path} --help' explains its options.")
    return int(error.exit_code)


def _say(text: str) -> None:
    with suppress(OSError):  # the terminal may be closed
        say(text, err=True)


if __name__ == "__main__":
    sys.exit(main())
