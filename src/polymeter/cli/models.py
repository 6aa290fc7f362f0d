"""``polymeter models``: list models, and the arguments of one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from polymeter.cli.state import Debug

if TYPE_CHECKING:
    from polymeter.core.registry import Target

_ASKS = {"generate": "with text", "loglikelihood": "log-likelihoods", "generate_image": "with images"}
_ARGUMENT = re.compile(r"^ {4}\*{0,2}(\w+)(?: \([^)]*\))?: (.*)$")


def models(
    name: Annotated[
        str | None, typer.Argument(help="Show the arguments of this one.", metavar="NAME", show_default=False)
    ] = None,
    debug: Debug = False,
) -> int:
    """List models, what they take and answer, and what is missing here; or show the arguments of one."""
    from polymeter.core.registries import MODELS

    if name is not None:
        typer.echo("\n".join(_describe(name.partition(":")[0])))
        return 0
    for known in sorted(MODELS):
        typer.echo("\n".join(_listed(known, MODELS.find(known))))
    typer.echo("\nUse one with --model NAME or --model NAME:WEIGHTS; 'polymeter models NAME' shows its arguments.")
    return 0


def _listed(name: str, target: Target) -> list[str]:
    """A model in two lines: what it is, and what goes in and comes out."""
    lines = [f"{typer.style(name, bold=True)}  {target.summary}".rstrip()]
    facts = [
        f"takes {', '.join(target.takes)}" if target.takes else "",
        f"answers {', '.join(_ASKS.get(ask, ask) for ask in target.gives)}" if target.gives else "",
        _needs(target.extra),
    ]
    said = "; ".join(fact for fact in facts if fact)
    return [*lines, typer.style(f"    {said}", dim=True)] if said else lines


def _needs(extra: str) -> str:
    from polymeter.cli.extras import missing_packages

    if not extra:
        return ""
    missing = missing_packages(extra)
    return f"needs {', '.join(missing)}: pip install 'polymeter[{extra}]'" if missing else ""


def _describe(name: str) -> list[str]:
    from polymeter.core.registries import MODELS

    target = MODELS.find(name)
    make = MODELS.get(name)
    said = _documented(make)
    lines = _listed(name, target)
    n_lines = len(lines)
    for parameter in _parameters(make):
        lines.append(f"  {_label(parameter)}")
        if said.get(parameter.name):
            lines.append(f"      {typer.style(said[parameter.name].replace('``', ''), dim=True)}")
    if len(lines) == n_lines:
        lines.append("  takes no arguments")
    for known, runs_it in _names_of(target).items():
        lines.append(f"  {name}:{known}\n      {typer.style(runs_it, dim=True)}")
    return [*lines, "", f"Give them as: --model {name} --model-args name=value,…"]


def _parameters(make: Callable[..., Any]) -> list[inspect.Parameter]:
    known = inspect.signature(make).parameters.values()
    return [parameter for parameter in known if parameter.kind is not parameter.VAR_POSITIONAL]


def _label(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_KEYWORD:
        return "…"
    return parameter.name + (f"={parameter.default!r}" if parameter.default is not parameter.empty else "")


def _names_of(target: Target) -> dict[str, str]:
    """Models that a backend knows by names of its own (``--model BACKEND:NAME``), each with what runs it."""
    from polymeter.core.systems import load

    return cast("Callable[[], dict[str, str]]", load(target.names))() if target.names else {}


def _documented(make: Callable[..., Any]) -> dict[str, str]:
    """What a Google-style docstring says of each argument."""
    text = inspect.getdoc(make) or ""
    _, found, rest = text.partition("\nArgs:\n")
    said: dict[str, str] = {}
    name = ""
    for line in rest.splitlines() if found else ():
        if line and not line.startswith(" "):
            break
        begins = _ARGUMENT.match(line)
        if begins:
            name, said[begins[1]] = begins[1], begins[2]
        elif name and line.strip():
            said[name] += " " + line.strip()
    return said
