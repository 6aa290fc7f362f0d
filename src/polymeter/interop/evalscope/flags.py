"""The options of ``polymeter evalscope eval``: EvalScope 0.17's, and ours that say where things are."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from polymeter.cli.foreign import Parser, json_object, spelled
from polymeter.cli.pairs import parse_pairs

WHERE = "polymeter evalscope eval"
_TEXT, _INT, _FLOAT, _SWITCH, _NAMES, _MAPPING = "text", "int", "float", "switch", "names", "mapping"
_FLAGS: Mapping[str, tuple[str, str]] = {
    "model": (_TEXT, "a checkpoint's id or folder, the model's name at --api-url, or a spec such as mock or hf:ID"),
    "model_id": (_TEXT, "its name in reports; default: the last part of --model"),
    "model_args": (_MAPPING, "arguments of the model: key=value,… or a JSON object"),
    "model_task": (_TEXT, "text_generation or image_generation"),
    "chat_template": (_TEXT, "a Jinja template, or the file of one"),
    "datasets": (_NAMES, "benchmarks, parted by blanks"),
    "dataset_args": (_MAPPING, "by benchmark: what it should do otherwise; a JSON object"),
    "dataset_dir": (_TEXT, "where a hub's files are kept"),
    "dataset_hub": (_TEXT, "whose ids dataset ids are: modelscope or huggingface"),
    "generation_config": (_MAPPING, "generation settings: key=value,… or a JSON object"),
    "eval_type": (_TEXT, "checkpoint or service"),
    "eval_backend": (_TEXT, "Native"),
    "eval_config": (_TEXT, "refused: configurations of other tools"),
    "stage": (_TEXT, "all, infer (ask and score nothing) or review (score, and ask no model)"),
    "limit": (_FLOAT, "records of each subset; below 1 a share"),
    "eval_batch_size": (_INT, "requests in a batch, or in flight at an endpoint; default: found by trying"),
    "use_cache": (_TEXT, "a work folder to go on in"),
    "work_dir": (_TEXT, "where work folders go; default ./outputs"),
    "ignore_errors": (_SWITCH, "end with code 0 although samples failed"),
    "debug": (_SWITCH, "show tracebacks"),
    "dry_run": (_SWITCH, "refused: see 'polymeter check --prompts'"),
    "seed": (_INT, "seed of the run; default 42"),
    "api_url": (_TEXT, "an OpenAI-compatible endpoint"),
    "api_key": (_TEXT, "its key, which reaches no file; better: the variable EVALSCOPE_API_KEY"),
    "timeout": (_FLOAT, "deadline of a request, in seconds"),
    "stream": (_SWITCH, "accepted, without effect"),
    "judge_strategy": (_TEXT, "auto, rule, llm or llm_recall"),
    "judge_model_args": (_MAPPING, "the judge: api_url, api_key, model_id, and its prompts; a JSON object"),
    "judge_worker_num": (_INT, "accepted, without effect"),
    "analysis_report": (_SWITCH, "the judge writes an analysis into each report"),
    "template_type": (_TEXT, "refused: without effect in EvalScope too"),
    "mem_cache": (_SWITCH, "refused: without effect in EvalScope too"),
}
_PLACES: Mapping[str, str] = {
    "include_path": "a folder of benchmarks (repeatable)",
    "data": "ID=PATH: local files in place of a dataset (repeatable)",
    "weights": "ID=PATH: local files in place of a model id (repeatable)",
}
_TYPES: Mapping[str, type] = {_TEXT: str, _INT: int, _FLOAT: float, _MAPPING: str}


def make_parser() -> Parser:
    """The parser. Options that are not given are absent from what it parses."""
    parser = Parser(prog=WHERE, argument_default=argparse.SUPPRESS, allow_abbrev=False, description=__doc__)
    for key, (kind, text) in _FLAGS.items():
        if kind == _SWITCH:
            parser.add_argument(*spelled(key), dest=key, action="store_true", help=text)
        elif kind == _NAMES:
            parser.add_argument(*spelled(key), dest=key, nargs="+", help=text)
        else:
            parser.add_argument(*spelled(key), dest=key, type=_TYPES[kind], help=text)
    ours = parser.add_argument_group("Polymeter's own")
    for key, text in _PLACES.items():
        ours.add_argument(*spelled(key), dest=key, action="append", metavar="PLACE", help=text)
    return parser


def parse(words: list[str]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The fields of a ``TaskConfig`` that were given, and our own options.

    Raises:
        PlanError: An unknown option (the nearest known one is named), or a value of the wrong form.
    """
    known = [name for key in (*_FLAGS, *_PLACES) for name in spelled(key)]
    given = vars(make_parser().parse_all(words, known))
    places = {key: given.pop(key) for key in _PLACES if key in given}
    for key, (kind, _) in _FLAGS.items():
        if kind == _MAPPING and key in given:
            given[key] = _mapping(given[key], spelled(key)[0])
    return given, places


def _mapping(text: str, option: str) -> dict[str, Any]:
    """A JSON object, or ``key=value,…``."""
    return json_object(text, option) if text.lstrip().startswith("{") else parse_pairs([text], option)
