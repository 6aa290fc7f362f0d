"""``ulmeval.smp.misc``: small helpers. Cells are read as literals; nothing in them is run."""

from __future__ import annotations

import ast
import datetime
import logging
import os
import re
import shlex
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from json import JSONDecoder
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polymeter.core.errors import PlanError
from polymeter.core.names.installing import pip_install
from polymeter.guests.loggers import guest_logger
from polymeter.guests.served.datasets import local_folder
from polymeter.tasks.table.files.cells import toliststr

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "bincount",
    "cn_string",
    "colored",
    "d2df",
    "dict_merge",
    "extract_json_objects",
    "get_cache_path",
    "get_cuda_visible_devices",
    "get_gpu_memory",
    "get_logger",
    "get_rank_and_world_size",
    "githash",
    "h2r",
    "istype",
    "listinstr",
    "load_env",
    "modelscope_flag_set",
    "pip_install_robust",
    "process_punctuation",
    "proxy_set",
    "r2h",
    "run_command",
    "splitlen",
    "timestr",
    "toliststr",
    "version_cmp",
    "youtube_dl",
]

_NOT_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_SPACED = ';/[]"{}()=+\\_-><@`,?!'
_KEPT = {"second": None, "minute": -2, "hour": -4, "day": -6}


def istype(s: Any, type: type) -> bool:
    """Return whether a value is of a type, or is the text of a literal that is."""
    if isinstance(s, type):
        return True
    try:
        return isinstance(ast.literal_eval(s), type)
    except _NOT_LITERAL:
        return False


def listinstr(lst: list[str], s: str) -> bool:
    """Return whether any text of a list is part of another text."""
    return any(item in s for item in lst)


def splitlen(s: str, sym: str = "/") -> int:
    """The number of pieces of a text that is split at a separator."""
    return len(s.split(sym))


def bincount(lst: Iterable[Any]) -> dict[Any, int]:
    """Count how often each value occurs."""
    bins: dict[Any, int] = defaultdict(int)
    for item in lst:
        bins[item] += 1
    return bins


def d2df(D: Mapping[str, Any]) -> pd.DataFrame:
    """A table of one row."""
    import pandas as pd

    return pd.DataFrame({key: [value] for key, value in D.items()})


def cn_string(s: str) -> bool:
    """Return whether a text has Chinese characters."""
    return re.search("[\u4e00-\u9fff]", s) is not None


def timestr(granularity: str = "second") -> str:
    """The time as digits, down to a second, minute, hour or day."""
    return datetime.datetime.now().astimezone().strftime("%Y%m%d%H%M%S")[: _KEPT[granularity]]


def githash(fallback: str = "unknown", digits: int | None = 8) -> str:
    """Polymeter's version, in place of the commit of the evaluating code; runs record it too."""
    from polymeter import __version__

    return __version__[:digits] or fallback


def dict_merge(dct: dict[Any, Any], merge_dct: Mapping[Any, Any]) -> None:
    """Merge a mapping into another, including nested mappings."""
    for key, value in merge_dct.items():
        if isinstance(dct.get(key), dict) and isinstance(value, dict):
            dict_merge(dct[key], value)
        else:
            dct[key] = value


def extract_json_objects(text: str, decoder: JSONDecoder | None = None) -> Iterator[Any]:
    """The JSON objects in a text, in order."""
    decode = (decoder or JSONDecoder()).raw_decode
    start = text.find("{")
    while start != -1:
        try:
            value, length = decode(text[start:])
        except ValueError:
            start = text.find("{", start + 1)
            continue
        yield value
        start = text.find("{", start + length)


def process_punctuation(inText: str) -> str:
    """A text without punctuation, as the VQA challenge compares answers (Antol et al. 2015, its evaluation code)."""
    has_number = re.search(r"(\d)(,)(\d)", inText) is not None
    text = inText
    for mark in _SPACED:
        is_apart = f"{mark} " in inText or f" {mark}" in inText or has_number
        text = text.replace(mark, "" if is_apart else " ")
    return re.sub(r"(?<!\d)\.(?!\d)", "", text)


def get_rank_and_world_size() -> tuple[int, int]:
    """Always rank 0 of 1: Polymeter evaluates in one process, whatever has launched it."""
    return 0, 1


def get_cuda_visible_devices() -> list[int] | None:
    """The numbers of the devices in ``CUDA_VISIBLE_DEVICES``; ``None`` if it is not set."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if named is None else [int(device) for device in named.split(",") if device.strip().isdigit()]


def get_gpu_memory() -> list[int]:
    """Free memory of each GPU, in MiB; empty if there is none."""
    command = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [int(line) for line in output.split() if line.isdigit()]


def load_env() -> None:
    """Do nothing: keys come from the environment, and no file beside the code is read."""


def modelscope_flag_set() -> bool:
    """Return whether data and weights come from ModelScope."""
    return os.environ.get("VLMEVALKIT_USE_MODELSCOPE") in ("1", "True")


def get_cache_path(repo_id: str, branch: str | None = "main", repo_type: str = "datasets") -> str | None:
    """The files of a repository on this machine: the folder that the run names in its place, else its snapshot in the
    local cache of the Hugging Face hub; ``None`` if there is none.

    Args:
        repo_id: The repository.
        branch: Its branch. A cache that records no branches, put there by hand, has one snapshot for all.
        repo_type: ``datasets`` or ``models``.
    """
    from huggingface_hub import constants

    named = local_folder(repo_id) if repo_type == "datasets" else None
    if named is not None:
        return str(named)
    cached = Path(constants.HF_HUB_CACHE) / f"{repo_type}--{repo_id.replace('/', '--')}"
    snapshots, refs = cached / "snapshots", cached / "refs"
    if branch is not None and refs.is_dir():
        ref = refs / branch
        commit = ref.read_text(encoding="utf-8").strip() if ref.is_file() else ""
        return str(snapshots / commit) if commit and (snapshots / commit).is_dir() else None
    newest_last = sorted(snapshots.glob("*"), key=lambda path: path.stat().st_mtime) if snapshots.is_dir() else []
    return str(newest_last[-1]) if newest_last else None


def proxy_set(s: str) -> None:
    """Set the proxy of this process."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        os.environ[name] = s


def run_command(cmd: str | list[str]) -> str:
    """The output of a program. A text is split into words; no shell is used."""
    words = shlex.split(cmd) if isinstance(cmd, str) else cmd
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def pip_install_robust(package: str) -> bool:
    """Return whether a package is installed.

    Raises:
        PlanError: if it is not: an evaluation never installs anything.
    """
    from importlib.util import find_spec

    name = re.split(r"[=<>!~\[]", package)[0]
    if find_spec(name.replace("-", "_")) is None:
        raise PlanError(f"The package {name!r} is not installed.", hint=f"Install it with: {pip_install(package)}")
    return True


def version_cmp(v1: str, v2: str, op: str = "eq") -> bool:
    """Compare two versions: ``eq``, ``ne``, ``lt``, ``le``, ``gt`` or ``ge``."""
    import operator

    from packaging.version import parse

    return bool(getattr(operator, op)(parse(v1), parse(v2)))


def youtube_dl(idx: str) -> None:
    """Not provided.

    Raises:
        PlanError: always.
    """
    hint = f"Download {idx} beforehand."
    raise PlanError("Videos are not downloaded while evaluating.", where="youtube_dl", hint=hint)


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, file_mode: str = "w"
) -> logging.Logger:
    """The logger of a name. It writes no file, and hides keys."""
    return guest_logger(name)


def h2r(value: str) -> tuple[int, int, int]:
    """Red, green and blue of ``#rrggbb``."""
    digits = value.removeprefix("#")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def r2h(rgb: tuple[int, int, int]) -> str:
    """``#rrggbb`` of a colour."""
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def colored(s: str, color: Any) -> str:
    """The text itself: logs have no colours."""
    return s
