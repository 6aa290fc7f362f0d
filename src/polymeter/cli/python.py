"""``polymeter python``: a script or module that was written for lmms-eval, EvalScope, ULMEvalKit or VLMEvalKit, run as
it is.

What it imports from ``lmms_eval``, ``evalscope``, ``ulmeval`` or ``vlmeval`` is Polymeter's. ``-m lmms_eval`` and
``-m lm_eval`` are lmms-eval's command line, ``-m evalscope.run`` is EvalScope's, ``-m ulmeval.run`` and
``-m ulmeval.evaluate`` are ULMEvalKit's ``run.py`` and ``evaluate.py``.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from polymeter.cli.pairs import parse_places
from polymeter.cli.state import State, state_of
from polymeter.core.errors import PlanError, PolymeterError, Raised, attempt, did_you_mean
from polymeter.interop.evalscope import command as evalscope
from polymeter.interop.lmms_eval.command import run_words
from polymeter.interop.ulmeval import command as ulmeval

_FACADES = ("lmms_eval", "lm_eval")
_EVALSCOPE = ("evalscope", "evalscope.run", "evalscope.cli.cli")
_SCRIPTS = ("run.py", "evaluate.py")
_ULMEVAL = {
    "ulmeval": "run",
    "ulmeval.run": "run",
    "ulmeval.evaluate": "evaluate",
}
"""Modules that stand for ULMEvalKit's ``run.py`` and ``evaluate.py``."""
_OPTIONS = ("--model-path", "--include-path", "--data", "--weights")
_HELP = """\
Usage: polymeter python [OPTIONS]... (SCRIPT | -m MODULE) [ARGUMENTS]...

Run a script that was written for lmms-eval, EvalScope, ULMEvalKit or VLMEvalKit: what it imports from them is
Polymeter's.
-m lmms_eval and -m lm_eval take lmms-eval's own command line, -m evalscope.run takes EvalScope's, -m ulmeval.run and
-m ulmeval.evaluate take that of ULMEvalKit's run.py and evaluate.py.

  --model-path FILE      a file or package with model wrappers, whose names the script may use
  --include-path FOLDER  a folder of benchmarks
  --data ID=PATH         local files in place of a dataset
  --weights ID=PATH      local files in place of a model id"""


def python(context: typer.Context) -> int:
    """Run a script or module written for lmms-eval, EvalScope or ULMEvalKit, unmodified."""
    words = list(context.args)
    if not words or words[0] in ("-h", "--help"):
        typer.echo(_HELP)
        return 0
    told, rest = _split(words)
    if rest[:1] == ["-m"]:
        if len(rest) < 2:
            raise PlanError("Which module?", where="-m", hint="Write -m lmms_eval, or another module.")
        if rest[1].removesuffix(".__main__") in _FACADES:
            flags = _as_flags({name: told.pop(name) for name in ("--model-path", "--include-path")})
            with _places(told):
                return run_words(state_of(context), [*rest[2:], *flags])
        if rest[1].removesuffix(".__main__") in _EVALSCOPE:
            return _run_evalscope(state_of(context), rest, told)
        if rest[1].removesuffix(".__main__") in _ULMEVAL:
            return _run_ulmeval(state_of(context), rest, told)
    if not rest:
        raise PlanError("Which script?", where="polymeter python", hint="polymeter python --help explains.")
    return _run(state_of(context), rest, told)


def _split(words: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Our own options, and the script or module with everything behind it."""
    told: dict[str, list[str]] = {option: [] for option in _OPTIONS}
    place = 0
    while place < len(words) and words[place].startswith("--"):
        option, equals, value = words[place].partition("=")
        option = option.replace("_", "-")
        if option not in told:
            hint = did_you_mean(option, _OPTIONS, n=1) or "Options of the script stand behind it."
            raise PlanError(f"There is no option {option!r}.", where="polymeter python", hint=hint)
        if not equals:
            place += 1
            if place == len(words):
                raise PlanError(f"{option} needs a value.", where="polymeter python")
            value = words[place]
        told[option].append(value)
        place += 1
    return told, list(words[place:])


def _run_evalscope(state: State, rest: list[str], told: dict[str, list[str]]) -> int:
    if told["--model-path"]:
        raise PlanError("--model-path is for wrappers of lmms-eval.", where="polymeter python")
    words = rest[2:] if rest[1].startswith("evalscope.cli") else ["eval", *rest[2:]]
    with _places(told):
        return evalscope.run_words(state, words)


def _run_ulmeval(state: State, rest: list[str], told: dict[str, list[str]]) -> int:
    paths = told.pop("--model-path")
    command = _ULMEVAL[rest[1].removesuffix(".__main__")]
    with _places(told):
        return ulmeval.run_words(
            state, [command, *rest[2:], *(word for path in paths for word in ("--model-path", path))]
        )


def _as_flags(told: dict[str, list[str]]) -> list[str]:
    flags: list[str] = []
    for option, values in told.items():
        if len(values) > 1:
            raise PlanError(f"{option} is given {len(values)} times; lmms-eval takes one.", where="polymeter python")
        flags.extend([option.replace("-path", "_path"), *values] if values else [])
    return flags


def _run(state: State, words: list[str], told: dict[str, list[str]]) -> int:
    from polymeter.guests.shims import switch_on_shims

    is_module = words[0] == "-m"
    target, arguments = (words[1], words[2:]) if is_module else (words[0], words[1:])
    if not is_module and not Path(target).is_file():
        hint = f"'polymeter ulmeval' takes the options of {target}." if target in _SCRIPTS else ""
        raise PlanError(f"There is no script {target!r}.", where="polymeter python", hint=hint)
    switch_on_shims()
    with _as_python(target, arguments, is_module=is_module), _places(told), _own_surroundings(), _shown_logs():
        _load_wrappers(told["--model-path"])
        return _code_of(attempt(lambda: _play(target, is_module=is_module)))


def _play(target: str, *, is_module: bool) -> None:
    if is_module:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(target, init_globals=_supplied(Path(target)), run_name="__main__")


def _supplied(script: Path) -> dict[str, Any] | None:
    """Names that a script of EvalScope's kind may use without importing them, as a benchmark's file may."""
    if b"evalscope" not in script.read_bytes():
        return None
    from polymeter.interop.evalscope.tasks.guest import supplied_names

    return supplied_names()


def _load_wrappers(paths: Sequence[str]) -> None:
    """Load files of wrappers, so that the names that they register are known to the script."""
    from polymeter.guests import contained
    from polymeter.guests.imports import GUEST_LOCK
    from polymeter.guests.kits import is_kit_file, load_kit_file
    from polymeter.interop.lmms_eval.models.loading import load_place

    for path in paths:
        place = Path(path)
        files = sorted(place.glob("*.py")) if place.is_dir() else [place]
        ours = [file for file in files if file.is_file() and is_kit_file(file)]
        for file in ours:
            load_kit_file(file)
        if not ours:
            with GUEST_LOCK, contained():
                load_place(path)


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
def _places(told: Mapping[str, list[str]]) -> Iterator[None]:
    """Where benchmarks, data and weights are, for every evaluation that begins inside this."""
    from polymeter.api.settings import DATA_VARIABLE, INCLUDE_VARIABLE
    from polymeter.core.environment import WEIGHTS_VARIABLE

    folders = told.get("--include-path", [])
    added = {INCLUDE_VARIABLE: os.pathsep.join([*folders, *_set(INCLUDE_VARIABLE)]) if folders else ""}
    for option, variable in (("--data", DATA_VARIABLE), ("--weights", WEIGHTS_VARIABLE)):
        parse_places(told.get(option, ()), option)
        given = told.get(option, [])
        added[variable] = ";".join([*_set(variable), *given]) if given else ""  # of one id the last place counts
    before = {variable: os.environ.get(variable) for variable in added}
    os.environ.update({variable: places for variable, places in added.items() if places})
    try:
        yield
    finally:
        for variable, value in before.items():
            os.environ.pop(variable, None)
            os.environ.update({variable: value} if value is not None else {})


@contextmanager
def _own_surroundings() -> Iterator[None]:
    """What a run would give to dataset classes that the script makes itself: the tables that ``--data`` and the user's
    settings name, and judges, which are the endpoints that the script names.
    """
    from polymeter.api.settings import read_settings
    from polymeter.core.guest_context import answering_through, guest_context_with
    from polymeter.interop.ulmeval.shim.ulmeval.api._direct import DirectAsker

    with guest_context_with(data=read_settings().data), answering_through(DirectAsker()):
        yield


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
