"""Parity: who asks for it and how, and that every switch is declared, read and tested."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.names.parity import NO_PARITY, Stays, difference_tables, parity_name, parity_with
from polymeter.core.names.systems import systems
from polymeter.core.options import RunOptions

SOURCE = Path(polymeter.__file__).parent
TESTS = Path(__file__).parents[1]
ROWS = [(system, row) for system in systems() for table in difference_tables(system) for row in table.rows]
DECLARED = {str(row.switch) for _, row in ROWS if row.is_switched}


def calls(folder: Path, name: str) -> Iterator[str]:
    """The first arguments of all calls of a function or method below a folder; one that is no text raises."""
    for file in folder.rglob("*.py"):
        is_others = folder == TESTS and "guests" in file.parts
        if is_others or f"{name}(" not in (text := file.read_text("utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func)
            if called == name or called.endswith(f".{name}"):
                argument = node.args[0]
                assert isinstance(argument, ast.Constant), f"{file}:{node.lineno}: name the switch here"
                yield str(argument.value)


@pytest.mark.needs_system("lmms_eval", "lm_eval", "evalscope", "ulmeval")
def test_every_switch_is_declared_read_and_tested_both_ways() -> None:
    read = set(calls(SOURCE, "parity.on"))
    tested = set(calls(TESTS, "difference"))
    assert read == DECLARED
    assert tested == DECLARED


def test_a_switch_belongs_to_one_system() -> None:
    owners = {(str(row.switch), system.name) for system, row in ROWS if row.is_switched}
    assert len(owners) == len(DECLARED)


def test_no_row_says_one_thing_twice() -> None:
    assert all(row.rule and row.there and row.here for _, row in ROWS)
    named = [(system.name, row.rule) for system, row in ROWS]
    assert len(named) == len(set(named))


@pytest.mark.parametrize("system", [system for system in systems() if system.differences], ids=lambda one: one.name)
def test_a_system_is_named_as_its_command_line_or_its_package(system: polymeter.core.names.systems.System) -> None:
    made = parity_with(system.parity_name)
    assert parity_with(system.name) == made
    assert made.label == f"{system.title} {system.version}".strip()
    assert RunOptions(parity=system.name).parity == system.parity_name
    assert not any(isinstance(switch, Stays) for switch in made.switched)


@pytest.mark.parametrize("text", ["", "none"])
def test_none_is_no_parity(text: str) -> None:
    assert parity_with(text) is NO_PARITY
    assert RunOptions(parity=text) == RunOptions()
    assert "parity" not in RunOptions(parity=text).identity()


@pytest.mark.needs_system("lmms_eval")
def test_an_unknown_system_names_the_nearest() -> None:
    with pytest.raises(PlanError) as caught:
        parity_name("lmms-evil")
    assert "'lmms-eval'" in caught.value.hint
    with pytest.raises(PlanError, match="no system 'x'"):
        RunOptions.make({"parity": "x"})
