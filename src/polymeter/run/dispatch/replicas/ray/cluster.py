"""Joining a Ray cluster, and how many replicas of a model it can hold."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from polymeter.core.errors import PlanError, boundary, count
from polymeter.core.machine.hardware import available_cores
from polymeter.core.names.registry import missing_package
from polymeter.core.options import RunOptions

WHERE = "--executor ray"
_PATIENCE, _PATIENCE_S = "RAY_gcs_rpc_server_reconnect_timeout_s", "3600"
"""The number of seconds without the head of its cluster after which Ray ends this process; its own default is 60. The
work of the run after the head is down (``head_watch``) may take longer.
"""
_HANDLED = (signal.SIGINT, signal.SIGTERM)
_NO_REPORT = "RAY_USAGE_STATS_ENABLED"
_FILES = "RAY_TMPDIR"
"""The variable with the folder of Ray's sockets."""
_SHORT_PLACE = "/tmp"
_LONGEST_PLACE = 30
"""A path of a socket may have 107 bytes, and 70 of them are Ray's own."""
_RETURNING_S, _POLL_S = 3.0, 0.1
"""For so long, what ran on the cluster just before may still hold what it gives back."""


def require_ray() -> None:
    """Refuse a run on Ray where it is not installed.

    Raises:
        PlanError: if it is not.
    """
    from importlib.util import find_spec

    if find_spec("ray") is None:
        raise missing_package("ray", WHERE, "ray")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that this process has joined.

    Attributes:
        numbers: How many replicas of each model there are to be. Those that find no room wait until a node joins.
        gpus_per_replica: GPUs of each.
        cpus_per_replica: Cores of each.
        note: What the user should know of the choice; empty if nothing.
        is_left: Whether this process leaves the cluster after the run, because the run has joined it.
    """

    numbers: Sequence[int]
    gpus_per_replica: float
    cpus_per_replica: int
    note: str
    is_left: bool

    def leave(self, *, is_gone: bool = False) -> None:
        """Leave the cluster, if the run has joined it; one that it has started ends.

        Args:
            is_gone: Whether the cluster is down. Then it is left in any case, since Ray would end this process.
        """
        if self.is_left or is_gone:
            import ray

            ray.shutdown()


def head() -> str:
    """The address of the head of the cluster that this process is in."""
    import ray

    return str(ray.get_runtime_context().gcs_address)


ONE_CORE = Cluster((1,), 0.0, 1, "", is_left=False)
"""The part of a cluster that this process is in which one scorer has."""


def free_cores() -> int:
    """Return the number of unreserved cores of the cluster that this process is in."""
    import ray

    return int(ray.available_resources().get("CPU", 0))


def join(options: RunOptions, replicas: Sequence[int | Literal["auto"]]) -> Cluster:
    """Join the cluster that the options name, or start one on this machine.

    A process that is part of a cluster already, because its user's script has joined one, stays in it.

    Args:
        options: The run's.
        replicas: How many of each model are wanted; ``auto``, of one of them: as many as there is room for.

    Raises:
        PlanError: if Ray is missing, there is no cluster at the address, this process is in another one, or it can
            hold no replica of this size.
    """
    require_ray()
    import ray

    is_left = not ray.is_initialized()
    if is_left:
        os.environ.setdefault(_NO_REPORT, "0")  # of the cluster that is started here
        if len(tempfile.gettempdir()) > _LONGEST_PLACE and os.path.isdir(_SHORT_PLACE):
            os.environ.setdefault(_FILES, _SHORT_PLACE)
        where = _where(options, replicas)
        if "num_cpus" not in where:  # of a cluster that is started here, all parts would have it
            os.environ.setdefault(_PATIENCE, _PATIENCE_S)
        place = f"the Ray cluster at {options.address}" if options.address else "a Ray cluster"
        hint = (
            "Check with 'ray status' that it is running. If it requires a token, set RAY_AUTH_MODE=token here. Without "
            "--address, Polymeter starts a cluster on this machine."
        )
        with boundary(PlanError, f"Joining {place}", hint=hint), _handlers_kept():
            ray.init(log_to_driver=False, logging_level="error", include_dashboard=False, **where)
    elif options.address:
        _require_same(options.address, head())
    try:
        is_shared = not is_left or "num_cpus" not in _where(options, replicas)
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        free = _free(nodes) if is_shared and "auto" in replicas else None
        return divided(nodes, options, replicas, is_shared, is_left, free)
    except PlanError:
        if is_left:
            ray.shutdown()
        raise


def _where(options: RunOptions, replicas: Sequence[int | Literal["auto"]]) -> dict[str, Any]:
    """Choose the cluster to join. One that is started for the run has as many cores as the user allows. It is asked for
    by name: without an address Ray joins a cluster that ``ray start`` left running here.
    """
    if options.address or os.environ.get("RAY_ADDRESS"):
        return {"address": options.address}
    wanted = sum(1 if n == "auto" else n for n in replicas)
    return {"address": "local", "num_cpus": max(available_cores(), wanted * (options.cpus_per_replica or 1))}


def _require_same(address: str, joined: str) -> None:
    """Refuse an address that is not that of the cluster which this process is in.

    Raises:
        PlanError: if it is another cluster's.
    """
    if address == "auto" or _is_same(address, joined):
        return
    raise PlanError(
        f"This process is in the Ray cluster at {joined} already, and so it cannot join the one at {address}.",
        where="--address",
        hint="Leave the cluster first with ray.shutdown(), or give the address 'auto' to stay in it.",
    )


def _is_same(address: str, joined: str) -> bool:
    """Return whether two addresses are one place: the same port of hosts that have an IP address in common."""
    is_client = address.startswith("ray://")  # the port of a client is another one, on the same machine
    host, _, port = address.removeprefix("ray://").rpartition(":")
    own_host, _, own_port = joined.rpartition(":")
    return (is_client or port == own_port) and bool(_ips(host) & _ips(own_host))


def _ips(host: str) -> set[str]:
    """The IP addresses of a host; the address that Ray uses for this machine stands for its loopback."""
    import ray

    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host.strip("[]"), None)}
    except (OSError, UnicodeError):
        return {host}
    is_here = any(ip == "::1" or ip.startswith("127.") for ip in found)
    return found | ({ray.util.get_node_ip_address()} if is_here else set())


def _free(nodes: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the unreserved resources. It waits a little for resources that are being returned: a script that evaluates
    one model after another would otherwise find the cluster full of the last one.
    """
    import ray

    end = time.monotonic() + _RETURNING_S
    while True:
        free: Mapping[str, float] = ray.available_resources()
        is_all = all(free.get(kind, 0) >= sum(node.get(kind, 0) for node in nodes) for kind in ("CPU", "GPU"))
        if is_all or time.monotonic() >= end:
            return free
        time.sleep(_POLL_S)


def divided(
    nodes: Sequence[Mapping[str, float]],
    options: RunOptions,
    replicas: Sequence[int | Literal["auto"]],
    is_growing: bool,
    is_left: bool = False,
    free: Mapping[str, float] | None = None,
) -> Cluster:
    """Divide a cluster among replicas.

    Args:
        nodes: The resources of each node of the cluster: ``CPU``, ``GPU``.
        options: The wanted size of replicas.
        replicas: The number of replicas of each model.
        is_growing: Whether nodes may join; a cluster that is started for the run does not grow.
        is_left: See ``Cluster``.
        free: The unreserved resources of all nodes together; ``None``: all. Only ``auto`` uses it, and has at least one
            replica, which may have to wait.

    Raises:
        PlanError: if no replica fits, or the number of GPUs of one is neither whole nor a share of one.
    """
    gpus, cpus = options.gpus_per_replica, options.cpus_per_replica
    has_gpus = any(node.get("GPU", 0) for node in nodes)
    gpus = (1.0 if has_gpus else 0.0) if gpus is None else gpus
    if gpus > 1 and gpus != int(gpus):
        raise PlanError(
            f"--gpus-per-replica must be a whole number or a share of one GPU, not {gpus:g}.",
            where="--gpus-per-replica",
            hint="Write 2 for two GPUs, or 0.5 for half of one.",
        )
    is_auto = "auto" in replicas
    if cpus is None:
        # Without GPUs the cores of a node are what computes, and one replica uses them all.
        least = min((int(node["CPU"]) for node in nodes if node.get("CPU", 0) >= 1), default=1)
        cpus = least if [*replicas] == ["auto"] and not gpus else 1
    places = sum(_places(node, gpus, cpus) for node in nodes)
    each = count(cpus, "core") + (f" and {gpus:g} GPU{'s' if gpus != 1 else ''}" if gpus else "")
    if replicas and not places and (is_auto or not is_growing):
        raise PlanError(
            f"No node of the Ray cluster has room for a replica of {each}.",
            where="--replicas",
            hint="Ask for less with --gpus-per-replica and --cpus-per-replica, or name a larger cluster: --address.",
        )
    free_places = places if free is None else min(places, _places(free, gpus, cpus))
    n_told = sum(n for n in replicas if n != "auto")
    numbers = [max(1, free_places - n_told) if n == "auto" else n for n in replicas]
    n_replicas = sum(numbers)
    note = ""
    if is_auto and free_places < places:
        note = f"Others use the Ray cluster: it has room for {free_places} of {places} replicas of {each} now."
        note += "" if free_places > n_told else " One is started and waits for room."
    if n_replicas > places:
        note = f"The Ray cluster has room for {places} of {n_replicas} replicas of {each}."
        never = " The others will never start: no node can join this cluster."
        note += " The others start when nodes join." if is_growing else never
    return Cluster(numbers, gpus, cpus, note, is_left)


def _places(node: Mapping[str, Any], gpus: float, cpus: int) -> int:
    """Return the number of replicas that a node can hold."""
    by_cpus = int(node.get("CPU", 0) // cpus)
    if not gpus:
        return by_cpus
    n_gpus = node.get("GPU", 0)
    by_gpus = n_gpus // gpus if gpus >= 1 else n_gpus * int(1 / gpus + 1e-9)
    return min(by_cpus, int(by_gpus))


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Keep what signals do in this process: Ray would end it on SIGTERM without letting the run end in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {which: signal.getsignal(which) for which in _HANDLED}
    try:
        yield
    finally:
        for which, handler in before.items():
            if handler is not None:
                signal.signal(which, handler)
