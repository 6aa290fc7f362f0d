"""What the command lines of other projects share: their words reach a parser of our own as they are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from polymeter.core.errors import PlanError, did_you_mean

SETTINGS = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "help_option_names": [],
}
"""For registering such a command."""
_SHOWN_CHARACTERS = 60


class Parser(argparse.ArgumentParser):
    """An argument parser that raises our error in place of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong.

        Raises:
            PlanError: Always.
        """
        raise PlanError(f"{message[:1].upper()}{message[1:]}.", where=self.prog, hint=self._see())

    def parse_all(self, words: Sequence[str], known: Iterable[str]) -> argparse.Namespace:
        """Parse words, every one of which must mean something.

        Args:
            words: What the user typed.
            known: All spellings of options, for the hint.

        Raises:
            PlanError: An unknown option (the nearest known one is named), or a value of the wrong type.
        """
        found, rest = self.parse_known_args(words)
        if rest:
            option = rest[0].partition("=")[0]
            what = f"There is no option {option!r}." if option.startswith("-") else f"{option!r} belongs to no option."
            raise PlanError(what, where=self.prog, hint=did_you_mean(option, known, n=1) or self._see())
        return found

    def _see(self) -> str:
        return f"See {self.prog} --help."


def spelled(key: str) -> tuple[str, ...]:
    """How an option is written: with hyphens, and with underscores as in the field's name."""
    return (f"--{key}",) if "_" not in key else (f"--{key.replace('_', '-')}", f"--{key}")


def json_object(text: str, option: str) -> dict[str, Any]:
    """A JSON object. No text is ever run as code.

    Raises:
        PlanError: It is none.
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise PlanError(f"{error}.", where=option, hint="Write a JSON object in single quotes.") from None
    if not isinstance(found, dict):
        shown = text[:_SHOWN_CHARACTERS]
        raise PlanError(f"{shown} is no JSON object.", where=option, hint='Write \'{"name": "value"}\'.')
    return found
