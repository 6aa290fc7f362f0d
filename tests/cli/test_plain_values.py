"""Values that we convert ourselves are those that typer would have made; every other value is left to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from polymeter.cli import main as entry
from polymeter.cli import plain_values
from polymeter.cli.main import build_app, main

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    3,
    2.5,
    "",
    "3",
    "-7",
    "007",
    "1_000",
    " 3",
    "3.0",
    "0.25",
    ".5",
    "1e3",
    "nan",
    "99999999999999999999",
    "70000",
    "text",
    "TEXT",
    "none",
    "json",
    "zh",
    "pyproject.toml",
    "no/such/file",
    "a\0b",
    Path("docs"),
    (),
    ["a", "b"],
    ["1", "2"],
    ["pyproject.toml", "a\0b"],
)


GROUP: Any = typer.main.get_command(build_app())


def _parameters(name: str) -> list[tuple[Any, Any]]:
    """Those of a command, each with the context in which it is parsed."""
    command = GROUP.commands[name]
    context = command.context_class(command, info_name=name)
    return [(each, context) for each in command.get_params(context) if hasattr(each, "type_descriptor")]


def _outcome(convert: Any, context: Any, value: Any) -> Any:
    try:
        made = convert(context, value)
    except (typer.BadParameter, typer.Exit) as error:
        return type(error), str(error)
    return type(made), repr(made)


@pytest.mark.parametrize("command", GROUP.commands)
def test_a_plain_value_is_what_typer_would_make_of_it(command):
    for parameter, context in _parameters(command):
        for value in VALUES:
            plain = plain_values._plain(parameter, value)
            if plain is not plain_values._USUAL:
                usual = parameter.get_runtime_param().coerce(value, param=parameter, ctx=context)
                assert (type(plain), plain) == (type(usual), usual), (parameter.name, value)


@pytest.mark.parametrize("command", GROUP.commands)
def test_wrong_and_missing_values_are_told_as_usual(command, monkeypatch, capsys):
    for parameter, context in _parameters(command):
        monkeypatch.setattr(parameter, "callback", None)
        usual = parameter.process_value
        ours = plain_values._with_plain_values(parameter, usual)
        for value in VALUES:
            assert _outcome(ours, context, value) == _outcome(usual, context, value), (parameter.name, value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--model", "mock", "--tasks", "demo", "--limit", "some"], "--limit"),
        (["run", "--model", "mock"], "--tasks"),
        (["view", "--port", "70000"], "--port"),
        (["run", "--model", "mock", "--tasks", "demo", "--media", "every"], "every"),
    ],
)
def test_wrong_values_are_refused_by_their_options(arguments, words, capsys):
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--version"], ["show", "no/such/run"], ["report", "--help"]])
def test_converting_values_imports_no_pydantic(arguments):
    code = f"import sys; from polymeter.cli.main import main; main({arguments!r}); assert 'pydantic' not in sys.modules"
    paths = os.pathsep.join(path for path in sys.path if path)
    subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONPATH": paths}
    )


def test_an_unexpected_error_is_printed_by_us(monkeypatch, capsys):
    """Typer would print it with the keys that it holds."""
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(sys, "argv", ["polymeter", "--version"])
    assert main() == 0
    assert sys.excepthook is entry._print_unexpected
