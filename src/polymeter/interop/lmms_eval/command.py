"""``polymeter lmms-eval``: lmms-eval's own command line.

``flags`` declares the flags; this module turns them into an evaluation, a listing or a power analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from polymeter.cli.foreign import Subcommands, asks_for_help
from polymeter.cli.printing import as_json, say
from polymeter.cli.state import State
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.lm_family.command import QUIET, check_verbosity, list_names
from polymeter.interop.lmms_eval import flags

if TYPE_CHECKING:
    from polymeter.interop.lmms_eval.evaluation import LmmsEvalResult

_INTERRUPTED = 130
_LEVELS = ("TRACE", "DEBUG", "INFO", "SUCCESS", *QUIET)


def run_command(state: State, words: list[str]) -> int:
    """Run a command of lmms-eval.

    Raises:
        PlanError: if there is no such command, or it cannot run with these options.
    """
    return _COMMANDS.run(state, words)


def load_wrappers(path: str) -> None:
    """Load model wrappers, so that the names they register are known: ``polymeter python --model-path``.

    Args:
        path: A file, a package folder, a folder of files, or a module's dotted name.

    Raises:
        PlanError: if there is no such file, folder or module, or its code fails to load.
    """
    from polymeter.guests import contained
    from polymeter.guests.loading.packages import GUEST_LOCK
    from polymeter.interop.lmms_eval.models.loading import load_modules

    with GUEST_LOCK, contained():
        load_modules(path)


def _eval(state: State, words: list[str]) -> int:
    if not words or asks_for_help(words):
        flags.EVAL.print_help()
        return 0
    given = flags.EVAL.parse(words)
    codes = []
    for configured, where in _configurations(given):
        with _environment(configured.pop("env", None), where):
            codes.append(_evaluate(state, {**configured, **_winning(given, configured)}))
        if codes[-1] == _INTERRUPTED:
            break
    return max(codes)


def _winning(given: Mapping[str, Any], configured: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command line that win over a configuration file: all, or at parity with lmms-eval those that
    are not the default.
    """
    from polymeter.api.settings import parity_of
    from polymeter.core.names.parity import parity_with

    parity = parity_with(parity_of(given.get("parity", configured.get("parity"))))
    if not parity.on("config-default"):
        return dict(given)
    defaults = flags.EVAL.defaults
    return {name: value for name, value in given.items() if name not in configured or value != defaults[name]}


def _evaluate(state: State, given: dict[str, Any]) -> int:
    _say_all(flags.EVAL.notes_on(given))
    options = {**flags.EVAL.defaults, **given}
    check_verbosity(options["verbosity"].upper(), _LEVELS, options["verbosity"])
    state.is_debug |= options["verbosity"].upper() == "DEBUG"
    if options["tasks"] is None:
        raise PlanError("No task is named.", where="--tasks", hint="'polymeter lmms-eval tasks list' lists them.")
    if options["power_analysis"]:
        return _analyse(options)
    if options["tasks"] in flags.LISTINGS:
        return _list(options["tasks"].removeprefix("list").lstrip("_") or "list", options["include_path"])
    return _measure(state, options, given)


def _measure(state: State, options: dict[str, Any], given: Mapping[str, Any]) -> int:
    from dataclasses import fields

    from polymeter.cli.outcome import show
    from polymeter.cli.progress import make_progress
    from polymeter.interop.lmms_eval.evaluation import LmmsEvalCommand, evaluate_lmms_eval

    names = {field.name for field in fields(LmmsEvalCommand)} - {"arguments"}
    command_fields = {name: value for name, value in options.items() if name in names}
    # Unset, the model's or the task's own batch size applies; the record shows lmms-eval's default.
    command_fields["batch_size"] = given.get("batch_size")
    recorded = {name: value for name, value in options.items() if name != "parity" or value}
    command = LmmsEvalCommand(**command_fields, arguments=recorded)
    with make_progress(is_quiet=options["verbosity"].upper() in QUIET) as progress:
        result = evaluate_lmms_eval(command, progress=progress, typed=state.command)
    code = show(result.run)
    _show_files(result)
    if options["show_config"]:
        _show_configurations(result)
    return code


def _show_files(result: LmmsEvalResult) -> None:
    _say_all(result.notes)
    for path in result.files:
        say(f"written  {path}")


def _show_configurations(result: LmmsEvalResult) -> None:
    for task in result.run.folder.read_manifest()["tasks"]:
        say(f"\n{task['name']}:")
        typer.echo(as_json(task["config"]))


def _configurations(given: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """The runs of a configuration file, each with its location for messages; without a file, one run with no options
    beyond those given.
    """
    file = given.pop("config", "")
    if not file:
        return [({}, "")]
    path = Path(file)
    if not path.is_file():
        raise PlanError(f"There is no configuration file {file!r}.", where="--config")
    from polymeter.core.text.yaml_text import read_yaml

    content = read_yaml(path, what="configuration")
    runs = content if isinstance(content, list) else [content]
    places = [file if len(runs) == 1 else f"{file} (run {number})" for number in range(1, len(runs) + 1)]
    return [(_checked(run, where), where) for run, where in zip(runs, places, strict=True)]


def _checked(run: Any, where: str) -> dict[str, Any]:
    if not isinstance(run, Mapping):
        raise PlanError("A configuration must be a mapping of options.", where=where)
    by_key = flags.EVAL.by_key
    options: dict[str, Any] = {}
    for key, value in run.items():
        if key == "env":
            options[key] = value
        elif key in by_key and key != "config":
            options[key] = by_key[key].configured(value, where)
        else:
            hint = did_you_mean(str(key), [*by_key, "env"], n=1) or f"Known: {', '.join(sorted(by_key))}."
            raise PlanError(f"There is no option {key!r}.", where=where, hint=hint)
    return options


def _environment(values: Any, where: str) -> AbstractContextManager[None]:
    """Set a configuration's environment variables while its run lasts."""
    from polymeter.core.machine.environment import environment_set

    if values is not None and not isinstance(values, Mapping):
        raise PlanError("'env' must be a mapping of names to values.", where=where)
    return environment_set({str(name): str(value) for name, value in (values or {}).items()})


def _tasks(state: State, words: list[str]) -> int:
    if asks_for_help(words):
        flags.TASKS.print_help()
        return 0
    given = flags.TASKS.parse(words)
    _say_all(flags.TASKS.notes_on(given))
    return _list(given["action"].removeprefix("list_"), given.get("include_path"))


def _list(kind: str, include_path: str | None) -> int:
    from polymeter.api import build_catalog

    return list_names(build_catalog((Path(include_path),) if include_path else ()), kind)


def _models(state: State, words: list[str]) -> int:
    from polymeter.cli.models import models
    from polymeter.interop.lmms_eval.models.loading import known_wrappers

    if asks_for_help(words):
        flags.MODELS.print_help()
        return 0
    _say_all(flags.MODELS.notes_on(flags.MODELS.parse(words)))
    code = models()
    wrappers = known_wrappers()
    if wrappers:
        say(f"\nWrappers of installed packages: {', '.join(sorted(wrappers))}")
    return code


def _version(state: State, words: Sequence[str]) -> int:
    from polymeter import __version__

    say(f"polymeter {__version__}, with lmms-eval's command line")
    return 0


def _say_all(notes: Iterable[str]) -> None:
    for note in notes:
        say(note, err=True)


def _power(state: State, words: list[str]) -> int:
    if asks_for_help(words):
        flags.EVAL.print_help()
        return 0
    underscored = [word.replace("--include-path", "--include_path") for word in words]
    return _analyse({**flags.EVAL.defaults, **flags.EVAL.parse(underscored)})


def _analyse(options: Mapping[str, Any]) -> int:
    say("\n".join(_power_report(options)))
    return 0


def _power_report(options: Mapping[str, Any]) -> Iterator[str]:
    """Report the number of samples that show a difference between two models, and whether the tasks have that many.

    Raises:
        PlanError: if an option is out of range, or a task cannot be opened.
    """
    from polymeter.stats import achieved_power, detectable_effect, needed_samples
    from polymeter.stats.power import STD

    effect, power = options["effect_size"], options["power"]
    assumptions = {
        "std_a": STD if options["std_a"] is None else options["std_a"],
        "std_b": STD if options["std_b"] is None else options["std_b"],
        "correlation": options["correlation"],
        "alpha": options["alpha"],
    }
    try:
        needed = needed_samples(effect, power=power, **assumptions)
    except ValueError as error:
        raise PlanError(str(error), where="--power-analysis") from None
    yield f"Showing a difference of {effect:.1%} with {power:.0%} power needs {needed:,} samples"
    yield (
        f"(paired, two-sided, alpha {assumptions['alpha']:g}, correlation {assumptions['correlation']:g}, "
        f"standard deviations {assumptions['std_a']:g} and {assumptions['std_b']:g})."
    )
    for name, n_samples in _sizes(options):
        reached = achieved_power(effect, n_samples, **assumptions)
        smallest = detectable_effect(n_samples, power=power, **assumptions)
        enough = "enough" if reached >= power else "too few"
        yield f"{name}: {n_samples:,} samples, {enough}: {reached:.1%} power, shows differences from {smallest:.1%}"


def _sizes(options: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The name and number of samples of each task."""
    if not options["tasks"]:
        return
    from polymeter.catalog.trying import open_named
    from polymeter.interop.lmms_eval.evaluation import patterns_and_paths

    patterns, paths = patterns_and_paths(options["tasks"], options["include_path"])
    for task in open_named(patterns, paths):
        yield task.spec.name, len(task.samples)


_COMMANDS = Subcommands(
    flags.PROGRAM,
    {"eval": _eval, "tasks": _tasks, "models": _models, "power": _power, "version": _version},
    elsewhere={
        "ui": "'polymeter run' writes an HTML report that shows every sample",
        "tui": "'polymeter run' writes an HTML report that shows every sample",
        "serve": "call polymeter.evaluate() from your own server",
        "mcp": "call polymeter.evaluate() from your own server",
    },
    default="eval",
)
