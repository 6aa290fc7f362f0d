"""``polymeter models``: list models, and the arguments of one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from polymeter.cli.completion import model_names
from polymeter.cli.json_output import AsJson, print_document, stdout_kept
from polymeter.cli.state import Debug
from polymeter.core.names.installing import pip_install

if TYPE_CHECKING:
    from polymeter.core.names.registry import Target

_ANSWERS = {"generate": "with text", "loglikelihood": "log-likelihoods", "generate_image": "with images"}
_ARGUMENT = re.compile(r"^ {4}\*{0,2}(\w+)(?: \([^)]*\))?: (.*)$")


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show the arguments of this one.", metavar="NAME", show_default=False, autocompletion=model_names
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> int:
    """List models with their inputs, answers and missing packages; or show the arguments of one."""
    from polymeter.core.names.registries import MODELS

    if as_json and name is not None:
        backend = name.partition(":")[0]
        with stdout_kept(is_json=True):
            model = _model_document(backend)
        print_document("model", {"model": model})
        return 0
    if as_json:
        print_document("models", {"models": [_as_data(each, MODELS.find(each)) for each in sorted(MODELS)]})
        return 0
    if name is not None:
        typer.echo("\n".join(_describe(name.partition(":")[0])))
        return 0
    for backend in sorted(MODELS):
        typer.echo("\n".join(_model_lines(backend, MODELS.find(backend))))
    typer.echo("\nUse one with --model NAME or --model NAME:WEIGHTS; 'polymeter models NAME' shows its arguments.")
    return 0


def _model_lines(name: str, target: Target) -> list[str]:
    """A model in two lines: what it is, and its inputs and answers."""
    from polymeter.report.formatting import one_line

    lines = [f"{typer.style(one_line(name), bold=True)}  {one_line(target.summary)}".rstrip()]
    facts = [
        f"takes {', '.join(target.takes)}" if target.takes else "",
        f"answers {', '.join(_ANSWERS.get(kind, kind) for kind in target.gives)}" if target.gives else "",
        _needs(target.extra),
    ]
    summary = "; ".join(fact for fact in facts if fact)
    return [*lines, typer.style(f"    {summary}", dim=True)] if summary else lines


def _as_data(name: str, target: Target) -> dict[str, Any]:
    from polymeter.cli.extras import missing_packages

    return {
        "name": name,
        "summary": target.summary,
        "takes": list(target.takes),
        "gives": list(target.gives),
        "extra": target.extra or None,
        "missing": missing_packages(target.extra) if target.extra else [],
    }


def _model_document(name: str) -> dict[str, Any]:
    """A model with its arguments and the models that its backend knows by name, as plain data."""
    from polymeter.core.names.registries import MODELS
    from polymeter.core.text.codec import jsonable

    target = MODELS.find(name)
    make = MODELS.get(name)
    descriptions = _documented(make)
    named = [parameter for parameter in _parameters(make) if parameter.kind is not parameter.VAR_KEYWORD]
    arguments = [
        {
            "name": parameter.name,
            "is_required": parameter.default is parameter.empty,
            "default": None if parameter.default is parameter.empty else jsonable(parameter.default),
            "description": descriptions.get(parameter.name, "").replace("``", ""),
        }
        for parameter in named
    ]
    return {**_as_data(name, target), "arguments": arguments, "names": dict(_names_of(target))}


def _needs(extra: str) -> str:
    from polymeter.cli.extras import missing_packages

    if not extra:
        return ""
    missing = missing_packages(extra)
    return f"needs {', '.join(missing)}: {pip_install(extra=extra)}" if missing else ""


def _describe(name: str) -> list[str]:
    from polymeter.core.names.registries import MODELS
    from polymeter.report.formatting import one_line

    target = MODELS.find(name)
    make = MODELS.get(name)
    descriptions = _documented(make)
    lines = _model_lines(name, target)
    n_lines = len(lines)
    for parameter in _parameters(make):
        lines.append(f"  {one_line(_label(parameter))}")
        if descriptions.get(parameter.name):
            lines.append(f"      {typer.style(one_line(descriptions[parameter.name].replace('``', '')), dim=True)}")
    if len(lines) == n_lines:
        lines.append("  takes no arguments")
    for model_name, description in _names_of(target).items():
        lines.append(f"  {name}:{one_line(model_name)}\n      {typer.style(one_line(description), dim=True)}")
    return [*lines, "", f"Give them as: --model {name} --model-args name=value,…"]


def _parameters(make: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(make).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]


def _label(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return "…"
    return parameter.name + (f"={parameter.default!r}" if parameter.default is not parameter.empty else "")


def _names_of(target: Target) -> dict[str, str]:
    """The models that a backend knows by name (``--model BACKEND:NAME``), each with what runs it."""
    from polymeter.core.names.systems import load

    return cast("Callable[[], dict[str, str]]", load(target.names))() if target.names else {}


def _documented(make: Callable[..., Any]) -> dict[str, str]:
    """The description of each argument in a Google-style docstring."""
    # A class that only names another one's kind has no arguments of its own.
    classes = make.__mro__ if isinstance(make, type) else ()
    owner = next((cls for cls in classes if "__init__" in vars(cls)), make)
    text = inspect.getdoc(owner) or ""
    _, heading, section = text.partition("\nArgs:\n")
    descriptions: dict[str, str] = {}
    name = ""
    for line in section.splitlines() if heading else ():
        if line and not line.startswith(" "):
            break
        argument = _ARGUMENT.match(line)
        if argument:
            name, descriptions[argument[1]] = argument[1], argument[2]
        elif name and line.strip():
            descriptions[name] += " " + line.strip()
    return descriptions
