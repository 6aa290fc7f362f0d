"""The GPUs and cores of this machine, divided among replicas."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polymeter.core.errors import PlanError
from polymeter.core.machine.gpus import VISIBLE, share_out, visible_gpus
from polymeter.core.machine.hardware import available_cores

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Division:
    """The devices of each replica of this machine.

    Attributes:
        numbers: The number of replicas of each model.
        gpus: For each replica of all models, its GPUs by the names that ``CUDA_VISIBLE_DEVICES`` takes.
        cores: The number of threads of each replica.
        is_told: Whether the user gave the number of threads. Environment variables do not count then.
        note: A note on the choice for the user; may be empty.
        is_without_gpus: Whether replicas are to see no GPUs. If none were found, replicas still see all devices, since
            not every GPU is listed.
    """

    numbers: Sequence[int]
    gpus: Sequence[Sequence[str]]
    cores: int
    is_told: bool = False
    note: str = ""
    is_without_gpus: bool = False

    def environment(self, slot: int) -> dict[str, str]:
        """The variables that tell the replica in a slot what is its own."""
        set_before = {} if self.is_told else os.environ
        found = {name: set_before.get(name) or str(self.cores) for name in _THREADS}
        own = self.gpus[slot]
        return found | {VISIBLE: ",".join(own)} if own or self.is_without_gpus else found


def divided(
    replicas: Sequence[int | Literal["auto"]],
    gpus_per_replica: float | None,
    cpus_per_replica: int | None,
    gpus: Sequence[str] | None = None,
    *,
    n_here: int = 0,
    is_first_taken: bool = False,
) -> Division:
    """Divide this machine among the replicas of some models.

    Args:
        replicas: How many of each model; ``auto``, of one of them: as many as the GPUs allow beside the others, or one.
        gpus_per_replica: GPUs of each; ``None``: one if there are any; 0: none.
        cpus_per_replica: Threads of each; ``None``: its share of the cores.
        gpus: The GPUs that there are; ``None``: found out.
        n_here: How many models compute in this process: they count for the cores.
        is_first_taken: Whether the measured model is one of them: it has the first GPU if there are several.

    Raises:
        PlanError: if there are not enough GPUs, or their number is neither whole nor a share of one.
    """
    found = [] if gpus_per_replica == 0 else list(visible_gpus() if gpus is None else gpus)
    if gpus_per_replica and not found:
        raise PlanError(
            "This machine has no GPU for replicas.",
            where="--gpus-per-replica",
            hint="Leave it out: replicas then compute on the cores.",
        )
    is_first_taken = is_first_taken and len(found) > 1
    found = found[1:] if is_first_taken else found
    each = gpus_per_replica or 1
    n_told = sum(n for n in replicas if n != "auto")
    is_auto = "auto" in replicas
    n_auto = 0
    if is_auto:
        n_auto = max(1, len(share_out(found, "auto", each)) - n_told) if found else 1
    try:
        shares = share_out(found, n_told + n_auto, each)
    except PlanError as error:
        if not is_first_taken:
            raise
        what = f"{error.what} The first GPU is the measured model's, which is in the process of the run."
        raise PlanError(what, where="--judge-replicas", hint=error.hint) from None
    note = ""
    if is_auto and not found:
        note = "There is no GPU to divide, so there is one replica: --replicas N makes more."
    cores = cpus_per_replica or max(1, available_cores() // (len(shares) + n_here))
    numbers = [n_auto if n == "auto" else n for n in replicas]
    return Division(numbers, shares, cores, cpus_per_replica is not None, note, gpus_per_replica == 0)
