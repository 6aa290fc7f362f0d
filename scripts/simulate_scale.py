"""Simulates a run on many replicas: the scheduling code of a real run over a clock that is turned.

Usage: ``python -m scripts.simulate_scale [--replicas 10000] [--samples 1000000] [--batch 8] [--latency-s 1.0] …``

What decides who computes what is ``polymeter.run.dispatch.replicas.leases``, as in a run. What is made up is what takes
time: a replica's loading and computing (log-normal), its deaths (exponential), leases that it never answers, samples
that bring it down, and a driver that handles one answer after the other. Given are costs, measured elsewhere: of the
driver for a sample, of the bytes that leave its machine. Printed are what the run takes, how busy replicas and driver
are, what the scheduling itself costs on this machine, and which part would be too slow first.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeVar

from polymeter.run.dispatch.replicas.leases import Lease, LeaseLimits, Leases

T = TypeVar("T")
EXTRAPOLATED = 100_000_000
_SAMPLES_AT_START = 3
"""Samples in play, as a multiple of what all replicas hold in one batch: one is computed, one waits behind it, and one
is on its way.
"""


@dataclass(frozen=True)
class World:
    """What is given.

    Attributes:
        replicas: Copies of the model.
        samples: Samples of one request each.
        batch: Requests in one batch.
        latency_s: Median seconds of a batch.
        latency_sigma: Spread of its logarithm.
        load_s: Median seconds until a replica is ready.
        late_share: Share of the replicas whose machine joins only later, ``late_s`` after the start.
        late_s: See there.
        hours_between_deaths: Mean time between two deaths of one replica.
        hangs_per_million: Leases that are never answered.
        poison_per_million: Samples that bring down whoever computes them.
        deadline_s: When a replica that does not answer is given up.
        driver_us: Processor time of the driver for one sample, in microseconds.
        sample_kb: Kilobytes of a request that leave the driver's machine.
        journal_kb: Kilobytes that the journal grows by with each sample.
        network_gbit: Gigabits a second that leave the driver's machine.
        seed: Of everything that is drawn.
    """

    replicas: int = 10_000
    samples: int = 1_000_000
    batch: int = 8
    latency_s: float = 1.0
    latency_sigma: float = 0.5
    load_s: float = 60.0
    late_share: float = 0.1
    late_s: float = 120.0
    hours_between_deaths: float = 24.0
    hangs_per_million: float = 10.0
    poison_per_million: float = 1.0
    deadline_s: float = 120.0
    driver_us: float = 200.0
    sample_kb: float = 2.0
    journal_kb: float = 1.0
    network_gbit: float = 10.0
    seed: int = 0


@dataclass
class Outcome:
    """What a simulated run came to.

    Attributes:
        makespan_s: Seconds until the last sample.
        n_answered: Samples that were answered.
        n_given_up: Samples that are errors, because they were being computed at two deaths.
        n_asked: Requests that replicas began to compute, those that were asked again included.
        n_most_asked: How often the sample that was asked most was asked.
        n_lost: Replicas that died or were ended.
        busy_s: Seconds in which replicas computed what was answered.
        ready_s: Seconds in which replicas were there.
        driver_s: Seconds in which the driver was busy.
        steady_per_s: Samples a second between a quarter and three quarters of the run.
        scheduling_s: Processor time that ``leases`` took here.
        most_queued: The most requests that waited for a replica.
    """

    makespan_s: float = 0.0
    n_answered: int = 0
    n_given_up: int = 0
    n_asked: int = 0
    n_most_asked: int = 0
    n_lost: int = 0
    busy_s: float = 0.0
    ready_s: float = 0.0
    driver_s: float = 0.0
    steady_per_s: float = 0.0
    scheduling_s: float = 0.0
    most_queued: int = 0


@dataclass
class _Place:
    """A replica as its own machine sees it: since when it is there, until when it has something to compute, and what
    that is, with the time at which each lease is begun.
    """

    slot: int
    free_at: float = 0.0
    ready_at: float = 0.0
    is_hanging: bool = False
    held: deque[tuple[float, Lease[int]]] = field(default_factory=deque)


@dataclass
class Simulation:
    """One simulated run.

    Attributes:
        world: What is given.
    """

    world: World
    now: float = 0.0
    outcome: Outcome = field(default_factory=Outcome)

    def __post_init__(self) -> None:
        world = self.world
        self._random = random.Random(world.seed)
        limits = LeaseLimits(deadline_s=world.deadline_s)
        self._leases: Leases[int] = Leases(self._most, limits, lambda: self.now)
        self._events: list[tuple[float, int, str, int, Lease[int] | None]] = []
        self._n_events = 0
        self._places: dict[int, _Place] = {}
        self._asked = bytearray(world.samples)
        self._poison = {
            sample for sample in range(world.samples) if self._random.random() < world.poison_per_million / 1e6
        }
        self._next_sample = self._n_ended = 0
        self._window = _SAMPLES_AT_START * world.replicas * world.batch
        self._quarters: list[float] = []

    def run(self) -> Outcome:
        """Play the run to its end."""
        world, outcome = self.world, self.outcome
        n_late = int(world.replicas * world.late_share)
        for slot in range(world.replicas):
            self._start(slot, 0.0 if slot >= n_late else world.late_s)
        self._fill()
        while self._n_ended < world.samples:
            at, _, kind, number, lease = heapq.heappop(self._events)
            self.now = max(self.now, at)  # an answer waits while the driver is at another one
            self._handle(kind, number, lease)
        outcome.makespan_s = self.now
        outcome.n_most_asked = max(self._asked)
        outcome.ready_s += sum(self.now - place.ready_at for place in self._places.values() if place.ready_at)
        first, third = self._quarters[0], self._quarters[2]
        outcome.steady_per_s = world.samples / 2 / max(third - first, 1e-9)
        return outcome

    def _handle(self, kind: str, number: int, lease: Lease[int] | None) -> None:
        place = self._places.get(number)
        if kind == "deadline":
            for late in self._timed(self._leases.overdue):
                self._die(late)
            self._watch()
        elif place is None:
            return
        elif kind == "ready":
            place.ready_at = place.free_at = self.now
            self._leases.ready(number)
            self._later(self._random.expovariate(1 / (self.world.hours_between_deaths * 3600)), "died", number)
            self._give()
        elif kind == "died":
            self._die(number)
        elif lease is not None:
            self._answer(number, lease)

    def _answer(self, number: int, lease: Lease[int]) -> None:
        if not self._poison.isdisjoint(lease.items):
            self._die(number)
            return
        self._note_asked(self._places[number].held.popleft()[1])
        self._drive(len(lease))
        if self._timed(lambda: self._leases.answered(number, lease.number)) is not None:
            self.outcome.n_answered += len(lease)
            self._end(len(lease))
            self._fill()

    def _note_asked(self, lease: Lease[int]) -> None:
        self.outcome.n_asked += len(lease)
        for item in lease.items:
            self._asked[item] += 1

    def _drive(self, n_samples: int) -> None:
        """The driver is busy with the answers of some samples; whatever happens meanwhile is handled after that."""
        took_s = n_samples * self.world.driver_us / 1e6
        self.outcome.driver_s += took_s
        self.now += took_s

    def _end(self, n_samples: int) -> None:
        self._n_ended += n_samples
        while len(self._quarters) < 3 and self._n_ended >= (len(self._quarters) + 1) * self.world.samples / 4:
            self._quarters.append(self.now)

    def _fill(self) -> None:
        """Begin samples up to the window, and give out what can be given."""
        upto = min(self.world.samples, self._n_ended + self._window)

        def add() -> None:
            for sample in range(self._next_sample, upto):
                self._leases.add(sample, "one", 1)

        self._timed(add)
        self._next_sample = max(self._next_sample, upto)
        self.outcome.most_queued = max(self.outcome.most_queued, self._leases.n_waiting)
        self._give()

    def _give(self) -> None:
        is_dry = self._next_sample >= self.world.samples
        for lease in self._timed(lambda: self._leases.give(is_partial_fine=is_dry)):
            if self._timed(lambda lease=lease: self._leases.sent(lease)):
                self._compute(lease)
        self._watch()

    def _compute(self, lease: Lease[int]) -> None:
        """The replica computes a lease when it has done what it had before."""
        place, world = self._places[lease.replica], self.world
        place.held.append((max(place.free_at, self.now), lease))
        if place.is_hanging:
            return
        if self._random.random() < world.hangs_per_million / 1e6:
            place.is_hanging = True
            return
        took_s = world.latency_s * math.exp(self._random.gauss(0, world.latency_sigma)) * len(lease) / world.batch
        place.free_at = max(place.free_at, self.now) + took_s
        self.outcome.busy_s += took_s
        self._later(place.free_at - self.now, "answered", lease.replica, lease)

    def _die(self, number: int) -> None:
        place = self._places.pop(number)
        if place.held and place.held[0][0] <= self.now:
            self._note_asked(place.held[0][1])
        self.outcome.n_lost += 1
        self.outcome.ready_s += self.now - place.ready_at
        self.outcome.busy_s -= max(0.0, place.free_at - self.now)
        loss = self._timed(lambda: self._leases.lost(number, "died"))
        if loss is None:
            return
        self.outcome.n_given_up += len(loss.given_up)
        self._end(len(loss.given_up))
        if loss.may_restart:
            self._start(place.slot, 0.0)
        self._fill()

    def _start(self, slot: int, after_s: float) -> None:
        number = self._timed(lambda: self._leases.join(slot))
        self._places[number] = _Place(slot)
        self._later(after_s + self.world.load_s * math.exp(self._random.gauss(0, 0.25)), "ready", number)

    def _watch(self) -> None:
        """Look for replicas that hang when the next deadline may have passed."""
        due = self._leases.next_deadline()
        if due is not None and (self._due is None or due < self._due or self._due <= self.now):
            self._due = due
            self._later(max(0.0, due - self.now), "deadline", -1)

    _due: float | None = None

    def _later(self, after_s: float, kind: str, number: int, lease: Lease[int] | None = None) -> None:
        self._n_events += 1
        heapq.heappush(self._events, (self.now + after_s, self._n_events, kind, number, lease))

    def _timed(self, function: Callable[[], T]) -> T:
        started = time.thread_time()
        try:
            return function()
        finally:
            self.outcome.scheduling_s += time.thread_time() - started

    def _most(self, slot: int, key: Hashable, longest: int) -> int:
        return self.world.batch


@dataclass(frozen=True)
class Limit:
    """How many samples a second a part of the system can carry.

    Attributes:
        part: Its name.
        per_s: Samples a second.
        why: What that follows from.
    """

    part: str
    per_s: float
    why: str


def limits_of(world: World, outcome: Outcome) -> list[Limit]:
    """The parts of a run, the one that breaks first at the head."""
    mean_s = world.latency_s * math.exp(world.latency_sigma**2 / 2)
    scheduling_us = outcome.scheduling_s / max(1, outcome.n_answered) * 1e6
    found = [
        Limit("driver", 1e6 / world.driver_us, f"{world.driver_us:g} µs of one core for a sample"),
        Limit("scheduling alone", 1e6 / scheduling_us, f"{scheduling_us:.1f} µs for a sample, as measured here"),
        Limit(
            "network of the driver's machine",
            world.network_gbit * 1e9 / 8 / (world.sample_kb * 1000),
            f"{world.sample_kb:g} kB for a sample, {world.network_gbit:g} Gbit/s",
        ),
        Limit(
            "replicas",
            world.replicas * world.batch / mean_s,
            f"{world.replicas:,} with {world.batch} samples in {mean_s:.2f} s",
        ),
    ]
    return sorted(found, key=lambda limit: limit.per_s)


def told(world: World, outcome: Outcome, took_s: float) -> list[str]:
    """The lines that are printed."""
    per_s = outcome.n_answered / outcome.makespan_s
    lines = [
        f"{world.replicas:,} replicas, {world.samples:,} samples in batches of {world.batch}, "
        f"simulated in {took_s:.0f} s",
        f"  makespan            {outcome.makespan_s:,.0f} s, loading included",
        f"  throughput          {per_s:,.0f} samples/s; {outcome.steady_per_s:,.0f} in the middle half of the run",
        f"  utilisation         {outcome.busy_s / max(outcome.ready_s, 1e-9):.1%} of the replicas, "
        f"{outcome.driver_s / outcome.makespan_s:.1%} of the driver",
        f"  scheduling          {outcome.scheduling_s / world.samples * 1e6:.1f} µs of processor time for a sample",
        f"  waiting             at most {outcome.most_queued:,} requests in the driver",
        f"  lost                {outcome.n_lost:,} replicas; asked again {outcome.n_asked - world.samples:,} requests, "
        f"one of them at most {outcome.n_most_asked} times; {outcome.n_given_up} samples are errors",
        "  what breaks first, in samples/s:",
    ]
    limits = limits_of(world, outcome)
    lines += [f"    {limit.per_s:>12,.0f}  {limit.part}: {limit.why}" for limit in limits]
    demand = next(limit.per_s for limit in limits if limit.part == "replicas")
    shared = min(limit.per_s for limit in limits if limit.part != "replicas")
    n_runs = max(1, math.ceil(demand / shared))
    hours = EXTRAPOLATED / min(demand, shared) / 3600
    gigabytes = EXTRAPOLATED * world.journal_kb / 1e6
    several = f", {EXTRAPOLATED / demand / 3600:,.1f} h with {n_runs} that share the replicas" if n_runs > 1 else ""
    lines.append(
        f"  {EXTRAPOLATED:,} samples  {hours:,.1f} h with one driver{several}; {gigabytes:,.0f} GB of journals"
    )
    return lines


def main() -> None:
    """Simulate what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.simulate_scale", description=(__doc__ or "").split("\n")[0]
    )
    for name, value in vars(World()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    world = World(**vars(parser.parse_args()))
    started = time.perf_counter()
    outcome = Simulation(world).run()
    print("\n".join(told(world, outcome, time.perf_counter() - started)))


if __name__ == "__main__":
    main()
