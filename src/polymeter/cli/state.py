"""The state of one call of the command line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Annotated

import typer

from polymeter.core.text.secrets import hide_in_arguments


@dataclass(slots=True)
class State:
    """The arguments as typed, and whether to show tracebacks."""

    arguments: list[str] = field(default_factory=list)
    is_debug: bool = False

    @property
    def command(self) -> str:
        """The command in a form that can be typed again, without the values of keys and tokens."""
        return shlex.join(["polymeter", *hide_in_arguments(self.arguments)])


def set_debug(context: typer.Context, value: bool) -> bool:
    """Store ``--debug``, wherever it stands on the line."""
    state = context.find_root().obj
    if isinstance(state, State) and value:
        state.is_debug = True
    return value


def state_of(context: typer.Context) -> State:
    """The state of this call."""
    state = context.find_root().obj
    return state if isinstance(state, State) else State()


Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks.", callback=set_debug, rich_help_panel="Output")]
