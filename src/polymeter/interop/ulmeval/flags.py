"""The flags of ``polymeter ulmeval``: those of ULMEvalKit's ``run.py`` and ``evaluate.py``, and ours, most of which
name files and folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import environ
from pathlib import Path
from typing import Any

from polymeter.cli.foreign_flags import Flag, FlagTable, as_paths, count_or_share
from polymeter.cli.pairs import parse_places
from polymeter.core.errors import PlanError
from polymeter.interop.ulmeval.config import WORK_DIR, NamedObject, UlmevalConfig, read_config, work_folder

_BENCHMARKS_OWN = -1
"""The value of ``--num-generations`` that leaves the number to the benchmark."""


def named_objects(names: list[str], spelling: str) -> tuple[NamedObject, ...]:
    """The values of a flag as models or datasets that their names identify."""
    return tuple(map(NamedObject, names))


def _zero_or_one(number: int, spelling: str) -> bool:
    if number not in (0, 1):
        raise PlanError(f"{spelling} must be 0 or 1, not {number}.", where=spelling)
    return bool(number)


def _number_of_images(number: int, spelling: str) -> int | None:
    return None if number == _BENCHMARKS_OWN else number


_SHARED = (
    Flag(
        "data",
        "names",
        "datasets, separated by spaces: names of benchmarks, or files that define them",
        sets="datasets",
        convert=named_objects,
    ),
    Flag(
        "model",
        "names",
        "models, separated by spaces: names from ULMEvalKit or --model-path, or specs such as openai:NAME",
        sets="models",
        convert=named_objects,
    ),
    Flag("config", "text", "a JSON file with models and datasets, in place of --model and --data"),
    Flag(
        "work_dir",
        "text",
        "the folder for outputs; default: $MMEVAL_ROOT, else ./outputs",
        convert=lambda folder, spelling: work_folder(folder),
    ),
    Flag("api_nproc", "int", "maximum number of requests in flight, also passed to evaluate; default: adaptive"),
    Flag("retry", "int", "how many times to repeat a failed request, also passed to evaluate"),
    Flag("judge", "text", "the judge model: a name such as gpt-4o, or a spec"),
    Flag("judge_args", "object", "arguments of evaluate, and the judge's model, api_base and key: a JSON object"),
    Flag("verbose", "switch", "pass verbose to evaluate and wrappers"),
    Flag("ignore", "switch", "keep failed samples of a finished run; do not repeat them"),
    Flag(
        "use_vllm",
        "switch",
        "Polymeter does not load models into vLLM in its own process",
        "refused",
        False,
        hint="Name the model vllm:MODEL: a server of vLLM is then started for the run.",
    ),
    Flag("num_generations", "int", "images for each prompt; default: the benchmark's", convert=_number_of_images),
)
_OF_RUN = (
    Flag("mode", "text", "all, infer (answer, but score nothing) or eval (score existing answers)"),
    Flag("reuse", "switch", "reuse answers of an earlier day to the same requests, by the same model"),
    Flag(
        "reuse_aux",
        "int",
        "with --reuse: 1 reuses the judge's answers too (the default), 0 does not",
        convert=_zero_or_one,
    ),
)
ALIKE = {flag.key: flag for flag in (*_SHARED, *_OF_RUN)}
"""Flags that VLMEvalKit's commands have too, by name; some of them mean more there."""
_OF_EVALUATE = (
    Flag(
        "result_file",
        "names",
        "prediction files to score, one for each model, in their order",
        sets="result_files",
        convert=as_paths,
    ),
)
OURS = (
    Flag("model_path", "text", "a file or folder with your own models", is_ours=True),
    Flag("base_url", "text", "the address of the endpoint of a model named openai:NAME", is_ours=True),
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
    Flag(
        "limit",
        "float",
        "maximum number of samples of each dataset; below 1, a share",
        convert=count_or_share,
        is_ours=True,
    ),
    Flag(
        "journal_dir",
        "text",
        "a local folder for live journals, for outputs on a network file system",
        convert=lambda folder, spelling: Path(folder).resolve(),
        is_ours=True,
    ),
    Flag("seed", "int", "seed of the run; default: $SEED, else 0", is_ours=True),
    Flag(
        "parity",
        "text",
        "take this system's values where Polymeter differs from it on purpose: ulmeval for this one's",
        is_ours=True,
    ),
    Flag(
        "strict_resume",
        "switch",
        "refuse to continue a run whose endpoint, task sources or Polymeter code changed",
        default=False,
        is_ours=True,
    ),
)
TABLES: Mapping[str, FlagTable] = {
    "run": FlagTable(
        "polymeter ulmeval",
        "Evaluate models on datasets, with the options of ULMEvalKit's run.py.",
        (*_SHARED, *_OF_RUN, *OURS),
    ),
    "evaluate": FlagTable(
        "polymeter ulmeval evaluate",
        "Score existing prediction files, with the options of ULMEvalKit's evaluate.py.",
        (*_SHARED, *_OF_EVALUATE, *OURS),
    ),
}


def parse(command: str, words: list[str]) -> tuple[UlmevalConfig, list[str]]:
    """Parse a command's words into its configuration, and notes on flags that have no effect.

    Raises:
        PlanError: if a flag is unknown (the message suggests the nearest one) or refused, or a value is invalid.
    """
    table = TABLES[command]
    given = table.parse(words)
    if "config" in given and ("model" in given or "data" in given):
        raise PlanError(
            "The file of --config names models and datasets.", where="--config", hint="Leave out --model and --data."
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
    """Notes on flags that have no effect together with the others."""
    if command == "evaluate":
        for flag in TABLES[command].flags:
            if flag.key in ("num_generations", "ignore") and flag.key in given:
                yield f"{flag.names[0]} has no effect: the prediction file decides what is scored."
        return
    yield from notes_on_run(given)


def notes_on_run(given: Mapping[str, Any]) -> Iterator[str]:
    """Notes on flags of a run, and on variables, that have no effect together with the other flags, in both kits."""
    if "reuse_aux" in given and not given.get("reuse"):
        yield "--reuse-aux has no effect without --reuse."
    if given.get("reuse") and given.get("mode") == "eval":
        yield "--reuse has no effect: the mode eval always scores existing answers."
    if "MMEVAL_ROOT" in environ and "work_dir" in given:
        yield f"--work-dir has no effect: $MMEVAL_ROOT is {environ['MMEVAL_ROOT']}."
    if "EVAL_PROXY" in environ:
        yield "$EVAL_PROXY has no effect: set HTTPS_PROXY."
