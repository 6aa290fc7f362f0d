"""``polymeter lmms-eval``: lmms-eval's own command line, as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymeter.cli.foreign import Parser
from polymeter.cli.state import State, state_of
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.lmms_eval import flags

if TYPE_CHECKING:
    from polymeter.interop.lmms_eval.evaluation import LmmsEvalResult

_INTERRUPTED = 130
_QUIET = ("WARNING", "ERROR", "CRITICAL")
_LEVELS = ("TRACE", "DEBUG", "INFO", "SUCCESS", *_QUIET)
_LISTINGS = ("list", "list_groups", "list_tags", "list_subtasks")
_MISSING = {
    "ui": "'polymeter run' writes a page that shows every sample",
    "tui": "'polymeter run' writes a page that shows every sample",
    "serve": "call polymeter.evaluate() from your own server",
    "mcp": "call polymeter.evaluate() from your own server",
}


def lmms_eval(context: typer.Context) -> int:
    """Take lmms-eval's command line: eval (or options alone), tasks, models, power, version."""
    return run_words(state_of(context), list(context.args))


def run_words(state: State, words: list[str]) -> int:
    """Run a command of lmms-eval.

    Raises:
        PlanError: There is no such command, or it cannot run as asked for.
    """
    command = words[0] if words and not words[0].startswith("-") else "eval"
    rest = words[1:] if words[:1] == [command] else words
    if command in _MISSING:
        raise PlanError(f"There is no {command!r} here.", where=flags.WHERE, hint=f"{_MISSING[command]}.")
    commands = {"eval": _eval, "tasks": _tasks, "models": _models, "power": _power, "version": _version}
    if command not in commands:
        hint = did_you_mean(command, commands) or f"Known: {', '.join(commands)}."
        raise PlanError(f"There is no command {command!r}.", where=flags.WHERE, hint=hint)
    return commands[command](state, rest)


def _eval(state: State, words: list[str]) -> int:
    if not words or {"-h", "--help"} & set(words):
        flags.make_parser().print_help()
        return 0
    given = flags.parse(words)
    codes = []
    for configured, where in _configurations(given):
        with _environment(configured.pop("env", None), where):
            codes.append(_evaluate(state, {**configured, **given}))
        if codes[-1] == _INTERRUPTED:
            break
    return max(codes)


def _evaluate(state: State, given: dict[str, Any]) -> int:
    for note in flags.notes_on(given):
        typer.echo(note, err=True)
    options = {**flags.defaults(), **given}
    if options["verbosity"].upper() not in _LEVELS:
        hint = did_you_mean(options["verbosity"].upper(), _LEVELS) or f"Known: {', '.join(_LEVELS)}."
        raise PlanError(f"There is no verbosity {options['verbosity']!r}.", where="--verbosity", hint=hint)
    state.is_debug |= options["verbosity"].upper() == "DEBUG"
    if options["tasks"] is None:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter lmms-eval tasks list' lists them.")
    if options["power_analysis"]:
        return _analyse(options)
    if options["tasks"] in _LISTINGS:
        return _list(options["tasks"].removeprefix("list").lstrip("_") or "list", options["include_path"])
    return _measure(state, options, given)


def _measure(state: State, options: dict[str, Any], given: Mapping[str, Any]) -> int:
    from dataclasses import fields

    from polymeter.cli.outcome import show
    from polymeter.cli.progress import make_progress
    from polymeter.interop.lmms_eval.evaluation import LmmsEvalCommand, evaluate_lmms_eval

    names = {field.name for field in fields(LmmsEvalCommand)} - {"arguments"}
    told = {name: value for name, value in options.items() if name in names}
    # Unset, the model's or the task's own batch size holds; the record shows upstream's default.
    told["batch_size"] = given.get("batch_size")
    command = LmmsEvalCommand(**told, arguments=options)
    with make_progress(is_quiet=options["verbosity"].upper() in _QUIET) as progress:
        result = evaluate_lmms_eval(command, progress=progress, typed=state.command)
    code = show(result.run)
    _show_files(result)
    if options["show_config"]:
        _show_configurations(result)
    return code


def _show_files(result: LmmsEvalResult) -> None:
    for note in result.notes:
        typer.echo(note, err=True)
    for path in result.files:
        typer.echo(f"written  {path}")


def _show_configurations(result: LmmsEvalResult) -> None:
    for task in result.run.folder.read_manifest()["tasks"]:
        typer.echo(f"\n{task['name']}:")
        typer.echo(json.dumps(task["config"], indent=2, ensure_ascii=False))


def _configurations(given: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The runs of a configuration file, each with its place; without a file one run of the given options."""
    file = given.pop("config", "")
    if not file:
        return [({}, "")]
    import yaml

    path = Path(file)
    if not path.is_file():
        raise PlanError(f"There is no configuration file {file!r}.", where="--config")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise PlanError(f"The configuration is not valid YAML: {error}.", where=file) from None
    runs = content if isinstance(content, list) else [content]
    places = [file if len(runs) == 1 else f"{file} (run {number})" for number in range(1, len(runs) + 1)]
    return [(_checked(run, where), where) for run, where in zip(runs, places, strict=True)]


def _checked(run: Any, where: str) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise PlanError("A configuration must be a mapping of options.", where=where)
    found: dict[str, Any] = {}
    for key, value in run.items():
        if key == "env":
            found[key] = value
        elif key in flags.BY_KEY and key != "config":
            found[key] = flags.check_type(key, value, where)
        else:
            hint = did_you_mean(str(key), [*flags.BY_KEY, "env"], n=1) or f"Known: {', '.join(sorted(flags.BY_KEY))}."
            raise PlanError(f"There is no option {key!r}.", where=where, hint=hint)
    return found


def _environment(values: Any, where: str) -> AbstractContextManager[None]:
    """Environment variables of a configuration, for as long as its run lasts."""
    from polymeter.core.environment import environment_set

    if values is not None and not isinstance(values, Mapping):
        raise PlanError("'env' must be a mapping of names to values.", where=where)
    return environment_set({str(name): str(value) for name, value in (values or {}).items()})


def _tasks(state: State, words: list[str]) -> int:
    parser = Parser(prog=f"{flags.WHERE} tasks")
    actions = ["list", "groups", "subtasks", "tags", *_LISTINGS[1:]]
    parser.add_argument("action", nargs="?", default="list", choices=actions)
    parser.add_argument("--include-path", "--include_path", dest="include_path")
    parser.add_argument("--verbosity")
    told = parser.parse_args(words)
    return _list(told.action.removeprefix("list_"), told.include_path)


def _list(what: str, include_path: str | None) -> int:
    from polymeter.api import build_catalog

    catalog = build_catalog((Path(include_path),) if include_path else ())
    kinds = {"groups": "group", "subtasks": "task"}
    names = list(catalog.tags()) if what == "tags" else [e.name for e in catalog if e.kind == kinds.get(what, e.kind)]
    typer.echo("\n".join(sorted(names)))
    for problem in catalog.problems:
        typer.echo(f"{problem.where}: {problem.message}", err=True)
    return 0


def _models(state: State, words: list[str]) -> int:
    from polymeter.cli.models import models
    from polymeter.interop.lmms_eval.models.loading import known_wrappers

    parser = Parser(prog=f"{flags.WHERE} models")
    parser.add_argument("--aliases", action="store_true")
    parser.parse_args(words)
    code = models()
    wrappers = known_wrappers()
    if wrappers:
        typer.echo(f"\nWrappers of installed packages: {', '.join(sorted(wrappers))}")
    return code


def _version(state: State, words: Sequence[str]) -> int:
    from polymeter import __version__

    typer.echo(f"polymeter {__version__}, taking lmms-eval's command line")
    return 0


def _power(state: State, words: list[str]) -> int:
    if {"-h", "--help"} & set(words):
        flags.make_parser().print_help()
        return 0
    spelled = [word.replace("--include-path", "--include_path") for word in words]
    return _analyse({**flags.defaults(), **flags.parse(spelled)})


def _analyse(options: Mapping[str, Any]) -> int:
    from polymeter.interop.lmms_eval.power import report

    typer.echo("\n".join(report(options)))
    return 0
