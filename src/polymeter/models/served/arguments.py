"""The arguments that a user passes to a server: those that can change an answer, and those that the run sets itself."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.models.hf.digest import file_digest
from polymeter.models.served.kinds import ServerKind

_WHERE = "--server-args"
_OPTION = re.compile(r"--?[A-Za-z]")


@dataclass(frozen=True, slots=True)
class ServerOption:
    """An option of a server's command line.

    Attributes:
        name: Its name without dashes, aliases resolved, with hyphens.
        values: What follows it.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerArguments:
    """The user's arguments, and the unchanged defaults.

    Attributes:
        words: The words that are passed on.
        options: The same as options.
    """

    words: tuple[str, ...]
    options: tuple[ServerOption, ...]

    def identity(self, kind: ServerKind) -> list[Any]:
        """The options that can change an answer, sorted by name. A file counts by its content, wherever it is. An
        option that cannot change an answer cannot change it with ``no-`` before its name either.
        """
        kept = [one for one in self.options if kind.runtime.isdisjoint({one.name, one.name.removeprefix("no-")})]
        return [[option.name, *map(_content, option.values)] for option in sorted(kept, key=lambda one: one.name)]

    def n_gpus(self, kind: ServerKind) -> int:
        """Return the number of GPUs that one server uses, by its options.

        Raises:
            PlanError: if one of these options is not a number.
        """
        names = {option.name for option in self.options}
        shared = {option for flag, option in kind.on_same_gpus.items() if flag in names}
        n = 1
        for option in self.options:
            if option.name in kind.gpu_options and option.name not in shared:
                value = " ".join(option.values)
                if not value.isdecimal() or int(value) < 1:
                    raise PlanError(f"--{option.name} must be a whole number from 1, not {value!r}.", where=_WHERE)
                n *= int(value)
        return n


def read_arguments(kind: ServerKind, given: str | Sequence[str]) -> ServerArguments:
    """The arguments that a user wrote, as a shell would split them, and the defaults of the kind after them.

    Args:
        kind: The server.
        given: The text, or its words.

    Raises:
        PlanError: if a quote is not closed, a word belongs to no option, or an option is the run's own.
    """
    if isinstance(given, str):
        try:
            words = tuple(shlex.split(given))
        except ValueError as error:
            raise PlanError(f"The server's arguments cannot be split: {error}.", where=_WHERE) from None
    else:
        words = tuple(map(str, given))
    grouped: list[tuple[str, list[str]]] = []
    for word in words:
        if _OPTION.match(word):
            name, equals, value = word.partition("=")
            grouped.append((_plain(kind, name), [value] if equals else []))
        elif grouped:
            grouped[-1][1].append(word)
        else:
            raise PlanError(
                f"{word!r} belongs to no option of {kind.title}.",
                where=_WHERE,
                hint=f"Name the model with --model {kind.backend}:NAME. Write the rest as for the server's command: "
                '--server-args "--dtype bfloat16".',
            )
    for name, _ in grouped:
        if name in kind.reserved:
            raise PlanError(
                f"Polymeter starts the server and sets --{name} itself.",
                where=_WHERE,
                hint="Leave it out, or start the server yourself and name its address: --model openai:NAME --base-url "
                "URL.",
            )
    given_names = {name for name, _ in grouped}
    added = [(name, [value]) for name, value in kind.defaults.items() if name not in given_names]
    words += tuple(word for name, (value,) in added for word in (f"--{name}", value))
    return ServerArguments(words, tuple(ServerOption(name, tuple(values)) for name, values in [*grouped, *added]))


def _plain(kind: ServerKind, word: str) -> str:
    name = word.lstrip("-").replace("_", "-")
    return kind.aliases.get(name, name)


def _content(value: str) -> str:
    path = Path(value)
    try:
        return f"content:{file_digest(path)}" if path.is_file() else value
    except OSError:  # too long for a path, or unreadable: the server will report it
        return value
