"""Systems: what each claims, and that nothing outside their own folders names one."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

import polymeter
from polymeter.core.names.registry import Target
from polymeter.core.names.systems import Command, System, load, shared_claim, systems

ROOMS = ("analysis", "api", "catalog", "cli", "core", "exchange", "report", "run", "store")


def made(name: str, **fields: object) -> System:
    return System(name, name, "", **fields)  # type: ignore[arg-type]


def test_every_name_of_code_in_a_record_leads_somewhere() -> None:
    for system in systems():
        scripts = system.scripts
        targets = [scripts.names, scripts.context, scripts.wrappers]
        targets += [system.command.target] if system.command else []
        targets += [
            text for target in system.models.values() for text in (target.value, target.names, target.read_args)
        ]
        assert all(callable(load(target)) for target in targets if target)
        assert not system.library or importlib.util.find_spec(system.library)


@pytest.mark.parametrize(
    ("fields", "claim"),
    [
        ({"import_roots": {"tool": ()}}, "the import root 'tool'"),
        ({"formats": {"rows": Target("a:b", "")}}, "the format 'rows'"),
        ({"models": {"wrapped": Target("a:b", "")}}, "the model 'wrapped'"),
        ({"command": Command("tool", "", "a:b")}, "the command 'tool'"),
        ({"extensions": {"point": "a:b"}}, "the extension point 'point'"),
        ({"command": Command("x", "", "a:b", modules={"tool.run": ()})}, "the command 'x'"),
        ({"trees": {"tool.tasks.": ()}}, "the tree of neighbours 'tool.tasks.'"),
    ],
)
def test_what_two_systems_claim_is_named(fields: dict[str, object], claim: str) -> None:
    assert shared_claim(made("one", **fields), made("two", **fields)) == claim
    assert shared_claim(made("one", **fields), made("two")) == ""
    assert shared_claim(made("one"), made("one")) == "the name 'one'"


@pytest.mark.parametrize("room", ROOMS)
def test_no_code_outside_names_a_system(room: str) -> None:
    names = {name for system in systems() for name in (*system.import_roots, system.name)}
    names |= {system.command.name for system in systems() if system.command}
    found = []
    for file in Path(polymeter.__file__).parent.joinpath(room).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            text = node.module or "" if isinstance(node, ast.ImportFrom) else text
            if text in names or text.startswith(("polymeter.interop.", *(f"{name}." for name in names))):
                found.append(f"{file.name}:{node.lineno} {text}")  # type: ignore[attr-defined]
    assert not found
