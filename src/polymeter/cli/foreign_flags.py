"""The flags of other systems' command lines, as tables: one record for each flag has its spelling, the option that it
sets, and its effect. Parsing, ``--help``, unknown flags, notes and refusals are the same for every system.

A table is data. Rules about several flags at once (one that needs another) stay with the system.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from polymeter.cli.pairs import parse_pairs
from polymeter.core.errors import PlanError, did_you_mean

Kind = Literal["text", "int", "float", "switch", "optional", "names", "repeated", "mapping", "object"]
"""The values of a flag: one value, no value, one or none (which is true), several values after one flag, one value
each time it is given, ``key=value,…`` or a JSON object, only a JSON object.
"""
Fate = Literal["done", "noted", "refused"]
"""The treatment of a flag: it takes effect, it is accepted without effect because nothing is lost without it, or it is
refused because it cannot be honoured.
"""
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
        text: What it does; for one that is noted or refused, the reason: a phrase that completes a sentence.
        fate: How it is treated.
        default: Its value if it is not given.
        spellings: How it is written, the first in messages; default: its key, with hyphens and with underscores. One
            without leading hyphens is a positional argument; it is always among parsed values.
        choices: The values it may have; empty: any.
        sets: The option that it sets; default: its key.
        convert: ``(value, spelling) → value``: converts the parsed value to the option's.
        hint: What to do instead, for one that is refused.
        is_ours: Whether it is Polymeter's, not the system's.
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
        """All its spellings."""
        hyphened = f"--{self.key.replace('_', '-')}"
        return self.spellings or tuple(dict.fromkeys((hyphened, f"--{self.key}")))

    def add_to(self, add_argument: Callable[..., argparse.Action]) -> None:
        """Add the flag with the method of a parser or of one of its groups."""
        text = f"{self.text}. {self.hint.rstrip('.')}" if self.hint else self.text
        shared: dict[str, Any] = {"help": text.replace("%", "%%")}
        if self.kind in _METAVARS:
            shared["metavar"] = _METAVARS[self.kind]
        if not self.names[0].startswith("-"):
            add_argument(self.key, nargs="?", choices=self.choices, default=self.default, **shared)
        elif self.kind == "switch":
            add_argument(*self.names, dest=self.key, action="store_true", **shared)
        elif self.kind == "optional":
            add_argument(*self.names, dest=self.key, nargs="?", const=True, **shared)
        elif self.kind == "names":
            add_argument(*self.names, dest=self.key, nargs="+", **shared)
        elif self.kind == "repeated":
            add_argument(*self.names, dest=self.key, action="append", **shared)
        else:
            value_type, choices = _SCALARS.get(self.kind, str), self.choices or None
            add_argument(*self.names, dest=self.key, type=value_type, choices=choices, **shared)

    def read(self, value: Any) -> Any:
        """A parsed value as data.

        Raises:
            PlanError: if it should be a mapping but is not.
        """
        if self.kind == "object" or (self.kind == "mapping" and value.lstrip().startswith("{")):
            return json_object(value, self.names[0])
        return parse_pairs([value], self.names[0]) if self.kind == "mapping" else value

    def configured(self, value: Any, where: str) -> Any:
        """A value from a configuration file, of the flag's type.

        Raises:
            PlanError: if it has another type, or is not one of the flag's choices.
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
            converted = _SCALARS[self.kind](value)
        except (TypeError, ValueError):
            raise PlanError(f"{self.key!r} must be a {self.kind}, not {value!r}.", where=where) from None
        if self.choices and converted not in self.choices:
            raise PlanError(f"{self.key!r} must be one of {', '.join(self.choices)}, not {value!r}.", where=where)
        return converted


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The flags of one command.

    Attributes:
        program: The command's name.
        about: Its description, above its flags in ``--help``.
        flags: Its flags, in the order of ``--help``.
        takes_prefixes: Whether an unambiguous prefix stands for a flag, as in the system's own parser.
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
        """A parser whose result contains only the flags that are given."""
        parser = _Parser(
            prog=self.program,
            description=self.about,
            argument_default=argparse.SUPPRESS,
            allow_abbrev=self.takes_prefixes,
        )
        sections = {title: parser.add_argument_group(title) for title in (*_SECTIONS.values(), _OURS)}
        for flag in self.flags:
            title = _OURS if flag.is_ours else _SECTIONS.get(flag.fate, "")
            flag.add_to((sections[title] if title else parser).add_argument)
        return parser

    def print_help(self) -> None:
        """Print the text of ``--help``."""
        self.parser().print_help()

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """The values of the flags that were given, by key.

        Raises:
            PlanError: if a flag is unknown (the message names the nearest known one), or a value has the wrong form.
        """
        values, unknown = self.parser().parse_known_args(words)
        if unknown:
            word = unknown[0].partition("=")[0]
            what = f"There is no option {word!r}." if word.startswith("-") else f"{word!r} belongs to no option."
            spellings = [name for flag in self.flags for name in flag.names]
            hint = did_you_mean(word, spellings, n=1) or _see_help(self.program)
            raise PlanError(what, where=self.program, hint=hint)
        by_key = self.by_key
        return {key: by_key[key].read(value) for key, value in vars(values).items()}

    def options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options that flags set.

        Args:
            given: The values of flags by key, from ``parse``.

        Raises:
            PlanError: if a value is invalid.
        """
        options = {}
        for key, value in given.items():
            flag = self.by_key[key]
            options[flag.sets or key] = value if flag.convert is None else flag.convert(value, flag.names[0])
        return options

    def notes_on(self, given: Mapping[str, Any], *, configuration: str = "") -> list[str]:
        """Notes on flags without effect that are given with a value other than their default.

        Args:
            given: The values of flags by key.
            configuration: The configuration whose fields the keys are, if the values do not come from a command line.

        Raises:
            PlanError: if one of the flags is refused.
        """
        notes = []
        for flag in self.flags:
            value = given.get(flag.key)
            if flag.fate == "done" or value is None or value == flag.default:
                continue
            name = flag.key if configuration else flag.names[0]
            if flag.fate == "refused":
                where = f"{configuration} {name}".lstrip()
                raise PlanError(f"{name} cannot be used here: {flag.text}.", where=where, hint=flag.hint)
            notes.append(f"{name} has no effect: {flag.text}.")
        return notes


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises PlanError where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        raise PlanError(f"{message[:1].upper()}{message[1:]}.", where=self.prog, hint=_see_help(self.prog))


def as_paths(texts: Iterable[str], spelling: str) -> tuple[Path, ...]:
    """The values of a flag as paths, for ``Flag.convert``."""
    return tuple(map(Path, texts))


def count_or_share(number: float, spelling: str) -> float:
    """The value of a flag as a number of samples or a share of them, for ``Flag.convert`` and for our own commands.

    Args:
        number: A whole number of at least 1, or a number between 0 and 1.
        spelling: The flag, for messages.

    Returns:
        The number of samples, as an integer, or the share.

    Raises:
        PlanError: if it is neither.
    """
    if 0 < number < 1:
        return number
    if not math.isfinite(number) or number < 1 or number != int(number):
        raise PlanError(
            f"{number:g} is neither a number of samples nor a share.",
            where=spelling,
            hint="Write 100, or 0.1 for a tenth.",
        )
    return int(number)


def written_count_or_share(text: str, spelling: str) -> float:
    """As ``count_or_share``, from what was typed.

    Raises:
        PlanError: if it is neither; a percentage is answered with the share.
    """
    try:
        return count_or_share(float(text), spelling)
    except ValueError:
        share = text.strip().removesuffix("%")
        is_percent = share != text.strip() and share.replace(".", "", 1).isdecimal() and 0 < float(share) < 100
        hint = f"Write {float(share) / 100:g} for {text.strip()}." if is_percent else "Write 100, or 0.1 for a tenth."
        raise PlanError(f"{text!r} is neither a number of samples nor a share.", where=spelling, hint=hint) from None


def json_object(text: str, option: str) -> dict[str, Any]:
    """A JSON object. The text is never run as code.

    Raises:
        PlanError: if it is not a JSON object.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise PlanError(f"{error}.", where=option, hint="Write a JSON object in single quotes.") from None
    if not isinstance(value, dict):
        shown = text[:_SHOWN_CHARACTERS]
        raise PlanError(f"{shown} is not a JSON object.", where=option, hint='Write \'{"name": "value"}\'.')
    return value


def _see_help(program: str) -> str:
    return f"See {program} --help."
