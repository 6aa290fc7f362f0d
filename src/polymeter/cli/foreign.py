"""Shared parts of the command lines of other systems: subcommands, help, and unparsed arguments for Polymeter's
commands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import typer

from polymeter.cli.state import State, state_of
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.systems import Command, load

SETTINGS = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}
"""Settings for a command that parses its arguments itself."""
HELP = frozenset({"-h", "--help"})
RunCommand = Callable[[State, list[str]], int]
"""Runs a command with the arguments after its name; returns the exit code."""


@dataclass(frozen=True, slots=True)
class Subcommands:
    """The subcommands of a system's command line.

    Attributes:
        program: The program's name, for messages.
        commands: The function that runs each subcommand.
        elsewhere: Subcommands of the system that Polymeter does not have, each with what to do instead.
        default: The subcommand that runs if the first argument is an option.
        help: Shown without arguments and for ``--help``; empty: the help of the default subcommand is shown.
    """

    program: str
    commands: Mapping[str, RunCommand]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    help: str = ""

    def run(self, state: State, words: Sequence[str]) -> int:
        """Run a subcommand with its arguments.

        Raises:
            PlanError: if there is no such subcommand, or its arguments are invalid.
        """
        if self.help and (not words or words[0] in HELP):
            typer.echo(self.help)
            return 0
        if self.default and (not words or words[0].startswith("-")):
            return self.commands[self.default](state, list(words))
        name, arguments = words[0], list(words[1:])
        if name in self.elsewhere:
            instead = self.elsewhere[name]
            hint = f"{instead[:1].upper()}{instead[1:]}."
            raise PlanError(f"There is no {name!r} here.", where=self.program, hint=hint)
        if name not in self.commands:
            names = ", ".join(self.commands)
            hint = did_you_mean(name, (*self.commands, *self.elsewhere)) or f"Known: {names}."
            raise PlanError(f"There is no command {name!r}.", where=self.program, hint=hint)
        return self.commands[name](state, arguments)


def asks_for_help(words: Sequence[str]) -> bool:
    """Return whether the arguments of a command include ``-h`` or ``--help``."""
    return not HELP.isdisjoint(words)


def run_foreign(command: Command, state: State, words: list[str]) -> int:
    """Import a system's command line and run it."""
    return cast(RunCommand, load(command.target))(state, words)


def as_typer_command(command: Command) -> Callable[[typer.Context], int]:
    """A function for typer that runs a system's command; the system's code is imported when it is called."""

    def run(context: typer.Context) -> int:
        return run_foreign(command, state_of(context), list(context.args))

    return run
