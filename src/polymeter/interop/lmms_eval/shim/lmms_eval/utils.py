"""``lmms_eval.utils``: logging, batching, file names, argument strings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from polymeter.core.names.catalog_names import pattern_match
from polymeter.interop.lm_family.shim.utils import hash_string, join_iters, sanitize_list, sanitize_task_name
from polymeter.interop.lmms_eval.models.arguments import handle_arg_string, simple_parse_args_string
from polymeter.interop.lmms_eval.shim.lmms_eval.batching import (
    Collator,
    Grouper,
    MultiTokenEOSCriteria,
    Reorderer,
    chunks,
    clear_torch_cache,
    get_dtype,
    group,
    pad_and_concat,
    stop_sequences_criteria,
)
from polymeter.interop.lmms_eval.shim.lmms_eval.logs import eval_logger
from polymeter.metrics.patterns import applied, replaced

__all__ = [
    "Collator",
    "Grouper",
    "MultiTokenEOSCriteria",
    "Reorderer",
    "chunks",
    "clear_torch_cache",
    "create_iterator",
    "eval_logger",
    "get_datetime_str",
    "get_dtype",
    "get_file_datetime",
    "get_file_task_name",
    "group",
    "handle_arg_string",
    "handle_non_serializable",
    "hash_string",
    "is_json",
    "is_multimodal_content",
    "join_iters",
    "make_table",
    "pad_and_concat",
    "pattern_match",
    "regex_replace",
    "resolve_cache_dir",
    "sanitize_list",
    "sanitize_long_string",
    "sanitize_model_name",
    "sanitize_task_name",
    "simple_parse_args_string",
    "stop_sequences_criteria",
]

_UNSAFE = re.compile(r'["<>:/|\\?*\[\]]+')


def resolve_cache_dir(cache_dir: str, base_dir: str | None = None) -> str:
    """A path with ``~`` and environment variables expanded; a relative one is below ``base_dir``, if given."""
    path = os.path.expanduser(os.path.expandvars(cache_dir))
    return os.path.join(base_dir, path) if base_dir is not None and not os.path.isabs(path) else path


def sanitize_model_name(model_name: str, full_path: bool = False) -> str:
    """A model's name as a folder's name: its last two parts, or all of it, with ``__`` for unsafe characters."""
    kept = model_name if full_path else "/".join(model_name.split("/")[-2:])
    return _UNSAFE.sub("__", kept)


def sanitize_long_string(s: str, max_length: int = 40) -> str:
    half = max_length // 2
    return s if len(s) <= max_length else f"{s[:half]}...{s[-half:]}"


def is_json(string: str) -> bool:
    try:
        json.loads(string)
    except json.JSONDecodeError:
        return False
    return True


def handle_non_serializable(o: Any) -> Any:
    """For ``json.dumps(default=…)``: NumPy integers as numbers, sets as lists, anything else as text."""
    import numpy

    if isinstance(o, (numpy.int32, numpy.int64)):
        return int(o)
    return list(o) if isinstance(o, set) else str(o)


def is_multimodal_content(value: Any) -> bool:
    """Return whether a value is media, which does not belong into a log: bytes, arrays, tensors, images, columns of
    these.
    """
    if isinstance(value, (bytes, bytearray)):
        return True
    if isinstance(value, dict):
        return "array" in value or "bytes" in value
    is_tensor = hasattr(value, "untyped_storage")
    return is_tensor or hasattr(value, "__array_interface__")


def get_file_task_name(filename: str) -> str:
    return filename[filename.find("_") + 1 : filename.rfind("_")]


def get_file_datetime(filename: str) -> str:
    return filename[filename.rfind("_") + 1 :].replace(".jsonl", "")


def get_datetime_str(timezone: str = "Asia/Singapore") -> str:
    """The current time, as file names have it: ``20250131_235959``."""
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.now(ZoneInfo(timezone)).strftime("%Y%m%d_%H%M%S")


def create_iterator(
    raw_iterator: Iterable[Any], rank: int, world_size: int, limit: float | None = None, offset: int | None = 0
) -> Iterator[Any]:
    """The items of one rank out of ``world_size``, from ``offset`` on, among the first ``limit``.

    Raises:
        ValueError: if the offset or the limit is negative, or the limit is not a whole number.
    """
    first = int(offset or 0)
    if first < 0 or (limit is not None and (limit < 0 or limit != int(limit))):
        raise ValueError(f"offset and limit must be whole numbers from 0 on, not {offset} and {limit}")
    stop = None if limit is None else first + int(limit)
    return islice(raw_iterator, int(rank) + first, stop, int(world_size))


def regex_replace(string: str, pattern: str, repl: str, count: int = 0) -> str:
    return applied(replaced, re.compile(pattern), string, repl, count)


def make_table(result_dict: dict[str, Any], column: str = "results", sort_results: bool = False) -> str:
    """Results as a table in Markdown: one line for each task, filter and metric."""
    head = [
        "Groups" if column == "groups" else "Tasks",
        "Version",
        "Filter",
        "n-shot",
        "Metric",
        "",
        "Value",
        "",
        "Stderr",
    ]
    lines = [head, ["---"] * len(head)]
    names = sorted(result_dict[column]) if sort_results else list(result_dict[column])
    for name in names:
        values = dict(result_dict[column][name])
        alias = values.pop("alias", name)
        better = result_dict.get("higher_is_better", {}).get(name, {})
        for key in sorted(values):
            metric, _, reading = key.partition(",")
            if metric.startswith("paired_") or re.search(r"_stderr(_clt|_clustered)?$", metric):
                continue
            arrow = {True: "↑", False: "↓"}.get(better.get(metric), "")
            version = result_dict.get("versions", {}).get(name, "N/A")
            shots = result_dict.get("n-shot", {}).get(name, " ")
            stderr = values.get(f"{metric}_stderr,{reading}")
            lines.append([alias, version, reading, shots, metric, arrow, _shown(values[key]), "±", _shown(stderr)])
    return "".join(f"|{'|'.join(str(cell) for cell in line)}|\n" for line in lines)


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "N/A"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
