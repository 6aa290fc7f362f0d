"""``polymeter ulmeval``: ULMEvalKit's own command lines, as they are: ``run.py``, ``evaluate.py``, and lists of
``ulmutil``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from polymeter.cli.state import State, state_of
from polymeter.core.errors import DataError, PlanError, did_you_mean
from polymeter.interop.ulmeval import flags

if TYPE_CHECKING:
    from polymeter.core.catalog import Catalog

_WHERE = "polymeter ulmeval"
_RUN, _EVALUATE, _DATASETS, _MODELS = "run", "evaluate", "dlist", "mlist"
_COMMANDS = (_RUN, _EVALUATE, _DATASETS, _MODELS)
_OTHERS = {
    "check": "'polymeter check FILE' looks for faults in a benchmark; '--limit 2' tries a model on two samples",
    "missing": "the same command goes on where it stopped, and says how many samples are scored",
    "circular": "'polymeter run --dialect-option tsv.circular=true' asks multiple choice in every rotation",
    "localize": "LOCALIZE of ulmeval.tools writes a table's images beside it; see 'polymeter python'",
    "eval": "'polymeter ulmeval evaluate --result-file FILE' scores a prediction file",
    "merge_pkl": "there is one process and one run folder, so nothing has to be merged",
    "scan": "every run says which samples failed and why, in its report.html and samples/",
}
_HELP = """\
Usage: polymeter ulmeval [run] --data NAME… --model NAME… [OPTIONS]
       polymeter ulmeval evaluate --data NAME… --model NAME… --result-file FILE… [OPTIONS]
       polymeter ulmeval dlist | mlist

Take ULMEvalKit's command lines: run.py and evaluate.py, and two lists of ulmutil: datasets and models.
'polymeter ulmeval run --help' and 'polymeter ulmeval evaluate --help' list the options."""


def ulmeval(context: typer.Context) -> int:
    """Take ULMEvalKit's command line: run, evaluate, dlist, mlist."""
    return run_words(state_of(context), list(context.args))


def run_words(state: State, words: list[str]) -> int:
    """Run a command of ULMEvalKit; words that begin with an option are for ``run``.

    Raises:
        PlanError: There is no such command, or it cannot run as asked for.
    """
    if not words or words[0] in ("-h", "--help"):
        typer.echo(_HELP)
        return 0
    command, rest = (_RUN, words) if words[0].startswith("-") else (words[0].removesuffix(".py"), words[1:])
    if command in _OTHERS:
        raise PlanError(f"There is no {command!r} here.", where=_WHERE, hint=f"{_upper(_OTHERS[command])}.")
    if command not in _COMMANDS:
        hint = did_you_mean(command, (*_COMMANDS, *_OTHERS)) or f"Known: {', '.join(_COMMANDS)}."
        raise PlanError(f"There is no command {command!r}.", where=_WHERE, hint=hint)
    if command in (_DATASETS, _MODELS):
        typer.echo("\n".join(_datasets(rest) if command == _DATASETS else _models(rest)))
        return 0
    if {"-h", "--help"} & set(rest):
        flags.make_parser(command).print_help()
        return 0
    return _evaluate(state, command, rest)


def _evaluate(state: State, command: str, words: list[str]) -> int:
    config, notes = flags.parse(command, words)
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    from polymeter.cli.progress import make_progress
    from polymeter.interop.ulmeval.evaluation import evaluate_ulmeval
    from polymeter.interop.ulmeval.outcome import own_words, show_pair, show_summary

    try:
        result = evaluate_ulmeval(
            config, watch=lambda: make_progress(is_quiet=False), ended=show_pair, command=state.command
        )
    except DataError as error:
        raise DataError(own_words(error.what), where=error.where, hint=own_words(error.hint)) from error
    show_summary(result)
    return result.exit_code


def _datasets(words: list[str]) -> Iterator[str]:
    """Names of dataset classes and tables; of those under the folders that are named too."""
    from polymeter.api import build_catalog
    from polymeter.core.registries import stored_format
    from polymeter.interop.ulmeval.pairs import TSV

    catalog: Catalog = build_catalog(tuple(map(Path, words)))
    names = sorted(entry.name for entry in catalog if stored_format(entry.format) == TSV and entry.kind == "task")
    yield from names or ["No dataset is here: name folders of dataset classes behind dlist, or set LMUData."]


def _models(words: list[str]) -> Iterator[str]:
    """Names of ``supported_ULM``, and what runs each."""
    from polymeter.interop.ulmeval.models.zoo import ENTRIES

    if words not in ([], ["all"]):
        raise PlanError(f"mlist takes no {words[0]!r}.", where=_WHERE, hint="Write 'polymeter ulmeval mlist'.")
    width = max(map(len, ENTRIES))
    for name, entry in ENTRIES.items():
        told = f"{entry.backend}:{entry.model_path}" if entry.backend else f"needs {entry.needs}"
        yield f"{name:<{width}}  {told}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
