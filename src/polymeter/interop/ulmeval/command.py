"""``polymeter ulmeval``: ULMEvalKit's own command lines: ``run.py``, ``evaluate.py``, and the lists of ``ulmutil``. For
each model on each dataset it prints what ``evaluate`` returned, as ULMEvalKit does, then our own table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.cli.foreign import Subcommands, asks_for_help
from polymeter.cli.printing import say
from polymeter.cli.state import State
from polymeter.core.errors import DataError, PlanError
from polymeter.core.text.json_text import json_text
from polymeter.interop.ulmeval.vlmevalkit.utilities import ELSEWHERE, UTILITIES
from polymeter.report.formatting import count

if TYPE_CHECKING:
    from polymeter.api.result import RunResult
    from polymeter.core.names.catalog import Catalog
    from polymeter.interop.ulmeval.config import UlmevalConfig
    from polymeter.interop.ulmeval.evaluation import Kit, PairResult, UlmevalResult

_PROGRAM = "polymeter ulmeval"
_INTERRUPTED = 130
_LOCAL_FILES = re.compile(r"--data(?= \S+=)|(?<=name it with )--data")
_HELP = """\
Usage: polymeter ulmeval [run] --data NAME… --model NAME… [OPTIONS]
       polymeter ulmeval evaluate --data NAME… --model NAME… --result-file FILE… [OPTIONS]
       polymeter ulmeval dlist | mlist
       polymeter ulmeval circular FILE.tsv | localize FILE.tsv | scan --model NAME…

Run ULMEvalKit's command lines: run.py, evaluate.py, and those of ulmutil: lists of datasets and models, tables with
rotated choices or with images as files, and failures in prediction files.
'polymeter ulmeval run --help' and 'polymeter ulmeval evaluate --help' list the options."""


def run_command(state: State, words: list[str]) -> int:
    """Run a command of ULMEvalKit, which may be given as the script's name; without a command, options are for ``run``.

    Raises:
        PlanError: if there is no such command, or it cannot run with these options.
    """
    is_script = bool(words) and not words[0].startswith("-")
    return _COMMANDS.run(state, [words[0].removesuffix(".py"), *words[1:]] if is_script else words)


@contextmanager
def script_context() -> Iterator[None]:
    """The guest context for dataset classes that a script makes itself: the tables that ``--data`` and the user's
    settings name, and as judges the endpoints that the script names.
    """
    from polymeter.api.settings import read_settings
    from polymeter.core.guest_context import answering_through, guest_context_with
    from polymeter.interop.ulmeval.shim.ulmeval.api._direct import DirectRoleClient

    with guest_context_with(data=read_settings().data), answering_through(DirectRoleClient()):
        yield


def _evaluate(command: str, state: State, words: list[str]) -> int:
    from polymeter.interop.ulmeval import flags

    if asks_for_help(words):
        flags.TABLES[command].print_help()
        return 0
    config, notes = flags.parse(command, words)
    return evaluate_and_show(state, config, notes)


def evaluate_and_show(state: State, config: UlmevalConfig, notes: Sequence[str], kit: Kit | None = None) -> int:
    """Evaluate every model of a command on every dataset, and print the results.

    Args:
        state: Has what the user typed.
        config: The command.
        notes: Notes on its flags.
        kit: The tool's rules; default: ULMEvalKit's.

    Returns:
        The exit code.

    Raises:
        PlanError: if the command cannot run.
        DataError: if the data of its only dataset cannot be opened.
    """
    for note in notes:
        say(f"note: {note}", err=True)
    from polymeter.cli.progress import make_progress
    from polymeter.interop.ulmeval.evaluation import evaluate_ulmeval

    try:
        result = evaluate_ulmeval(
            config,
            make_progress=lambda: make_progress(is_quiet=False),
            on_end=_show_pair,
            command=state.command,
            kit=kit,
        )
    except DataError as error:
        raise DataError(_with_own_flag(error.what), where=error.where, hint=_with_own_flag(error.hint)) from error
    _show_summary(result)
    return result.exit_code


def _list_datasets(state: State, words: list[str]) -> int:
    say("\n".join(list_datasets(words)))
    return 0


def _list_models(state: State, words: list[str]) -> int:
    say("\n".join(_models(words)))
    return 0


def list_datasets(words: Sequence[str]) -> Iterator[str]:
    """Names of dataset classes and tables, also of those in the named folders."""
    from polymeter.api import build_catalog
    from polymeter.core.names.registries import stored_format
    from polymeter.interop.ulmeval.pairs import TSV

    catalog: Catalog = build_catalog(tuple(map(Path, words)))
    names = sorted(entry.name for entry in catalog if stored_format(entry.format) == TSV and entry.kind == "task")
    yield from names or ["There are no datasets: name folders of dataset classes after dlist, or set LMUData."]


def _models(words: list[str]) -> Iterator[str]:
    """Names of ``supported_ULM``, and what runs each."""
    from polymeter.interop.ulmeval.models.zoo import ENTRIES

    if words not in ([], ["all"]):
        raise PlanError(f"mlist does not take {words[0]!r}.", where=_PROGRAM, hint="Write 'polymeter ulmeval mlist'.")
    width = max(map(len, ENTRIES))
    for name, entry in ENTRIES.items():
        backend = f"{entry.backend}:{entry.model_path}" if entry.backend else f"needs {entry.needs}"
        yield f"{name:<{width}}  {backend}"


def _show_pair(pair: PairResult) -> None:
    """Print the result of a pair."""
    for note in pair.notes:
        say(f"note: {note}", err=True)
    say(f"\n{pair.model} on {pair.dataset}")
    if pair.error is not None:
        say(f"Error: {_with_own_flag(pair.error.what)}", err=True)
        for detail in (f"at {pair.error.where}" if pair.error.where else "", _with_own_flag(pair.error.hint)):
            if detail:
                say(f"  {detail}", err=True)
    if pair.run is None:
        return
    if pair.returned is not None:
        say(shown(pair.returned))
    if pair.is_scored or pair.run.status != "complete":
        from polymeter.cli.outcome import show

        show(pair.run)
    else:
        _show_answers(pair.run)
    for file in pair.files:
        if file.stem == f"{pair.model}_{pair.dataset}":
            say(f"file     {file}")


def _show_summary(result: UlmevalResult) -> None:
    """Print one line for each pair if there are several."""
    if len(result.pairs) < 2:
        return
    say("")
    for pair in result.pairs:
        say(f"{_state(pair):<12} {pair.model} on {pair.dataset}")


def _with_own_flag(text: str) -> str:
    """A message with this command's option for local files, ``--local``: here ``--data`` names datasets."""
    return _LOCAL_FILES.sub("--local", text)


def _show_answers(run: RunResult) -> None:
    """Print how many samples have an answer, for a run that scores nothing."""
    tasks = run.results["tasks"].values()
    planned = sum(task["n_samples"] for task in tasks)
    answered = sum(task["statuses"].get("ok", 0) for task in tasks)
    say(f"answered {answered:,} of {count(planned, 'sample')}; nothing is scored")
    say(f"report   {run.report}")


def shown(returned: Any) -> str:
    """Return the value that ``evaluate`` returned as text: lists of equal length as a table, anything else as JSON."""
    if _is_table(returned):
        from tabulate import tabulate

        rows = list(zip(*returned.values(), strict=True))
        if len(rows) < len(returned):
            return str(tabulate([[name, *values] for name, values in returned.items()]))
        return str(tabulate(rows, headers=list(returned)))
    return json_text(returned, indent=4)


def _is_table(returned: Any) -> bool:
    if not isinstance(returned, Mapping) or not returned:
        return False
    values = list(returned.values())
    return all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1


def _state(pair: PairResult) -> str:
    if pair.run is None:
        return "failed"
    if pair.exit_code == _INTERRUPTED:
        return "interrupted"
    if pair.run.status != "complete":
        return "stopped"
    return count(pair.run.n_failed, "failure") if pair.run.n_failed else "ok"


_COMMANDS = Subcommands(
    _PROGRAM,
    {
        "run": partial(_evaluate, "run"),
        "evaluate": partial(_evaluate, "evaluate"),
        "dlist": _list_datasets,
        "mlist": _list_models,
        **UTILITIES,
    },
    elsewhere={
        **ELSEWHERE,
        "missing": "the same command resumes where it stopped, and reports how many samples are scored",
        "eval": "'polymeter ulmeval evaluate --result-file FILE' scores a prediction file",
    },
    default="run",
    help=_HELP,
)
