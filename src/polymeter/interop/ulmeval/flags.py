"""The flags of ``polymeter ulmeval``: those of ULMEvalKit's ``run.py`` and ``evaluate.py``, and ours that say where
things are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path
from typing import Any

from polymeter.cli.foreign_flags import Flag, FlagTable, as_paths
from polymeter.cli.pairs import parse_places
from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval.config import WORK_DIR, Named, UlmevalConfig, read_config, work_folder

_BENCHMARKS_OWN = -1
"""What ``--num-generations`` is where the benchmark says it."""


def _named(names: list[str], spelling: str) -> tuple[Named, ...]:
    return tuple(map(Named, names))


def _zero_or_one(number: int, spelling: str) -> bool:
    if number not in (0, 1):
        raise PlanError(f"{spelling} is 0 or 1, not {number}.", where=spelling)
    return bool(number)


def _limit(limit: float, spelling: str) -> float:
    if not math.isfinite(limit) or limit <= 0 or (limit >= 1 and limit != int(limit)):
        raise PlanError(
            f"{limit:g} is neither a number of samples nor a share.",
            where=spelling,
            hint="Write 100, or 0.1 for a tenth.",
        )
    return int(limit) if limit >= 1 else limit


def _number_of_images(number: int, spelling: str) -> int | None:
    return None if number == _BENCHMARKS_OWN else number


_SHARED = (
    Flag(
        "data",
        "names",
        "datasets, separated by spaces: names of benchmarks, or files that hold them",
        sets="datasets",
        convert=_named,
    ),
    Flag(
        "model",
        "names",
        "models, separated by spaces: names of ULMEvalKit's or of --model-path, or specs such as openai:NAME",
        sets="models",
        convert=_named,
    ),
    Flag("config", "text", "a JSON file with models and datasets, in place of --model and --data"),
    Flag(
        "work_dir",
        "text",
        "where outputs go; default ./outputs, or $MMEVAL_ROOT",
        convert=lambda folder, spelling: work_folder(folder),
    ),
    Flag(
        "api_nproc", "int", "most requests in flight at endpoints, and what evaluate is told; default: found by trying"
    ),
    Flag("retry", "int", "how often a request is asked again, and what evaluate is told"),
    Flag("judge", "text", "the model that judges: a name such as gpt-4o, or a spec"),
    Flag("judge_args", "object", "what evaluate is given, and who judges (model, api_base, key): a JSON object"),
    Flag("verbose", "switch", "what evaluate and wrappers are told under this name"),
    Flag("ignore", "switch", "leave failed samples of a finished run as they are"),
    Flag(
        "use_vllm",
        "switch",
        "models are not loaded into vLLM",
        "refused",
        False,
        hint="Start 'vllm serve MODEL', set OPENAI_BASE_URL, and name the model openai:MODEL.",
    ),
    Flag("num_generations", "int", "images for each prompt; default: the benchmark's", convert=_number_of_images),
)
_OF_RUN = (
    Flag("mode", "text", "all, infer (ask and score nothing) or eval (score answers that are there, and ask no model)"),
    Flag("reuse", "switch", "take over the answers of an earlier day to the same questions, model and settings"),
    Flag(
        "reuse_aux",
        "int",
        "with --reuse: 1 takes over the judge's answers too (the default), 0 does not",
        convert=_zero_or_one,
    ),
)
_OF_EVALUATE = (
    Flag(
        "result_file",
        "names",
        "prediction files to score, one for each model, in their order",
        sets="result_files",
        convert=as_paths,
    ),
)
_OURS = (
    Flag("model_path", "text", "a file or folder with models of your own", is_ours=True),
    Flag(
        "include_path",
        "repeated",
        "a folder or file of benchmarks (repeatable)",
        sets="include_paths",
        convert=as_paths,
        is_ours=True,
    ),
    Flag(
        "local",
        "repeated",
        "NAME=FILE: a local file in place of a dataset (repeatable)",
        sets="data",
        convert=parse_places,
        is_ours=True,
    ),
    Flag(
        "weights",
        "repeated",
        "ID=PATH: local files in place of a model id (repeatable)",
        convert=parse_places,
        is_ours=True,
    ),
    Flag("limit", "float", "at most so many samples of each dataset; below 1 a share", convert=_limit, is_ours=True),
    Flag(
        "journal_dir",
        "text",
        "a local folder for live journals, where outputs go to a network file system",
        convert=lambda folder, spelling: Path(folder).resolve(),
        is_ours=True,
    ),
    Flag("seed", "int", "seed of the run; default: $SEED, else 0", is_ours=True),
)
TABLES: Mapping[str, FlagTable] = {
    "run": FlagTable(
        "polymeter ulmeval",
        "Measure models on datasets, with the options of ULMEvalKit's run.py.",
        (*_SHARED, *_OF_RUN, *_OURS),
    ),
    "evaluate": FlagTable(
        "polymeter ulmeval evaluate",
        "Score prediction files that are there, with the options of ULMEvalKit's evaluate.py.",
        (*_SHARED, *_OF_EVALUATE, *_OURS),
    ),
}


def parse(command: str, words: list[str]) -> tuple[UlmevalConfig, list[str]]:
    """The command that some words are, and notes on flags that change nothing in it.

    Raises:
        PlanError: if there is an unknown flag (the nearest known one is named), a value of the wrong form, or a flag
            that cannot be honoured.
    """
    table = TABLES[command]
    given = table.parse(words)
    if "config" in given and ("model" in given or "data" in given):
        raise PlanError(
            "--config names models and datasets itself.", where="--config", hint="Leave out --model and --data."
        )
    notes = [*table.notes_on(given), *_notes(command, given)]
    if command == "evaluate" and "result_file" not in given:
        raise PlanError(
            "No prediction file is named.",
            where="--result-file",
            hint="'polymeter ulmeval --mode eval' scores the answers of an earlier run.",
        )
    options = table.options(given)
    file = options.pop("config", None)
    if file is not None:
        options["models"], options["datasets"] = read_config(file)
    options.setdefault("work_dir", work_folder(WORK_DIR))
    options.pop("use_vllm", None)
    return UlmevalConfig(**options), notes


def _notes(command: str, given: Mapping[str, Any]) -> Iterator[str]:
    """What to say of flags that change nothing beside the others."""
    if command == "evaluate":
        for flag in TABLES[command].flags:
            if flag.key in ("num_generations", "ignore") and flag.key in given:
                yield f"{flag.names[0]} has no effect: the prediction file says what there is."
        return
    if "reuse_aux" in given and not given.get("reuse"):
        yield "--reuse-aux has no effect without --reuse."
    if given.get("reuse") and given.get("mode") == "eval":
        yield "--reuse has no effect: the mode eval always scores answers that are there."
    if "MMEVAL_ROOT" in environ and "work_dir" in given:
        yield f"--work-dir has no effect: $MMEVAL_ROOT is {environ['MMEVAL_ROOT']}."
    if "EVAL_PROXY" in environ:
        yield "$EVAL_PROXY has no effect: set HTTPS_PROXY."
