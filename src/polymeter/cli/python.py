"""``polymeter python``: run a script or module that was written for another system, unmodified.

What it imports from that system's packages is Polymeter's. The system's record names the modules of its command line,
and other needs of its scripts.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, cast

import typer

from polymeter.cli.foreign import HELP, run_foreign
from polymeter.cli.pairs import parse_places
from polymeter.cli.state import state_of
from polymeter.core.errors import PlanError, PolymeterError, Raised, attempt, did_you_mean
from polymeter.core.names.systems import Command, load, systems

_WHERE = "polymeter python"
_WRAPPERS = "--model-path"
_BENCHMARKS = "--include-path"
_DATA = "--data"
_WEIGHTS = "--weights"
_OPTIONS = (_WRAPPERS, _BENCHMARKS, _DATA, _WEIGHTS)
_HELP = """\
Usage: polymeter python [OPTIONS]... (SCRIPT | -m MODULE) [ARGUMENTS]...

Run a script that was written for another evaluation tool; its imports from that tool lead to Polymeter.
Tools: {titles}.
{modules}

  --model-path FILE      a file or package with model wrappers that the script may use by name
  --include-path FOLDER  a folder of benchmarks
  --data ID=PATH         local files that replace a dataset
  --weights ID=PATH      local files that replace a model id"""


def python(context: typer.Context) -> int:
    """Run a script or module written for another evaluation tool, unmodified."""
    words = list(context.args)
    if not words or words[0] in HELP:
        typer.echo(_help())
        return 0
    options, target = _split(words)
    if target[:1] == ["-m"]:
        if len(target) < 2:
            modules = [module for command in _commands() for module in command.modules]
            example = f"-m {modules[0]}, or another module" if modules else "its name after -m"
            raise PlanError("No module is named.", where="-m", hint=f"Write {example}.")
        module = target[1].removesuffix(".__main__")
        for command in _commands():
            if module in command.modules:
                words = [*command.modules[module], *target[2:], *_passed_on(command, module, options)]
                with _environment(options):
                    return run_foreign(command, state_of(context), words)
    if not target:
        raise PlanError("No script is named.", where=_WHERE, hint="See polymeter python --help.")
    return _run(target, options)


def _help() -> str:
    titles = ", ".join(system.title for system in systems())
    modules = [
        f"The command line 'polymeter {command.name}': {', '.join(f'-m {module}' for module in command.modules)}."
        for command in _commands()
        if command.modules
    ]
    return _HELP.format(titles=titles or "none here", modules="\n".join(modules))


def _split(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Polymeter's options, and the script or module with everything after it."""
    options: dict[str, list[str]] = {option: [] for option in _OPTIONS}
    position = 0
    while position < len(words) and words[position].startswith("--"):
        option, equals, value = words[position].partition("=")
        option = option.replace("_", "-")
        if option not in options:
            hint = did_you_mean(option, _OPTIONS, n=1) or "Put options of the script after it."
            raise PlanError(f"There is no option {option!r}.", where=_WHERE, hint=hint)
        if not equals:
            position += 1
            if position == len(words):
                raise PlanError(f"{option} needs a value.", where=_WHERE)
            value = words[position]
        options[option].append(value)
        position += 1
    return options, list(words[position:])


def _commands() -> list[Command]:
    """The command lines of all systems."""
    return [command for system in systems() for command in system.commands]


def _passed_on(command: Command, module: str, options: dict[str, list[str]]) -> list[str]:
    """Options that a system's command line has as well, in its spelling; they are removed from Polymeter's.

    Raises:
        PlanError: if one of them is given twice, or wrappers are named but the command line does not take any.
    """
    passed: list[str] = []
    for option, spelling in command.python_options.items():
        values = options.pop(option)
        if len(values) > 1:
            raise PlanError(f"{option} is given {len(values)} times; -m {module} takes one.", where=_WHERE)
        passed += [spelling, *values] if values else []
    if options.get(_WRAPPERS):
        raise PlanError(f"-m {module} does not accept {_WRAPPERS}.", where=_WHERE)
    return passed


def _run(words: list[str], options: dict[str, list[str]]) -> int:
    from polymeter.api.settings import read_settings
    from polymeter.core.guest_context import default_guest_context_with
    from polymeter.core.names.parity import parity_with
    from polymeter.guests.loading.neighbours import include_trees
    from polymeter.guests.shims.finder import switch_on_shims

    is_module = words[0] == "-m"
    target, arguments = (words[1], words[2:]) if is_module else (words[0], words[1:])
    if not is_module and not Path(target).is_file():
        raise PlanError(f"There is no script {target!r}.", where=_WHERE, hint=_command_instead_of(target))
    switch_on_shims()
    with _as_python(target, arguments, is_module=is_module), _environment(options), _contexts(), _shown_logs():
        settings = read_settings()
        include_trees(settings.include_paths)
        # What the script calls by itself has the values that its evaluations would have; each of those sets its own.
        with default_guest_context_with(parity=parity_with(settings.parity)):
            for path in options[_WRAPPERS]:
                _load_wrappers(path)
            return _exit_code(attempt(lambda: _execute(target, is_module=is_module)))


def _command_instead_of(script: str) -> str:
    names = [f"'polymeter {command.name}'" for command in _commands() if script in command.scripts]
    takes = "takes" if len(names) == 1 else "take"
    return f"{' and '.join(names)} {takes} the options of {script}." if names else ""


def _execute(target: str, *, is_module: bool) -> None:
    if is_module:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        script = Path(target).absolute()  # as Python names it, so that it is known wherever the script goes
        runpy.run_path(str(script), init_globals=_supplied_names(script), run_name="__main__")


def _supplied_names(script: Path) -> dict[str, Any] | None:
    """Names that the script may use without importing them, because its system supplies them."""
    source = script.read_bytes()
    names: dict[str, Any] = {}
    for system in systems():
        if system.scripts.names and any(root.encode() in source for root in system.import_roots):
            names.update(cast(Callable[[], Mapping[str, Any]], load(system.scripts.names))())
    return names or None


def _load_wrappers(path: str) -> None:
    """Load model wrappers, so that the script knows the names that they register.

    Each file is loaded by the system that recognises it; if none recognises any, the whole path is loaded by the system
    that needs no signs.

    Raises:
        PlanError: if there is no such system.
    """
    loaders = [system.scripts for system in systems() if system.scripts.wrappers]
    source = Path(path)
    files = sorted(source.glob("*.py")) if source.is_dir() else [source]
    recognised = [
        (scripts, str(file))
        for file in files
        if file.is_file()
        for scripts in loaders
        if scripts.recognise(file.read_bytes())
    ]
    loads = recognised or [(scripts, path) for scripts in loaders if not scripts.wrapper_signs][:1]
    if not loads:
        raise PlanError(f"No installed system reads the model wrappers in {path!r}.", where=_WRAPPERS)
    for scripts, wrapper_path in loads:
        cast(Callable[[str], object], load(scripts.wrappers))(wrapper_path)


@contextmanager
def _contexts() -> Iterator[None]:
    """The contexts in which the systems run scripts."""
    with ExitStack() as stack:
        for system in systems():
            if system.scripts.context:
                enter = cast(Callable[[], AbstractContextManager[object]], load(system.scripts.context))
                stack.enter_context(enter())
        yield


@contextmanager
def _as_python(target: str, arguments: list[str], *, is_module: bool) -> Iterator[None]:
    """The process as Python prepares it for a script: its arguments, and its folder first on the import path."""
    before = sys.argv, sys.path[:]
    sys.argv = [target, *arguments]
    sys.path.insert(0, str(Path.cwd() if is_module else Path(target).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


@contextmanager
def _environment(options: Mapping[str, list[str]]) -> Iterator[None]:
    """Environment variables with the places of benchmarks, data and weights for every evaluation inside this."""
    from polymeter.api.settings import DATA_VARIABLE, INCLUDE_VARIABLE
    from polymeter.core.machine.environment import WEIGHTS_VARIABLE

    folders = options.get(_BENCHMARKS, [])
    added = {INCLUDE_VARIABLE: os.pathsep.join([*folders, *_set(INCLUDE_VARIABLE)]) if folders else ""}
    for option, variable in ((_DATA, DATA_VARIABLE), (_WEIGHTS, WEIGHTS_VARIABLE)):
        texts = options.get(option, [])
        parse_places(texts, option)
        added[variable] = ";".join([*_set(variable), *texts]) if texts else ""  # the last path of an id counts
    before = {variable: os.environ.get(variable) for variable in added}
    os.environ.update({variable: value for variable, value in added.items() if value})
    try:
        yield
    finally:
        for variable, value in before.items():
            os.environ.pop(variable, None)
            os.environ.update({variable: value} if value is not None else {})


@contextmanager
def _shown_logs() -> Iterator[None]:
    """Show what the script logs: scripts of these systems print their results that way."""
    from polymeter.guests.loggers import HOME

    logger, handler = logging.getLogger(HOME), logging.StreamHandler()
    before = logger.level, logger.propagate
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


def _set(variable: str) -> list[str]:
    value = os.environ.get(variable)
    return [value] if value else []


def _exit_code(result: Any) -> int:
    """The exit code of a script: its own, or 1 after an exception, which is printed as Python does."""
    error = result.error if isinstance(result, Raised) else None
    if error is None:
        return 0
    if isinstance(error, (PolymeterError, KeyboardInterrupt)):
        raise error
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
        return 1
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    typer.echo(str(error.code), err=True)
    return 1
