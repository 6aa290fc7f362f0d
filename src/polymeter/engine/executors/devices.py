"""The GPUs and cores of this machine, divided among replicas."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from polymeter.core.errors import PlanError
from polymeter.core.gpus import VISIBLE, share_out, visible_gpus
from polymeter.core.machine import available_cores
from polymeter.core.records import dataclass

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Division:
    """What each replica of this machine gets.

    Attributes:
        gpus: For each replica, its GPUs by the names that ``CUDA_VISIBLE_DEVICES`` takes.
        cores: How many threads each replica computes with.
        is_told: Whether the user has said how many threads: then variables of the environment count for nothing.
        note: What the user should know of the choice; empty if nothing.
        is_without_gpus: Whether replicas are to see none. Where merely none were found, they see what there is, as not
            every GPU is listed where it is looked for.
    """

    gpus: Sequence[Sequence[str]]
    cores: int
    is_told: bool = False
    note: str = ""
    is_without_gpus: bool = False

    @property
    def n_replicas(self) -> int:
        """How many replicas there are."""
        return len(self.gpus)

    def environment(self, slot: int) -> dict[str, str]:
        """The variables that tell the replica in a slot what is its own."""
        set_before = {} if self.is_told else os.environ
        found = {name: set_before.get(name) or str(self.cores) for name in _THREADS}
        own = self.gpus[slot]
        return found | {VISIBLE: ",".join(own)} if own or self.is_without_gpus else found


def divided(
    replicas: int | Literal["auto"],
    gpus_per_replica: float | None,
    cpus_per_replica: int | None,
    gpus: Sequence[str] | None = None,
) -> Division:
    """Divide this machine among replicas.

    Args:
        replicas: How many; ``auto``: as many as the GPUs allow, or one.
        gpus_per_replica: GPUs of each; ``None``: one if there are any; 0: none.
        cpus_per_replica: Threads of each; ``None``: its share of the cores.
        gpus: The GPUs that there are; ``None``: found out.

    Raises:
        PlanError: if there are not enough GPUs, or their number is neither whole nor a share of one.
    """
    found = [] if gpus_per_replica == 0 else list(visible_gpus() if gpus is None else gpus)
    if gpus_per_replica and not found:
        raise PlanError(
            "There is no GPU on this machine that replicas could have.",
            where="--gpus-per-replica",
            hint="Leave it out: replicas then compute on the cores.",
        )
    shares = share_out(found, replicas, gpus_per_replica or 1)
    note = ""
    if replicas == "auto" and not found:
        note = "There is no GPU to divide, so there is one replica: --replicas N makes more."
    cores = cpus_per_replica or max(1, available_cores() // len(shares))
    return Division(shares, cores, cpus_per_replica is not None, note, gpus_per_replica == 0)
