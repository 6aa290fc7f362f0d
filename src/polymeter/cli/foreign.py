"""What the command lines of other tools share: their words reach commands of our own as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import typer

from polymeter.cli.state import State, state_of
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.systems import Command, load

SETTINGS = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}
"""For registering a command that reads its words itself."""
HELP = frozenset({"-h", "--help"})
RunCommand = Callable[[State, list[str]], int]
"""What runs a command with the words behind its name, and gives the exit code."""


@dataclass(frozen=True, slots=True)
class Subcommands:
    """The commands of a tool's command line.

    Attributes:
        program: What they are words behind.
        commands: What runs each.
        elsewhere: Commands of the tool that Polymeter does not have, each with what to do instead.
        default: The command that is meant where the first word is an option.
        help: Shown where there are no words, or these ask for help; empty: that of the default command is.
    """

    program: str
    commands: Mapping[str, RunCommand]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    default: str = ""
    help: str = ""

    def run(self, state: State, words: Sequence[str]) -> int:
        """Run the command that some words are.

        Raises:
            PlanError: if there is no such command, or it cannot run as asked for.
        """
        if self.help and (not words or words[0] in HELP):
            typer.echo(self.help)
            return 0
        if self.default and (not words or words[0].startswith("-")):
            return self.commands[self.default](state, list(words))
        name, rest = words[0], list(words[1:])
        if name in self.elsewhere:
            instead = self.elsewhere[name]
            hint = f"{instead[:1].upper()}{instead[1:]}."
            raise PlanError(f"There is no {name!r} here.", where=self.program, hint=hint)
        if name not in self.commands:
            known = ", ".join(self.commands)
            hint = did_you_mean(name, (*self.commands, *self.elsewhere)) or f"Known: {known}."
            raise PlanError(f"There is no command {name!r}.", where=self.program, hint=hint)
        return self.commands[name](state, rest)


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether help is asked for among the words of a command."""
    return not HELP.isdisjoint(words)


def run_foreign(command: Command, state: State, words: list[str]) -> int:
    """Run a system's command line, which is imported now."""
    return cast(RunCommand, load(command.target))(state, words)


def as_typer_command(command: Command) -> Callable[[typer.Context], int]:
    """What typer calls for a system's command; its code is imported when it is called."""

    def run(context: typer.Context) -> int:
        return run_foreign(command, state_of(context), list(context.args))

    return run
