"""Utilities that ``ulmutil`` and ``vlmutil`` share, and what replaces the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from polymeter.cli.foreign import HELP, RunCommand
from polymeter.cli.foreign_flags import Flag, FlagTable
from polymeter.cli.printing import say
from polymeter.cli.state import State
from polymeter.core.errors import DataError, PlanError
from polymeter.report.formatting import count

_SCAN = FlagTable(
    "scan",
    "Count failed answers and judgements in the files of models.",
    (
        Flag("model", "names", "models, or .txt files that list them; default: every model of the folder"),
        Flag("data", "names", "datasets; default: every dataset with answers"),
        Flag("root", "text", "the folder with a folder for each model; default: ./outputs, else the current one"),
    ),
)
ELSEWHERE: Mapping[str, str] = {
    "check": "'polymeter run --model SPEC --tasks demo --limit 2' tries a model on two samples; 'polymeter check FILE' "
    "looks for faults in a benchmark",
    "merge_pkl": "there is one process and one run folder, so there is nothing to merge",
}


def _circular(state: State, words: list[str]) -> int:
    """Write a table with rotated choices."""
    from polymeter.interop.ulmeval.vlmevalkit.circular import write_circular

    made = write_circular(_only_file(words, "circular"))
    for n_choices, n_rows in made.by_choices.items():
        kind = f"{n_choices} choices" if n_choices else "no choices that can be rotated; these stay single"
        say(f"{count(n_rows, 'row')} with {kind}")
    say(f"{made.file}: {count(made.n_written, 'row')} of {count(made.n_rows, 'row')}")
    return 0


def _localize(state: State, words: list[str]) -> int:
    """Write a table with paths of images in place of their content."""
    from polymeter.interop.ulmeval.shim.ulmeval.tools import LOCALIZE

    file = _only_file(words, "localize")
    if not file.is_file():
        raise DataError(f"There is no table {str(file)!r}.", where=str(file))
    say(LOCALIZE(str(file)))
    return 0


def _scan(state: State, words: list[str]) -> int:
    """Print failures in the files of models; the exit code is 1 if there are any."""
    from polymeter.interop.ulmeval.vlmevalkit.scanning import scan

    if not HELP.isdisjoint(words):
        _SCAN.print_help()
        return 0
    given = _SCAN.parse(words)
    root = Path(given.get("root") or ("outputs" if Path("outputs").is_dir() else "."))
    lines = list(scan(root, tuple(_listed(given.get("model", ()))), tuple(given.get("data", ()))))
    say("\n".join(lines) or "No failures.")
    return 1 if lines else 0


def _listed(names: list[str]) -> Iterator[str]:
    """The names of models, of which a text file lists one in each line."""
    for name in names:
        if name.endswith(".txt"):
            if not Path(name).is_file():
                raise PlanError(f"There is no list of models {name!r}.", where="--model")
            lines = Path(name).read_text(encoding="utf-8").splitlines()
            yield from (line.split()[0] for line in lines if line.strip())
        else:
            yield name


def _only_file(words: list[str], command: str) -> Path:
    if len(words) != 1:
        raise PlanError(f"{command} takes one table.", where=command, hint=f"Write {command} FILE.tsv.")
    return Path(words[0])


UTILITIES: Mapping[str, RunCommand] = {"circular": _circular, "localize": _localize, "scan": _scan}
"""The shared utilities by name."""
