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
from polymeter.formats.table.cells import toliststr
from polymeter.guests.loggers import guest_logger

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
    """Whether a value is of a type, or is the text of a literal that is."""
    if isinstance(s, type):
        return True
    try:
        return isinstance(ast.literal_eval(s), type)
    except _NOT_LITERAL:
        return False


def listinstr(lst: list[str], s: str) -> bool:
    """Whether any of some texts is part of another."""
    return any(item in s for item in lst)


def splitlen(s: str, sym: str = "/") -> int:
    """How many pieces a separator makes of a text."""
    return len(s.split(sym))


def bincount(lst: Iterable[Any]) -> dict[Any, int]:
    """How often each value occurs."""
    bins: dict[Any, int] = defaultdict(int)
    for item in lst:
        bins[item] += 1
    return bins


def d2df(D: Mapping[str, Any]) -> pd.DataFrame:
    """A table of one row."""
    import pandas as pd

    return pd.DataFrame({key: [value] for key, value in D.items()})


def cn_string(s: str) -> bool:
    """Whether a text has Chinese characters."""
    return re.search("[\u4e00-\u9fff]", s) is not None


def timestr(granularity: str = "second") -> str:
    """The time as digits, down to a second, minute, hour or day."""
    return datetime.datetime.now().astimezone().strftime("%Y%m%d%H%M%S")[: _KEPT[granularity]]


def githash(fallback: str = "unknown", digits: int | None = 8) -> str:
    """Stands for the commit of the evaluating code: Polymeter's version, which its runs record as well."""
    from polymeter import __version__

    return __version__[:digits] or fallback


def dict_merge(dct: dict[Any, Any], merge_dct: Mapping[Any, Any]) -> None:
    """Merge a mapping into another, also the mappings inside."""
    for key, value in merge_dct.items():
        if isinstance(dct.get(key), dict) and isinstance(value, dict):
            dict_merge(dct[key], value)
        else:
            dct[key] = value


def extract_json_objects(text: str, decoder: JSONDecoder | None = None) -> Iterator[Any]:
    """The JSON objects that stand in a text, in their order."""
    decode = (decoder or JSONDecoder()).raw_decode
    place = text.find("{")
    while place != -1:
        try:
            found, length = decode(text[place:])
        except ValueError:
            place = text.find("{", place + 1)
            continue
        yield found
        place = text.find("{", place + length)


def process_punctuation(inText: str) -> str:
    """A text without punctuation, as the VQA challenge compares answers (Antol et al. 2015, its evaluation code)."""
    has_number = re.search(r"(\d)(,)(\d)", inText) is not None
    text = inText
    for mark in _SPACED:
        is_apart = f"{mark} " in inText or f" {mark}" in inText or has_number
        text = text.replace(mark, "" if is_apart else " ")
    return re.sub(r"(?<!\d)\.(?!\d)", "", text)


def get_rank_and_world_size() -> tuple[int, int]:
    """Always the first of one: Polymeter evaluates in one process, whatever has launched it."""
    return 0, 1


def get_cuda_visible_devices() -> list[int] | None:
    """The numbers of the devices that ``CUDA_VISIBLE_DEVICES`` names; ``None`` when it does not say."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return None if named is None else [int(device) for device in named.split(",") if device.strip().isdigit()]


def get_gpu_memory() -> list[int]:
    """Free memory of each GPU, in MiB; empty where there is none."""
    command = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return [int(line) for line in told.split() if line.isdigit()]


def load_env() -> None:
    """Nothing: keys come from the environment of the run, and no file next to the code is read."""


def modelscope_flag_set() -> bool:
    """Whether data and weights shall come from ModelScope."""
    return os.environ.get("VLMEVALKIT_USE_MODELSCOPE") in ("1", "True")


def get_cache_path(repo_id: str, branch: str | None = "main", repo_type: str = "datasets") -> str | None:
    """The newest snapshot of a repository in the local cache of the Hugging Face hub; ``None`` when there is none."""
    from huggingface_hub.constants import HF_HUB_CACHE

    snapshots = Path(HF_HUB_CACHE) / f"{repo_type}--{repo_id.replace('/', '--')}" / "snapshots"
    found = sorted(snapshots.glob("*"), key=lambda place: place.stat().st_mtime) if snapshots.is_dir() else []
    return str(found[-1]) if found else None


def proxy_set(s: str) -> None:
    """Set the proxy of this process."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        os.environ[name] = s


def run_command(cmd: str | list[str]) -> str:
    """What a program prints. A text is split into words; no shell reads it."""
    words = shlex.split(cmd) if isinstance(cmd, str) else cmd
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def pip_install_robust(package: str) -> bool:
    """Whether a package is there.

    Raises:
        PlanError: It is not: evaluating never installs anything.
    """
    from importlib.util import find_spec

    name = re.split(r"[=<>!~\[]", package)[0]
    if find_spec(name.replace("-", "_")) is None:
        raise PlanError(f"The package {name!r} is not installed.", hint=f"Install it with: pip install {package}")
    return True


def version_cmp(v1: str, v2: str, op: str = "eq") -> bool:
    """Compare two versions: ``eq``, ``ne``, ``lt``, ``le``, ``gt`` or ``ge``."""
    import operator

    from packaging.version import parse

    return bool(getattr(operator, op)(parse(v1), parse(v2)))


def youtube_dl(idx: str) -> None:
    """Not provided.

    Raises:
        PlanError: Always.
    """
    raise PlanError("Videos are not downloaded while evaluating.", where="youtube_dl", hint=f"Download {idx} before.")


def get_logger(
    name: str, log_file: str | None = None, log_level: int = logging.INFO, file_mode: str = "w"
) -> logging.Logger:
    """The logger of a name. A file that is named is not written, and keys do not get into it."""
    return guest_logger(name)


def h2r(value: str) -> tuple[int, int, int]:
    """Red, green and blue of ``#rrggbb``."""
    digits = value.removeprefix("#")
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def r2h(rgb: tuple[int, int, int]) -> str:
    """``#rrggbb`` of a colour."""
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def colored(s: str, color: Any) -> str:
    """The text: what a log is given has no colours in it."""
    return s
