"""``polymeter vlmeval``: VLMEvalKit's ``run.py``, and ``vlmutil``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from polymeter.cli.foreign import HELP, Subcommands, asks_for_help
from polymeter.cli.printing import say
from polymeter.cli.state import State
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.interop.ulmeval.command import evaluate_and_show, list_datasets
from polymeter.interop.ulmeval.vlmevalkit.levels import LARGE, LEVELS
from polymeter.interop.ulmeval.vlmevalkit.utilities import ELSEWHERE, UTILITIES
from polymeter.report.formatting import count

_PROGRAM = "polymeter vlmeval"
_ALL, _API, _HUB = "all", "api", "hf"
_SIZES = ("all", "small", "large")
_HELP = """\
Usage: polymeter vlmeval [run] --data NAME… --model NAME… [OPTIONS]
       polymeter vlmeval eval [DATASET] FILE [--judge NAME]
       polymeter vlmeval dlist [LEVEL… | FOLDER…] | mlist [LEVEL] [all | small | large]
       polymeter vlmeval missing LEVEL [--work-dir FOLDER] | scan --model NAME…
       polymeter vlmeval circular FILE.tsv | localize FILE.tsv

Run VLMEvalKit's command lines: run.py and vlmutil.
'polymeter vlmeval run --help' and 'polymeter vlmeval eval --help' list the options."""


def run_command(state: State, words: list[str]) -> int:
    """Run a command of VLMEvalKit; without a command, options are for ``run``.

    Raises:
        PlanError: if there is no such command, or it cannot run with these options.
    """
    is_script = bool(words) and not words[0].startswith("-")
    return _COMMANDS.run(state, [words[0].removesuffix(".py"), *words[1:]] if is_script else words)


def _run(state: State, words: list[str]) -> int:
    from polymeter.interop.ulmeval.vlmevalkit import flags

    if asks_for_help(words):
        flags.RUN.print_help()
        return 0
    if words and not words[0].startswith("-"):
        raise PlanError(
            "run takes options: --data NAME… --model NAME….",
            where=_PROGRAM,
            hint=f"'{_PROGRAM} missing {words[0]}' lists what vlmutil's run would evaluate.",
        )
    config, notes = flags.parse(words)
    from polymeter.interop.ulmeval.vlmevalkit.kit import VlmevalKit
    from polymeter.interop.ulmeval.vlmevalkit.status import StatusFile

    status = StatusFile(words, mode=config.mode, reuse=config.reuse, reuse_aux=flags.reuse_aux_of(words))
    return evaluate_and_show(state, config, notes, VlmevalKit(status, _tell))


def _tell(note: str) -> None:
    say(f"note: {note}", err=True)


def _eval(state: State, words: list[str]) -> int:
    """Score a prediction file, whose name ends with the dataset's."""
    from polymeter.interop.ulmeval.config import NamedObject
    from polymeter.interop.ulmeval.vlmevalkit import flags
    from polymeter.interop.ulmeval.vlmevalkit.kit import VlmevalKit
    from polymeter.interop.ulmeval.vlmevalkit.status import StatusFile

    if asks_for_help(words):
        flags.EVAL.print_help()
        return 0
    n_named = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    named, options = words[:n_named], words[n_named:]
    if len(named) not in (1, 2):
        raise PlanError("eval takes a prediction file.", where=_PROGRAM, hint=f"Write {_PROGRAM} eval [DATASET] FILE.")
    config, file = flags.parse_eval(options), Path(named[-1])
    dataset = named[0] if len(named) > 1 else _dataset_of(file, config.include_paths)
    if not file.is_file():
        raise PlanError(f"There is no prediction file {str(file)!r}.", where=_PROGRAM)
    model = file.stem.removesuffix(f"_{dataset}") or file.stem
    config = replace(config, models=(NamedObject(model),), datasets=(NamedObject(dataset),), result_files=(file,))
    return evaluate_and_show(
        state, config, [], VlmevalKit(StatusFile(words, mode="eval", reuse=False, reuse_aux="none"), _tell)
    )


def _dataset_of(file: Path, folders: Sequence[Path]) -> str:
    """The dataset of a prediction file: the longest end of its name that is one."""
    from polymeter.api import build_catalog

    names = {entry.name for entry in build_catalog(tuple(folders)) if entry.kind == "task"}
    parts = file.stem.split("_")
    ends = ["_".join(parts[place:]) for place in range(len(parts))]
    dataset = next((end for end in ends if end in names), "")
    if not dataset:
        raise PlanError(
            f"The name {file.name!r} ends with no dataset that is known.",
            where=_PROGRAM,
            hint="Name it before the file, and the folder of its class with --include-path.",
        )
    return dataset


def _list_datasets(state: State, words: list[str]) -> int:
    """Print the datasets of levels, one after another as there; of folders, or in all, one in a line."""
    levels = [word for word in words if word in LEVELS]
    folders = [word for word in words if word not in LEVELS and word != _ALL]
    for word in folders:
        if not Path(word).exists():
            hint = did_you_mean(word, (*LEVELS, _ALL)) or f"Levels: {', '.join(LEVELS)}. Or name a folder."
            raise PlanError(f"There is no level or folder {word!r}.", where=f"{_PROGRAM} dlist", hint=hint)
    if levels:
        say(" ".join(dataset for level in levels for dataset, _ in LEVELS[level]))
    if folders or not levels:
        say("\n".join(list_datasets(folders)))
    return 0


def _list_models(state: State, words: list[str]) -> int:
    say("\n".join(_models(words)))
    return 0


def _models(words: Sequence[str]) -> Iterator[str]:
    """Names of models: all with what runs each, or those of a level alone."""
    from polymeter.interop.ulmeval.models.vlmevalkit import listed_names
    from polymeter.interop.ulmeval.models.vlmevalkit.names import supported

    entries = supported()
    levels = sorted({entry.level for entry in entries.values() if entry.level})
    level, size = (*words, *(_ALL, _ALL)[len(words) :])[:2] if len(words) < 3 else ("", "")
    known = (_ALL, _API, _HUB, *levels)
    if level not in known or size not in _SIZES:
        word = level if level not in known else size
        hint = did_you_mean(word, (*known, *_SIZES)) or f"Known: {', '.join(known)}; then {', '.join(_SIZES)}."
        raise PlanError(f"mlist does not take {word or ' '.join(words)!r}.", where=_PROGRAM, hint=hint)
    names = [
        name
        for name, entry in entries.items()
        if level in (_ALL, entry.level, _API if entry.is_api else _HUB)
        and (size == _ALL or (name in LARGE) == (size == "large"))
    ]
    if level != _ALL:
        yield from names
        return
    runners, width = listed_names(), max(map(len, names))
    yield from (f"{name:<{width}}  {runners[name]}" for name in names)


def _missing(state: State, words: list[str]) -> int:
    """Print scores that folders of models lack; the exit code is 1 if there are any."""
    from polymeter.interop.ulmeval.config import WORK_DIR, work_folder
    from polymeter.interop.ulmeval.vlmevalkit.scanning import missing

    if not words or not HELP.isdisjoint(words) or words[0].startswith("-"):
        raise PlanError("missing takes a level or a dataset.", where=_PROGRAM, hint=f"Levels: {', '.join(LEVELS)}.")
    level, options = words[0], words[1:]
    if options and (len(options) != 2 or options[0] not in ("--work-dir", "--work_dir")):
        raise PlanError(f"missing does not take {options[0]!r}.", where=_PROGRAM, hint="Add --work-dir FOLDER.")
    wanted: Mapping[str, str] = dict(LEVELS.get(level, ()))
    if not wanted:
        scores = dict(LEVELS["l123"])
        if level not in scores:
            hint = did_you_mean(level, (*LEVELS, *scores)) or f"Levels: {', '.join(LEVELS)}."
            raise PlanError(f"There is no level or dataset {level!r}.", where=f"{_PROGRAM} missing", hint=hint)
        wanted = {level: scores[level]}
    root = work_folder(options[1] if options else WORK_DIR)
    lines = [f"{model} on {dataset}" for model, dataset in missing(root, tuple(wanted.items()))]
    say("\n".join([*lines, f"{count(len(lines), 'score')} missing"]))
    return 1 if lines else 0


_COMMANDS = Subcommands(
    _PROGRAM,
    {
        "run": _run,
        "eval": _eval,
        "dlist": _list_datasets,
        "mlist": _list_models,
        "missing": _missing,
        **UTILITIES,
    },
    elsewhere=ELSEWHERE,
    default="run",
    help=_HELP,
)
