"""Stand-in for ``lmms_eval.models.model_utils.parallel``: which of several processes this one is."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class ParallelPlan:
    """Place among the processes of a launcher; ``tp_size`` of them hold one model together."""

    global_rank: int
    local_rank: int
    world_size: int
    tp_size: int = 1

    @classmethod
    def from_env(cls, tp_size: int = 1) -> ParallelPlan:
        """As ``torchrun`` and its like say in the environment; alone if they say nothing."""
        rank, local, size = (int(os.environ.get(name, "0")) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))
        return cls(rank, local, max(1, size), int(tp_size))

    @property
    def dp_size(self) -> int:
        """How many models there are."""
        return max(1, self.world_size // max(1, self.tp_size))

    def device_str(self) -> str:
        """This process's device, as torch names it."""
        import torch

        return f"cuda:{self.local_rank}" if torch.cuda.is_available() else "cpu"


def resolve_local_rank_device(device: str, plan: ParallelPlan | None = None) -> str:
    """The device that was asked for; of several processes on CUDA, each gets its own."""
    place = plan or ParallelPlan.from_env()
    if place.world_size <= 1 or not str(device).startswith("cuda"):
        return str(device)
    import torch

    n_devices = torch.cuda.device_count()
    return f"cuda:{place.local_rank % n_devices}" if n_devices else str(device)
