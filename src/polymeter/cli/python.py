"""``polymeter python``: a script or module that was written for another system, run as it is.

What it imports from that system's packages is Polymeter's. Some modules are a system's command line; which, and what
else scripts of a system find, its record says.
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
from polymeter.core.systems import System, load, systems

_WHERE = "polymeter python"
_WRAPPERS, _BENCHMARKS, _DATA, _WEIGHTS = "--model-path", "--include-path", "--data", "--weights"
_OPTIONS = (_WRAPPERS, _BENCHMARKS, _DATA, _WEIGHTS)
_HELP = """\
Usage: polymeter python [OPTIONS]... (SCRIPT | -m MODULE) [ARGUMENTS]...

Run a script that was written for another evaluation tool: what it imports from there is Polymeter's.
Tools: {titles}.
{modules}

  --model-path FILE      a file or package with model wrappers, whose names the script may use
  --include-path FOLDER  a folder of benchmarks
  --data ID=PATH         local files in place of a dataset
  --weights ID=PATH      local files in place of a model id"""


def python(context: typer.Context) -> int:
    """Run a script or module written for another evaluation tool, unmodified."""
    words = list(context.args)
    if not words or words[0] in HELP:
        typer.echo(_help())
        return 0
    given, rest = _split(words)
    if rest[:1] == ["-m"]:
        if len(rest) < 2:
            modules = [module for system in systems() if system.command for module in system.command.modules]
            example = f"-m {modules[0]}, or another module" if modules else "its name behind -m"
            raise PlanError("Which module?", where="-m", hint=f"Write {example}.")
        module = rest[1].removesuffix(".__main__")
        for system in systems():
            if system.command is not None and module in system.command.modules:
                words = [*system.command.modules[module], *rest[2:], *_passed_on(system, module, given)]
                with _places(given):
                    return run_foreign(system.command, state_of(context), words)
    if not rest:
        raise PlanError("Which script?", where=_WHERE, hint="polymeter python --help explains.")
    return _run(rest, given)


def _help() -> str:
    titles = ", ".join(system.title for system in systems())
    modules = [
        f"The command line of {system.title}: {', '.join(f'-m {module}' for module in system.command.modules)}."
        for system in systems()
        if system.command is not None and system.command.modules
    ]
    return _HELP.format(titles=titles or "none here", modules="\n".join(modules))


def _split(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Our own options, and the script or module with everything behind it."""
    given: dict[str, list[str]] = {option: [] for option in _OPTIONS}
    place = 0
    while place < len(words) and words[place].startswith("--"):
        option, equals, value = words[place].partition("=")
        option = option.replace("_", "-")
        if option not in given:
            hint = did_you_mean(option, _OPTIONS, n=1) or "Options of the script stand behind it."
            raise PlanError(f"There is no option {option!r}.", where=_WHERE, hint=hint)
        if not equals:
            place += 1
            if place == len(words):
                raise PlanError(f"{option} needs a value.", where=_WHERE)
            value = words[place]
        given[option].append(value)
        place += 1
    return given, list(words[place:])


def _passed_on(system: System, module: str, given: dict[str, list[str]]) -> list[str]:
    """Options of ours that a system's command line has itself, in its spelling; they are taken out of ours.

    Raises:
        PlanError: if one of them is given twice, or wrappers are named that the command line does not take.
    """
    passed: list[str] = []
    for option, spelling in system.command.python_options.items() if system.command else ():
        values = given.pop(option)
        if len(values) > 1:
            raise PlanError(f"{option} is given {len(values)} times; {system.title} takes one.", where=_WHERE)
        passed += [spelling, *values] if values else []
    if given.get(_WRAPPERS):
        raise PlanError(f"-m {module} takes no {_WRAPPERS}.", where=_WHERE)
    return passed


def _run(words: list[str], given: dict[str, list[str]]) -> int:
    from polymeter.guests.shims import switch_on_shims

    is_module = words[0] == "-m"
    target, arguments = (words[1], words[2:]) if is_module else (words[0], words[1:])
    if not is_module and not Path(target).is_file():
        raise PlanError(f"There is no script {target!r}.", where=_WHERE, hint=_command_instead_of(target))
    switch_on_shims()
    with _as_python(target, arguments, is_module=is_module), _places(given), _contexts(), _shown_logs():
        for path in given[_WRAPPERS]:
            _load_wrappers(path)
        return _code_of(attempt(lambda: _play(target, is_module=is_module)))


def _command_instead_of(script: str) -> str:
    commands = (system.command for system in systems() if system.command is not None)
    name = next((command.name for command in commands if script in command.scripts), "")
    return f"'polymeter {name}' takes the options of {script}." if name else ""


def _play(target: str, *, is_module: bool) -> None:
    if is_module:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(target, init_globals=_supplied_names(Path(target)), run_name="__main__")


def _supplied_names(script: Path) -> dict[str, Any] | None:
    """Names that the script may use without importing them, because it was written for a system that supplies them."""
    source = script.read_bytes()
    names: dict[str, Any] = {}
    for system in systems():
        if system.scripts.names and any(root.encode() in source for root in system.import_roots):
            names.update(cast(Callable[[], Mapping[str, Any]], load(system.scripts.names))())
    return names or None


def _load_wrappers(path: str) -> None:
    """Load wrappers, so that the names that they register are known to the script: each file by the system whose signs
    it bears; where none does, the whole place by the system that needs no signs.

    Raises:
        PlanError: if there is no such system.
    """
    loaders = [system.scripts for system in systems() if system.scripts.wrappers]
    place = Path(path)
    files = sorted(place.glob("*.py")) if place.is_dir() else [place]
    recognised = [
        (scripts, str(file))
        for file in files
        if file.is_file()
        for scripts in loaders
        if scripts.recognise(file.read_bytes())
    ]
    loads = recognised or [(scripts, path) for scripts in loaders if not scripts.wrapper_signs][:1]
    if not loads:
        raise PlanError(f"Nothing here reads the model wrappers in {path!r}.", where=_WRAPPERS)
    for scripts, what in loads:
        cast(Callable[[str], object], load(scripts.wrappers))(what)


@contextmanager
def _contexts() -> Iterator[None]:
    """What the systems put around a script."""
    with ExitStack() as stack:
        for system in systems():
            if system.scripts.context:
                enter = cast(Callable[[], AbstractContextManager[object]], load(system.scripts.context))
                stack.enter_context(enter())
        yield


@contextmanager
def _as_python(target: str, arguments: list[str], *, is_module: bool) -> Iterator[None]:
    """The process as a script finds it: its arguments, and its folder as the first to import from."""
    before = sys.argv, sys.path[:]
    sys.argv = [target, *arguments]
    sys.path.insert(0, str(Path.cwd() if is_module else Path(target).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


@contextmanager
def _places(given: Mapping[str, list[str]]) -> Iterator[None]:
    """Where benchmarks, data and weights are, for every evaluation that begins inside this."""
    from polymeter.api.settings import DATA_VARIABLE, INCLUDE_VARIABLE
    from polymeter.core.environment import WEIGHTS_VARIABLE

    folders = given.get(_BENCHMARKS, [])
    added = {INCLUDE_VARIABLE: os.pathsep.join([*folders, *_set(INCLUDE_VARIABLE)]) if folders else ""}
    for option, variable in ((_DATA, DATA_VARIABLE), (_WEIGHTS, WEIGHTS_VARIABLE)):
        texts = given.get(option, [])
        parse_places(texts, option)
        added[variable] = ";".join([*_set(variable), *texts]) if texts else ""  # of one id the last place counts
    before = {variable: os.environ.get(variable) for variable in added}
    os.environ.update({variable: places for variable, places in added.items() if places})
    try:
        yield
    finally:
        for variable, value in before.items():
            os.environ.pop(variable, None)
            os.environ.update({variable: value} if value is not None else {})


@contextmanager
def _shown_logs() -> Iterator[None]:
    """What the script tells its loggers is shown: scripts of these projects print their results so."""
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


def _code_of(ended: Any) -> int:
    """The exit code of a script: what it says itself, or 1 after an exception, which is shown as Python shows it."""
    error = ended.error if isinstance(ended, Raised) else None
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
