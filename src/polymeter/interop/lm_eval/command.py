"""``polymeter lm-eval``: lm-eval's own command line.

``flags`` declares the flags; this module turns them into an evaluation, a listing or a check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from polymeter.cli.foreign import Subcommands, asks_for_help
from polymeter.cli.pairs import parse_places
from polymeter.cli.printing import as_json, say
from polymeter.cli.state import State
from polymeter.core.errors import PlanError, PolymeterError, did_you_mean
from polymeter.core.request import Request
from polymeter.interop.lm_eval import flags
from polymeter.interop.lm_family.command import QUIET, check_verbosity, list_names

_LEVELS = ("DEBUG", "INFO", *QUIET)
_PAIRS = ("model_args", "gen_kwargs", "metadata", "wandb_args", "wandb_config_args", "hf_hub_log_args")
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def run_command(state: State, words: list[str]) -> int:
    """Run a command of lm-eval.

    Raises:
        PlanError: if there is no such command, or it cannot run with these options.
    """
    return _COMMANDS.run(state, words)


def load_wrappers(path: str) -> None:
    """Load files with models, so that the names they register are known: ``polymeter python --model-path``.

    Args:
        path: A file, a package folder, a folder of files, or a module's dotted name.

    Raises:
        PlanError: if there is no such file, folder or module, or its code fails to load.
    """
    from polymeter.interop.lm_eval.models.loading import load_models

    load_models(path)


def _run(state: State, words: list[str]) -> int:
    if not words or asks_for_help(words):
        flags.RUN.print_help()
        return 0
    given = _read_words(flags.RUN.parse(words))
    file = given.pop("config", None)
    if file:
        configured = _configured(str(file))
        # As there: an option of the command line wins unless it is false.
        given = {**configured, **{name: value for name, value in given.items() if value or value == 0}}
    for note in flags.RUN.notes_on(given):
        say(note, err=True)
    options = {**flags.RUN.defaults, **given}
    level = str(options["verbosity"] or "INFO").upper()
    check_verbosity(level, _LEVELS, level)
    state.is_debug |= level == "DEBUG"
    return _evaluate(state, options, is_quiet=level in QUIET)


def _evaluate(state: State, options: Mapping[str, Any], *, is_quiet: bool) -> int:
    from polymeter.cli.outcome import show
    from polymeter.cli.progress import make_progress
    from polymeter.interop.lm_eval.evaluation import evaluate_lm_eval, lm_eval_document
    from polymeter.interop.lm_eval.files.table import make_table

    command = _command(options)
    if options["write_out"]:
        _write_out(command)
    with make_progress(is_quiet=is_quiet) as progress:
        result = evaluate_lm_eval(command, progress=progress, typed=state.command)
    code = show(result.run)
    for note in result.notes:
        say(note, err=True)
    if result.stored is not None:
        document = lm_eval_document(result, has_samples=False)
        if options["show_config"]:
            typer.echo(as_json(document))
        typer.echo(_headline(options))
        for column in ("results", *(["groups"] if "groups" in document else [])):
            typer.echo(f"{make_table(document, column)}\n")
    for path in result.files:
        say(f"written  {path}")
    return code


def _command(options: Mapping[str, Any]) -> Any:
    """The options of the command line as a command."""
    from polymeter.interop.lm_eval.evaluation import (
        LmEvalCommand,
        checked_samples,
        parse_samples,
        parse_seeds,
    )
    from polymeter.interop.lm_family.evaluation import DEFAULT_SEEDS

    seed, samples, include = options["seed"], options["samples"], options["include_path"]
    told = {name: options[name] for name in LmEvalCommand.__dataclass_fields__ if name in options}
    told |= {name: told[name] or {} for name in ("model_args", "gen_kwargs", "metadata", "hf_hub_log_args")}
    if isinstance(samples, str):
        samples = parse_samples(samples)
    return LmEvalCommand(
        **{
            **told,
            "tasks": options["tasks"] or [],
            "samples": checked_samples(samples) if samples else None,
            "seeds": DEFAULT_SEEDS if seed is None else parse_seeds(str(seed)),
            "include_path": [include] if isinstance(include, str) else list(include or ()),
            "log_samples": options["log_samples"] or options["predict_only"],
            "data": parse_places(options["data"] or (), "--data"),
        }
    )


def _headline(options: Mapping[str, Any]) -> str:
    from polymeter.core.text.secrets import without_secrets

    arguments = {name: value for name, value in (options["model_args"] or {}).items() if name != "trust_remote_code"}
    size = 1 if options["batch_size"] is None else options["batch_size"]
    return (
        f"{options['model']} ({without_secrets(arguments)}), gen_kwargs: ({options['gen_kwargs'] or {}}), "
        f"limit: {options['limit']}, num_fewshot: {options['num_fewshot']}, batch_size: {size}"
    )


def _write_out(command: Any) -> None:
    """Print the first prompt of each task."""
    from polymeter.catalog.trying import first_prompt, open_spec
    from polymeter.interop.lm_eval.evaluation import catalog_of, patterns_and_paths, planned_context
    from polymeter.run.plan.selection import select

    paths = tuple(Path(f"lm-eval:{path}") for path in command.include_path)
    patterns, paths = patterns_and_paths(command.tasks, paths)
    chosen = select(patterns, catalog_of([str(path).removeprefix("lm-eval:") for path in paths]))
    for spec in chosen.tasks:
        task = open_spec(spec, command.data, command.parity, planned_context(command, spec))
        say(f"\n{spec.name}, first prompt:")
        typer.echo(_as_asked(first_prompt(task, task.samples[0]).requests[0]))


def _as_asked(request: Request) -> str:
    """A prompt as it is asked: a text, or the turns of a chat, whose template only the model knows."""
    if getattr(request.parameters, "template", "auto") != "chat":
        return request.text
    return "\n\n".join(f"{message.role}: {message.text}" for message in request.messages)


def _read_words(given: dict[str, Any]) -> dict[str, Any]:
    """The values of flags that take words: arguments as mappings, switches with a value as true or false."""
    read = dict(given)
    for name in _PAIRS:
        if name in read:
            read[name] = _arguments(name, read[name])
    if "fewshot_as_multiturn" in read:
        read["fewshot_as_multiturn"] = _truth("--fewshot_as_multiturn", read["fewshot_as_multiturn"])
    return read


def _arguments(name: str, words: Any) -> dict[str, Any]:
    from polymeter.interop.lm_eval.models.arguments import command_arguments

    try:
        return command_arguments(words)
    except ValueError as error:
        raise PlanError(f"{error}.", where=f"--{name}", hint="Write name=value,other=value.") from None


def _truth(option: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in (*_TRUE, *_FALSE):
        raise PlanError(f"{value!r} is neither true nor false.", where=option, hint="Write true or false.")
    return word in _TRUE


def _configured(file: str) -> dict[str, Any]:
    """The options of a configuration file, with values as flags have them."""
    from polymeter.core.text.yaml_text import read_yaml

    path = Path(file)
    if not path.is_file():
        raise PlanError(f"There is no configuration file {file!r}.", where="--config")
    content = read_yaml(path, what="configuration")
    if not isinstance(content, Mapping):
        raise PlanError("A configuration must be a mapping of options.", where=file)
    by_key = flags.RUN.by_key
    options = {}
    for key, value in content.items():
        if key not in by_key or key == "config":
            hint = did_you_mean(str(key), by_key, n=1) or f"Known: {', '.join(sorted(by_key))}."
            raise PlanError(f"There is no option {key!r}.", where=file, hint=hint)
        if value is not None:
            options[key] = _configured_value(str(key), value, file)
    return options


def _configured_value(key: str, value: Any, file: str) -> Any:
    from polymeter.interop.lm_eval.models.arguments import simple_parse_args_string

    where = f"{file}: {key}"
    if key in _PAIRS:
        pairs = simple_parse_args_string(value) if isinstance(value, str) else value
        if not isinstance(pairs, Mapping):
            raise PlanError(f"{key!r} must be a mapping, or key=value,…", where=where)
        return dict(pairs)
    kind = flags.RUN.by_key[key].kind
    if key in ("tasks", "data"):
        return [str(item) for item in value] if isinstance(value, list) else str(value).split(",")
    if key == "seed":
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)
    if key == "batch_size":
        return str(value)
    if kind == "switch" or (kind == "optional" and isinstance(value, bool)):
        if not isinstance(value, bool):
            raise PlanError(f"{key!r} must be true or false, not {value!r}.", where=where)
        return value
    if kind in ("optional", "text") and key in ("samples", "cache_requests"):
        return value
    numbers: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float}
    try:
        return numbers.get(kind, str)(value)
    except (TypeError, ValueError):
        raise PlanError(f"{key!r} must be a number, not {value!r}.", where=where) from None


def _ls(state: State, words: list[str]) -> int:
    if asks_for_help(words):
        flags.LIST.print_help()
        return 0
    given = flags.LIST.parse(words)
    from polymeter.interop.lm_eval.evaluation import catalog_of

    return list_names(catalog_of([given["include_path"]] if given.get("include_path") else []), given["what"])


def _validate(state: State, words: list[str]) -> int:
    if not words or asks_for_help(words):
        flags.VALIDATE.print_help()
        return 0
    from polymeter.interop.lm_eval.evaluation import catalog_of
    from polymeter.run.plan.selection import select

    given = flags.VALIDATE.parse(words)
    names = _names(given.get("tasks") or ())
    if not names:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter lm-eval ls tasks' lists them.")
    catalog = catalog_of([given["include_path"]] if given.get("include_path") else [])
    wrong = 0
    for name in names:
        try:
            chosen = select([name], catalog)
        except PolymeterError as error:
            wrong += 1
            say(f"{name}: {error}", err=True)
        else:
            say(f"{name}: {len(chosen.tasks)} {'task' if len(chosen.tasks) == 1 else 'tasks'}")
    return 2 if wrong else 0


def _names(words: Sequence[str]) -> list[str]:
    return [name.strip() for word in words for name in word.split(",") if name.strip()]


_COMMANDS = Subcommands(flags.PROGRAM, {"run": _run, "ls": _ls, "validate": _validate}, default="run")
