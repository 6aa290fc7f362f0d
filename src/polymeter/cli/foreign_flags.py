"""The flags of other tools' command lines, as tables: one record for each flag says how it is written, which option it
sets, and what becomes of it. Parsing, ``--help``, unknown flags, notes and refusals are the same for every tool.

A table is data. What depends on several flags at once (one that means nothing without another) stays with the tool.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from polymeter.cli.pairs import parse_pairs
from polymeter.core.errors import PlanError, did_you_mean

Kind = Literal["text", "int", "float", "switch", "names", "repeated", "mapping", "object"]
"""What a flag takes: one value, nothing, several values behind one flag, one value each time it is given,
``key=value,…`` or a JSON object, a JSON object alone."""
Fate = Literal["done", "noted", "refused"]
"""What becomes of a flag: it does what its name says, it is accepted because nothing is lost without it, or it cannot
be honoured."""
_SCALARS: Mapping[Kind, type] = {"text": str, "int": int, "float": float, "switch": bool}
_SECTIONS: Mapping[Fate, str] = {"noted": "accepted, without effect", "refused": "refused"}
_OURS = "Polymeter's own"
_METAVARS: Mapping[Kind, str] = {"names": "NAME", "repeated": "PLACE"}
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag.

    Attributes:
        key: Its name in a configuration file and among parsed values.
        kind: What it takes.
        text: What it does; for one that is noted or refused, why: a phrase that continues a sentence.
        fate: What becomes of it.
        default: What holds when it is not given.
        spellings: How it is written, the first in messages; default: its key, with hyphens and with underscores. One
            without hyphens in front is a word that stands alone; it is always among parsed values.
        choices: What its value may be, where that is a list.
        sets: The option that it sets; default: its key.
        convert: ``(value, spelling) → value``: makes the option's value of what was typed.
        hint: What to do instead, for one that is refused.
        is_ours: Whether the tool itself does not have it.
    """

    key: str
    kind: Kind
    text: str
    fate: Fate = "done"
    default: Any = None
    spellings: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    sets: str = ""
    convert: Callable[[Any, str], Any] | None = None
    hint: str = ""
    is_ours: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """How it is written."""
        hyphened = f"--{self.key.replace('_', '-')}"
        return self.spellings or tuple(dict.fromkeys((hyphened, f"--{self.key}")))

    def add_to(self, group: argparse._ActionsContainer) -> None:
        """Add the flag to a parser or a group of it."""
        text = f"{self.text}. {self.hint.rstrip('.')}" if self.hint else self.text
        told: dict[str, Any] = {"help": text.replace("%", "%%")}
        if self.kind in _METAVARS:
            told["metavar"] = _METAVARS[self.kind]
        if not self.names[0].startswith("-"):
            group.add_argument(self.key, nargs="?", choices=self.choices, default=self.default, **told)
        elif self.kind == "switch":
            group.add_argument(*self.names, dest=self.key, action="store_true", **told)
        elif self.kind == "names":
            group.add_argument(*self.names, dest=self.key, nargs="+", **told)
        elif self.kind == "repeated":
            group.add_argument(*self.names, dest=self.key, action="append", **told)
        else:
            of_type, choices = _SCALARS.get(self.kind, str), self.choices or None
            group.add_argument(*self.names, dest=self.key, type=of_type, choices=choices, **told)

    def read(self, value: Any) -> Any:
        """A typed value as data.

        Raises:
            PlanError: if it is to be a mapping and is none.
        """
        if self.kind == "object" or (self.kind == "mapping" and value.lstrip().startswith("{")):
            return json_object(value, self.names[0])
        return parse_pairs([value], self.names[0]) if self.kind == "mapping" else value

    def configured(self, value: Any, where: str) -> Any:
        """A value from a configuration file, of the flag's type.

        Raises:
            PlanError: if it is of another type, or none of those that it may be.
        """
        if value is None:
            return self.default
        if self.kind == "switch" and not isinstance(value, bool):
            raise PlanError(f"{self.key!r} must be true or false, not {value!r}.", where=where)
        if self.kind == "text" and isinstance(value, (list, tuple)):
            value = ",".join(str(item) for item in value)
        elif self.kind == "text" and isinstance(value, dict):
            value = ",".join(f"{name}={item}" for name, item in value.items())
        try:
            made = _SCALARS[self.kind](value)
        except (TypeError, ValueError):
            raise PlanError(f"{self.key!r} must be a {self.kind}, not {value!r}.", where=where) from None
        if self.choices and made not in self.choices:
            raise PlanError(f"{self.key!r} must be one of {', '.join(self.choices)}, not {value!r}.", where=where)
        return made


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The flags of one command.

    Attributes:
        program: The command, as it is called.
        about: What it is for, above its flags in ``--help``.
        flags: Its flags, in the order of ``--help``.
        takes_prefixes: Whether the unique beginning of a flag stands for it, as the tool's own parser has it.
    """

    program: str
    about: str
    flags: tuple[Flag, ...]
    takes_prefixes: bool = False

    @property
    def by_key(self) -> dict[str, Flag]:
        """The flags by their keys."""
        return {flag.key: flag for flag in self.flags}

    @property
    def defaults(self) -> dict[str, Any]:
        """The value of every flag that is not given, by key."""
        return {flag.key: flag.default for flag in self.flags}

    def parser(self) -> argparse.ArgumentParser:
        """A parser whose result holds the flags that are given and no others."""
        parser = _Parser(
            prog=self.program,
            description=self.about,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=self.takes_prefixes,
        )
        sections = {title: parser.add_argument_group(title) for title in (*_SECTIONS.values(), _OURS)}
        for flag in self.flags:
            title = _OURS if flag.is_ours else _SECTIONS.get(flag.fate, "")
            flag.add_to(sections[title] if title else parser)
        return parser

    def print_help(self) -> None:
        """Print what ``--help`` shows."""
        self.parser().print_help()

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """The values of the flags that were given, by key.

        Raises:
            PlanError: if there is an unknown flag (the nearest known one is named), or a value has the wrong form.
        """
        values, rest = self.parser().parse_known_args(words)
        if rest:
            flag = rest[0].partition("=")[0]
            what = f"There is no option {flag!r}." if flag.startswith("-") else f"{flag!r} belongs to no option."
            known = [name for flag in self.flags for name in flag.names]
            raise PlanError(what, where=self.program, hint=did_you_mean(flag, known, n=1) or _see_help(self.program))
        by_key = self.by_key
        return {key: by_key[key].read(value) for key, value in vars(values).items()}

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that given flags set.

        Args:
            given: As ``parse`` gives it.

        Raises:
            PlanError: if a value means nothing.
        """
        made = {}
        for key, value in given.items():
            flag = self.by_key[key]
            made[flag.sets or key] = value if flag.convert is None else flag.convert(value, flag.names[0])
        return made

    def notes_on(self, given: Mapping[str, Any], *, configuration: str = "") -> list[str]:
        """What to say of flags without effect that are given with another value than their default.

        Args:
            given: Values by key.
            configuration: What the keys are fields of, where the values come from no command line.

        Raises:
            PlanError: if one of the flags is refused.
        """
        notes = []
        for flag in self.flags:
            value = given.get(flag.key)
            if flag.fate == "done" or value is None or value == flag.default:
                continue
            called = flag.key if configuration else flag.names[0]
            if flag.fate == "refused":
                where = f"{configuration} {called}".lstrip()
                raise PlanError(f"{called} cannot be used here: {flag.text}.", where=where, hint=flag.hint)
            notes.append(f"{called} has no effect: {flag.text}.")
        return notes


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises our error where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise PlanError(f"{message[:1].upper()}{message[1:]}.", where=self.prog, hint=_see_help(self.prog))


def as_paths(texts: Iterable[str], spelling: str) -> tuple[Path, ...]:
    """The paths of a flag that takes several, for ``Flag.convert``."""
    return tuple(map(Path, texts))


def json_object(text: str, option: str) -> dict[str, Any]:
    """A JSON object. No text is ever run as code.

    Raises:
        PlanError: if it is none.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise PlanError(f"{error}.", where=option, hint="Write a JSON object in single quotes.") from None
    if not isinstance(value, dict):
        shown = text[:_SHOWN_CHARACTERS]
        raise PlanError(f"{shown} is no JSON object.", where=option, hint='Write \'{"name": "value"}\'.')
    return value


def _see_help(program: str) -> str:
    return f"See {program} --help."
