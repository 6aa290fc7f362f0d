"""The GPUs of this machine as programs see them that it starts, and how several copies of a model share them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import Literal

from polymeter.core.children.asked import printed_by
from polymeter.core.errors import PlanError

VISIBLE = "CUDA_VISIBLE_DEVICES"
_LIMIT_S = 20.0


def visible_gpus() -> list[str]:
    """The GPUs that a program started now would see, as ``CUDA_VISIBLE_DEVICES`` names them; torch is not imported."""
    told = os.environ.get(VISIBLE)
    if told is not None:
        return [name.strip() for name in told.split(",") if name.strip() and name.strip() != "-1"]
    return [index for index, _ in _gpus_by_driver()]


def gpu_names(gpus: Sequence[str]) -> list[str]:
    """The GPUs with the names of their models, as far as the driver knows them."""
    names = dict(_gpus_by_driver())
    return [f"{gpu}: {names[gpu]}" if gpu in names else gpu for gpu in gpus]


def share_out(gpus: Sequence[str], n: int | Literal["auto"], each: float) -> list[list[str]]:
    """Return the GPUs of each of several replicas; without any, empty lists.

    Args:
        gpus: The GPUs of this machine.
        n: How many replicas; ``auto``: as many as there is room for, and one without GPUs.
        each: How many GPUs one needs; below 1 several replicas share one, if there are fewer GPUs than replicas.

    Raises:
        PlanError: if there are too few, or ``each`` is neither a whole number nor a share of one.
    """
    if each <= 0 or (each > 1 and each != int(each)):
        raise PlanError(
            f"--gpus-per-replica must be a whole number or a share of one GPU, not {each:g}.",
            where="--gpus-per-replica",
            hint="Write 2 for two GPUs, or 0.5 for half of one.",
        )
    if not gpus:
        return [[] for _ in range(1 if n == "auto" else n)]
    on_one = 1 if each >= 1 else int(1 / each + 1e-9)
    room = len(gpus) * on_one if each < 1 else len(gpus) // int(each)
    wanted = max(1, room) if n == "auto" else n
    if wanted > room:
        raise PlanError(
            f"{wanted} replicas with {each:g} GPUs each do not fit on the {len(gpus)} GPUs available here.",
            where="--replicas",
            hint="Ask for fewer, or for less with --gpus-per-replica.",
        )
    if each < 1:
        return [[gpus[number % len(gpus)]] for number in range(wanted)]
    size = int(each)
    return [list(gpus[number * size : (number + 1) * size]) for number in range(wanted)]


def _gpus_by_driver() -> list[tuple[str, str]]:
    """Index and name of each GPU that the driver lists."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    words = [program, "--query-gpu=index,name", "--format=csv,noheader"]
    pairs = [line.partition(",") for line in printed_by(words, _LIMIT_S).splitlines()]
    return [(index.strip(), name.strip()) for index, _, name in pairs if index.strip()]
