"""The options of ``polymeter ulmeval``: those of ULMEvalKit's ``run.py`` and ``evaluate.py``, and ours that say where
things are.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.cli.foreign import Parser, json_object, spelled
from polymeter.cli.pairs import parse_places
from polymeter.core.errors import PlanError

if TYPE_CHECKING:
    from polymeter.interop.ulmeval.config import UlmevalConfig

_TEXT, _INT, _SWITCH, _NAMES, _JSON, _PLACES = "text", "int", "switch", "names", "json", "places"
_NUMBER = "number"
_SHARED: Mapping[str, tuple[str, str]] = {
    "data": (_NAMES, "datasets, parted by blanks: names of benchmarks, or files that hold them"),
    "model": (
        _NAMES,
        "models, parted by blanks: names of ULMEvalKit's or of --model-path, or specs such as openai:NAME",
    ),
    "config": (_TEXT, "a JSON file with models and datasets, in place of --model and --data"),
    "work_dir": (_TEXT, "where outputs go; default ./outputs, or $MMEVAL_ROOT"),
    "api_nproc": (_INT, "most requests in flight at endpoints, and what evaluate is told; default: found by trying"),
    "retry": (_INT, "how often a request is asked again, and what evaluate is told"),
    "judge": (_TEXT, "the model that judges: a name such as gpt-4o, or a spec"),
    "judge_args": (_JSON, "what evaluate is given, and who judges (model, api_base, key): a JSON object"),
    "verbose": (_SWITCH, "what evaluate and wrappers are told under this name"),
    "ignore": (_SWITCH, "leave failed samples of a finished run as they are"),
    "use_vllm": (_SWITCH, "refused: serve the model with vLLM and name it openai:NAME"),
    "num_generations": (_INT, "images for each prompt; default: the benchmark's"),
}
_OF_RUN: Mapping[str, tuple[str, str]] = {
    "mode": (_TEXT, "all, infer (ask and score nothing) or eval (score answers that are there, and ask no model)"),
    "reuse": (_SWITCH, "take over the answers of an earlier day to the same questions, model and settings"),
    "reuse_aux": (_INT, "with --reuse: 1 takes over the judge's answers too (the default), 0 does not"),
}
_OF_EVALUATE: Mapping[str, tuple[str, str]] = {
    "result_file": (_NAMES, "prediction files to score, one for each model, in their order"),
}
_OURS: Mapping[str, tuple[str, str]] = {
    "model_path": (_TEXT, "a file or folder with models of your own"),
    "include_path": (_PLACES, "a folder or file of benchmarks (repeatable)"),
    "local": (_PLACES, "NAME=FILE: a local file in place of a dataset (repeatable)"),
    "weights": (_PLACES, "ID=PATH: local files in place of a model id (repeatable)"),
    "limit": (_NUMBER, "at most so many samples of each dataset; below 1 a share"),
    "journal_dir": (_TEXT, "a local folder for live journals, where outputs go to a network file system"),
    "seed": (_INT, "seed of the run; default: $SEED, else 0"),
}
_TYPES: Mapping[str, type] = {_TEXT: str, _INT: int, _NUMBER: float, _JSON: str}
_AS_USUAL = -1
"""What ``--num-generations`` is where the benchmark says it."""


def make_parser(command: str) -> Parser:
    """The parser of ``run`` or ``evaluate``. Options that are not given are absent from what it parses."""
    prog = "polymeter ulmeval" if command == "run" else f"polymeter ulmeval {command}"
    parser = Parser(prog=prog, argument_default=argparse.SUPPRESS, allow_abbrev=False, description=_DESCRIBED[command])
    ours = parser.add_argument_group("Polymeter's own")
    for key, (kind, text) in _flags(command).items():
        group = ours if key in _OURS else parser
        if kind == _SWITCH:
            group.add_argument(*spelled(key), dest=key, action="store_true", help=text)
        elif kind == _NAMES:
            group.add_argument(*spelled(key), dest=key, nargs="+", metavar="NAME", help=text)
        elif kind == _PLACES:
            group.add_argument(*spelled(key), dest=key, action="append", metavar="PLACE", help=text)
        else:
            group.add_argument(*spelled(key), dest=key, type=_TYPES[kind], help=text)
    return parser


def parse(command: str, words: list[str]) -> tuple[UlmevalConfig, list[str]]:
    """The command that some words are, and notes on options that change nothing in it.

    Raises:
        PlanError: An unknown option (the nearest known one is named), a value of the wrong form, or an option that
            cannot be honoured.
    """
    parser = make_parser(command)
    given = vars(parser.parse_all(words, [name for key in _flags(command) for name in spelled(key)]))
    _refuse(command, given)
    return _config(given), list(_notes(command, given))


_DESCRIBED: Mapping[str, str] = {
    "run": "Measure models on datasets, with the options of ULMEvalKit's run.py.",
    "evaluate": "Score prediction files that are there, with the options of ULMEvalKit's evaluate.py.",
}


def _flags(command: str) -> dict[str, tuple[str, str]]:
    return {**_SHARED, **(_OF_RUN if command == "run" else _OF_EVALUATE), **_OURS}


def _refuse(command: str, given: Mapping[str, Any]) -> None:
    if "config" in given and ("model" in given or "data" in given):
        raise PlanError(
            "--config names models and datasets itself.", where="--config", hint="Leave out --model and --data."
        )
    if given.get("use_vllm"):
        raise PlanError(
            "--use-vllm cannot be used here: models are not loaded into vLLM.",
            where="--use-vllm",
            hint="Start 'vllm serve MODEL', set OPENAI_BASE_URL, and name the model openai:MODEL.",
        )
    if command == "evaluate" and "result_file" not in given:
        raise PlanError(
            "No prediction file is named.",
            where="--result-file",
            hint="'polymeter ulmeval --mode eval' scores the answers of an earlier run.",
        )
    if given.get("reuse_aux", 1) not in (0, 1):
        raise PlanError(f"--reuse-aux is 0 or 1, not {given['reuse_aux']}.", where="--reuse-aux")
    limit = given.get("limit")
    if limit is not None and (not math.isfinite(limit) or limit <= 0 or (limit >= 1 and limit != int(limit))):
        raise PlanError(
            f"{limit:g} is neither a number of samples nor a share.",
            where="--limit",
            hint="Write 100, or 0.1 for a tenth.",
        )


def _config(given: Mapping[str, Any]) -> UlmevalConfig:
    from polymeter.interop.ulmeval.config import WORK_DIR, Named, UlmevalConfig, read_config, work_folder

    if "config" in given:
        models, datasets = read_config(given["config"])
    else:
        models, datasets = (tuple(map(Named, given.get(key, ()))) for key in ("model", "data"))
    if given.get("num_generations") == _AS_USUAL:
        given = {key: value for key, value in given.items() if key != "num_generations"}
    limit = given.get("limit")
    told: dict[str, Any] = {
        "models": models,
        "datasets": datasets,
        "work_dir": work_folder(given.get("work_dir", WORK_DIR)),
        "judge_args": json_object(given["judge_args"], "--judge-args") if "judge_args" in given else {},
        "result_files": tuple(map(Path, given.get("result_file", ()))),
        "reuse_aux": bool(given.get("reuse_aux", 1)),
        "limit": int(limit) if limit is not None and limit >= 1 else limit,
        "include_paths": tuple(map(Path, given.get("include_path", ()))),
        "data": parse_places(given.get("local", ()), "--local"),
        "journal_dir": Path(given["journal_dir"]).resolve() if "journal_dir" in given else None,
        "weights": parse_places(given.get("weights", ()), "--weights"),
    }
    plain = (
        "mode",
        "num_generations",
        "judge",
        "api_nproc",
        "retry",
        "verbose",
        "ignore",
        "reuse",
        "model_path",
        "seed",
    )
    return UlmevalConfig(**told, **{key: given[key] for key in plain if key in given})


def _notes(command: str, given: Mapping[str, Any]) -> Iterator[str]:
    """What to say of options that change nothing."""
    from os import environ

    if command == "evaluate":
        for key in ("num_generations", "ignore"):
            if key in given:
                yield f"{spelled(key)[0]} has no effect: the prediction file says what there is."
        return
    if "reuse_aux" in given and not given.get("reuse"):
        yield "--reuse-aux has no effect without --reuse."
    if given.get("reuse") and given.get("mode") == "eval":
        yield "--reuse has no effect: the mode eval always scores answers that are there."
    if "MMEVAL_ROOT" in environ and "work_dir" in given:
        yield f"--work-dir has no effect: $MMEVAL_ROOT is {environ['MMEVAL_ROOT']}."
    if "EVAL_PROXY" in environ:
        yield "$EVAL_PROXY has no effect: set HTTPS_PROXY."
