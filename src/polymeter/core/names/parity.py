"""Deliberate differences between Polymeter and other systems, and the switches that give a system's values instead.

Each system declares its differences as text (``System.differences``): tables of ``Difference`` records, from which
``python -m scripts.differences`` makes ``docs/differences.md``. A difference that yields another deterministic value
names a switch; every other has the reason why it is never switched. A run with ``--parity SYSTEM`` has all switches of
that system on.

To add a difference: write a ``Difference`` in the system's ``differences.py`` with the name of its switch, ask
``parity.on("switch-name")`` where the value is made, test it both ways with ``tests.helpers.differences.difference``,
and make the page again. Code receives the run's ``Parity`` explicitly: formats in ``OpenContext``, the engine in
``Plan``, models as ``Model.parity``. Only code that a guest calls reads it from the ``GuestContext``.

Most switches of task YAML are one place (``config_at_parity``). Parity is identity, and left out of a run's identity
while it is off, so that runs without it are the same as before there was parity. A test fails for a switch that is
not declared, not read, or not tested both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import cast

from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.names.systems import System, load, systems

OFF = "none"
"""The word that turns off the parity of a settings file."""


class Stays(str, Enum):
    """The reason why a difference is never switched, as ``docs/differences.md`` shows it."""

    FAILURE = "a failure is not an answer"
    CRASH = "one system gives no value"
    CODE = "data must not run code"
    LOSS = "nothing may be lost"
    SECRET = "secrets and private addresses"
    UNSTABLE = "depends on what ran before"
    MODEL = "each model file decides"
    NAMING = "naming and running"
    SAME = "same value"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Difference:
    """A rule in which Polymeter and another system differ on purpose. All texts are Markdown.

    Attributes:
        rule: The subject.
        there: The other system's behaviour, as its code behaves at the stated version.
        here: Polymeter's behaviour.
        why: The reason; empty if that of ``switch`` explains it.
        switch: The name of the switch that gives the other system's value, or why there is none.
    """

    rule: str
    there: str
    here: str
    why: str
    switch: str | Stays

    @property
    def is_switched(self) -> bool:
        """True if a run with parity uses the other system's value."""
        return not isinstance(self.switch, Stays)


@dataclass(frozen=True, slots=True)
class DifferenceTable:
    """The differences in one area."""

    heading: str
    rows: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Parity:
    """The system whose values a run uses if the two differ.

    Attributes:
        system: The name by which users ask for it; empty: none, every switch is off.
        title: The system's usual name.
        version: The version whose behaviour is meant; empty: it has no versions.
        switched: The names of its switches.
    """

    system: str = ""
    title: str = ""
    version: str = ""
    switched: frozenset[str] = frozenset()

    def on(self, switch: str) -> bool:
        """Return true if the run uses the other system's value for the difference with this switch. A test checks that
        the name is declared.
        """
        return switch in self.switched

    @property
    def label(self) -> str:
        """The name in tables and reports, ``lmms-eval 0.7.2``; empty without parity."""
        return f"{self.title} {self.version}".strip()


NO_PARITY = Parity()


def parity_name(text: str) -> str:
    """The name of a system as stored, from what users write; empty for ``none``.

    Raises:
        PlanError: if there is no such system, or it declares no differences.
    """
    if text in ("", OFF):
        return ""
    return _system_named(text).parity_name


def parity_with(name: str) -> Parity:
    """The switches of a system.

    Args:
        name: The system, as users name it; empty or ``none``: no switch is on.

    Raises:
        PlanError: if there is no such system.
    """
    if name in ("", OFF):
        return NO_PARITY
    system = _system_named(name)
    rows = (row for table in difference_tables(system) for row in table.rows)
    switched = frozenset(str(row.switch) for row in rows if row.is_switched)
    return Parity(system.parity_name, system.title, system.version, switched)


def difference_tables(system: System) -> tuple[DifferenceTable, ...]:
    """The differences that a system declares; none if it declares none."""
    return cast("tuple[DifferenceTable, ...]", load(system.differences)) if system.differences else ()


def _system_named(text: str) -> System:
    known = {system.parity_name: system for system in systems() if system.differences}
    for system in known.values():
        if text in system.names:
            return system
    hint = did_you_mean(text, known) or f"Known: {', '.join(sorted(known))}, {OFF}."
    raise PlanError(f"There is no system {text!r}.", where="--parity", hint=hint)
