"""Room for replicas: scorers hold cores that were free when they were started, and end when a replica needs one.

A replica that is lost with its node may find a free GPU elsewhere, and no core beside it. It would wait for the end of
the run, since scorers stay until then. A replica that waited before the scorers were started did not fit into what they
have taken, and does not wait for them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from polymeter.core.errors import attempt
from polymeter.run.dispatch.replicas.ray.cluster import Cluster

if TYPE_CHECKING:
    from polymeter.run.dispatch.replicas.ray.host import RayHost

_PATIENCE_S = 60.0
"""The time that a replica may take to find its place: an actor that has one needs time to import its code."""
_EVERY_S = 5.0


def make_room_when_needed(
    replicas: Sequence[RayHost],
    scorers: RayHost,
    would_help: Callable[[int], bool],
    *,
    every_s: float = _EVERY_S,
    clock: Callable[[], float] = time.monotonic,
) -> threading.Thread:
    """End scorers, on a thread, when a replica has waited too long for what they hold.

    Args:
        replicas: Hold the replicas.
        scorers: Holds the scorers, which are about to be started.
        would_help: Whether a replica would find room if so many scorers ended.
        every_s: How often to look.
        clock: Gives the seconds that the hosts go by.
    """
    began = clock()

    def watch() -> None:
        while not scorers.closed.wait(every_s):
            since = min((one for host in replicas if (one := host.waiting_since(began)) is not None), default=None)
            if since is None or clock() - since < _PATIENCE_S:
                continue
            if attempt(lambda: would_help(scorers.n_actors)) is True:  # Ray may have been left meanwhile
                scorers.end_all("a replica that was lost can be started again only on cores that scorers had.")
                return

    thread = threading.Thread(target=watch, name="polymeter-ray-room", daemon=True)
    thread.start()
    return thread


def has_room_but_for(cluster: Cluster, n_scorers: int) -> bool:
    """Return whether a replica would find room if so many scorers ended. All nodes are taken together: if it is wrong,
    scoring takes longer, and nothing else.
    """
    import ray

    free: Mapping[str, float] = ray.available_resources()
    has_gpus = free.get("GPU", 0) >= cluster.gpus_per_replica
    return has_gpus and free.get("CPU", 0) + n_scorers >= cluster.cpus_per_replica
