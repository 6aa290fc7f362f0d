"""The GPUs and cores of this machine, divided among replicas. Nothing here imports what uses a GPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from polymeter.core.errors import PlanError
from polymeter.core.machine import available_cores

VISIBLE = "CUDA_VISIBLE_DEVICES"
_DRIVER = Path("/proc/driver/nvidia/gpus")
_ASKING_S = 20
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Division:
    """What each replica of this machine gets.

    Attributes:
        n_replicas: How many replicas there are.
        gpus: The GPUs by the names that ``CUDA_VISIBLE_DEVICES`` takes; empty: there are none, or none is used.
        gpus_per_replica: How many of them each replica has, or which share of one.
        cores: How many threads each replica computes with.
        note: What the user should know of the choice; empty if nothing.
    """

    n_replicas: int
    gpus: tuple[str, ...]
    gpus_per_replica: float
    cores: int
    note: str = ""

    def environment(self, slot: int) -> dict[str, str]:
        """The variables that tell the replica in a slot what is its own."""
        found = {name: os.environ.get(name) or str(self.cores) for name in _THREADS}
        if self.gpus:
            found[VISIBLE] = ",".join(self.gpus_of(slot))
        elif self.gpus_per_replica == 0:
            found[VISIBLE] = ""
        return found

    def gpus_of(self, slot: int) -> tuple[str, ...]:
        """The GPUs of the replica in a slot; those that share one stand on different ones as long as there are more."""
        if self.gpus_per_replica < 1:
            return (self.gpus[slot % len(self.gpus)],) if self.gpus_per_replica else ()
        each = int(self.gpus_per_replica)
        return self.gpus[slot * each : (slot + 1) * each]


def divided(
    replicas: int | Literal["auto"],
    gpus_per_replica: float | None,
    cpus_per_replica: int | None,
    gpus: tuple[str, ...] | None = None,
) -> Division:
    """Divide this machine among replicas.

    Args:
        replicas: How many; ``auto``: as many as the GPUs allow, or one.
        gpus_per_replica: GPUs of each; ``None``: one if there are any.
        cpus_per_replica: Threads of each; ``None``: its share of the cores.
        gpus: The GPUs that there are; ``None``: found out.

    Raises:
        PlanError: There are not enough GPUs, or their number is neither whole nor a share of one.
    """
    found = visible_gpus() if gpus is None else gpus
    if gpus_per_replica is not None and gpus_per_replica > 1 and gpus_per_replica != int(gpus_per_replica):
        raise PlanError(
            f"A replica cannot have {gpus_per_replica:g} GPUs.",
            where="--gpus-per-replica",
            hint="Give a whole number, or a share of one GPU such as 0.5.",
        )
    each = (1.0 if found else 0.0) if gpus_per_replica is None else gpus_per_replica
    places = _places(len(found), each)
    note = ""
    if replicas == "auto":
        if each and not places:
            raise _too_few(1, each, len(found))
        replicas = places if each else 1
        note = "" if each else "There is no GPU to divide, so there is one replica: --replicas N makes more."
    elif each and replicas > places:
        raise _too_few(replicas, each, len(found))
    cores = cpus_per_replica or max(1, available_cores() // replicas)
    return Division(replicas, found if each else (), each, cores, note)


def visible_gpus(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The GPUs that this process may use, by the names that ``CUDA_VISIBLE_DEVICES`` takes."""
    told = (os.environ if environment is None else environment).get(VISIBLE)
    if told is not None:
        names = [name.strip() for name in told.split(",")]
        return tuple(names[: names.index("-1")] if "-1" in names else [name for name in names if name])
    return tuple(str(number) for number in range(_n_gpus()))


def _n_gpus() -> int:
    if _DRIVER.is_dir():
        return sum(1 for _ in _DRIVER.iterdir())
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, text=True, timeout=_ASKING_S, check=False)
    except (OSError, subprocess.TimeoutExpired):  # a driver that does not answer has no GPU to offer
        return 0
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


def _places(n_gpus: int, each: float) -> int:
    if not each:
        return 0
    return n_gpus // int(each) if each >= 1 else n_gpus * int(1 / each + 1e-9)


def _too_few(replicas: int, each: float, n_gpus: int) -> PlanError:
    return PlanError(
        f"{replicas} replica{'s' if replicas > 1 else ''} of {each:g} GPU{'s' if each != 1 else ''} each do not fit: "
        f"this machine has {n_gpus}.",
        where="--replicas",
        hint="Ask for fewer, or let several share a GPU: --gpus-per-replica 0.5. Without GPUs: --gpus-per-replica 0.",
    )
