"""The dispatcher to replicas of a model. It chooses batches like the dispatcher to a single model, leases them to free
replicas, and decides what follows when a replica is lost.

It has one thread of its own, which watches deadlines and waits before repetitions. Everything else happens on the
threads of the scheduler, of media preparation, and of the host.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from polymeter.core.errors import ModelError, count
from polymeter.core.request import Response
from polymeter.run.budget.meter import Admission, Meter
from polymeter.run.dispatch.batch.choice import BatchChoice, longest_of
from polymeter.run.dispatch.batch.size import BatchSizes, CommonScale
from polymeter.run.dispatch.dispatchers import CLOSE_S, Joined, did_not_fit, pause_s, settle
from polymeter.run.dispatch.image_writers import ImageWriters, sizes_of_images
from polymeter.run.dispatch.prefetch import Prefetcher
from polymeter.run.dispatch.replicas.hosts import Computed, HostListener, Room, Work
from polymeter.run.dispatch.replicas.leases import Lease, LeaseLimits, Leases
from polymeter.run.schedule.events import Events
from polymeter.run.schedule.running_samples import PendingRequest

_RECORDED_SLOTS = 64
"""Of more replicas than this, a run records what all of them come to."""
_IN_PROGRESS = 4
"""Samples in progress for each replica, as leases: one that it computes, one behind it, and as many to choose from. A
lease is a batch, or several of a fast model: with fewer samples, it would be sent many small ones.
"""


class ReplicaDispatcher:
    """The way to replicas of a model.

    Args:
        room: How many replicas there are, and what makes the host that holds them.
        choice: Chooses batches; its model is asked what may share one, and never loaded.
        prefetcher: Looks at media before it is sent.
        events: Hears of answers and failures.
        max_retries: How often a request is asked again after a transient failure.
        limits: What scheduling goes by.
        name: What to call the model in messages.
        meter: Reserves for every lease under the caps of the run; ``None``: there are none.
        clock: Gives seconds.
    """

    def __init__(  # noqa: PLR0913  (its settings, its receiver, and a clock that tests replace)
        self,
        room: Room,
        choice: BatchChoice,
        prefetcher: Prefetcher,
        events: Events,
        *,
        max_retries: int,
        limits: LeaseLimits,
        name: str = "the model",
        meter: Meter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_replicas = room.n_replicas
        self._meter = meter
        self._admitted: dict[tuple[int, int], Admission] = {}  # by replica and lease
        self._is_short = False
        if meter is not None:
            meter.on_freed(self._give_again)
        self._name = name
        self._of = "" if name == "the model" else f" of {name}"
        self._choice = choice
        self._prefetcher = prefetcher
        self._events = events
        self._max_retries = max_retries
        self._limits = limits
        self._clock = clock
        self._sizes: dict[int, BatchSizes] = {}
        self._scale = CommonScale(choice.sizes().scale)
        self._leases: Leases[Joined] = Leases(self._most, limits, clock)
        self._asked: defaultdict[int, dict[int, list[Joined]]] = defaultdict(dict)  # by replica, then by lease
        self._later: list[tuple[float, int, list[PendingRequest]]] = []
        self._n_later = 0
        self._changed = threading.Condition()
        self._sending = threading.RLock()
        self._is_begun = self._is_closed = self._was_ready = False
        self._images = ImageWriters(events.answered)
        self._host = room.make_host(
            HostListener(self._ready, self._computed, self._lost, self._failed, self._loading, self._gone)
        )

    @property
    def keeps_busy(self) -> int:
        """The number of samples in progress that keeps all replicas busy. It grows with the batches and leases."""
        largest = self._largest()
        if largest is None:
            return 1024 * self._n_replicas
        with self._changed:
            lease = max(largest, self._leases.worth_sending)
        return max(64, 32 * largest, _IN_PROGRESS * lease * self._n_replicas)

    @property
    def floor(self) -> int:
        """The least number of samples that they need: for the batches that they compute and for the next ones."""
        if self._choice.takes_all:
            return 2 * self._n_replicas * max(1, self._choice.largest_own)
        return 2 * self._n_replicas * (self._largest() or 1)

    def state(self) -> str:
        """Return the state of the replicas, in a few words."""
        with self._changed:
            totals = self._leases.totals()
            n_ready = self._leases.n_ready
            n_waiting = self._leases.n_waiting
        facts = [f"{n_ready:,}/{self._n_replicas:,} replicas"]
        facts += [f"{totals['utilisation']:.0%} busy"] if n_ready else []
        facts.append(f"{n_waiting:,} queued")
        if totals["n_lost"]:
            facts.append(f"{totals['n_lost']:,} lost, {totals['n_returned']:,} asked again")
        return ", ".join(facts)

    def history(self) -> Mapping[str, Any]:
        """The largest batch so far, whether memory ran out, and how the replicas fared."""
        with self._changed:
            records = self._leases.records()
            totals = dict(self._leases.totals())
            summaries = [sizes.summary() for sizes in self._sizes.values()]
        whole: dict[str, Any] = {
            "planned": self._n_replicas,
            **{name: round(value, 6) for name, value in totals.items()},
        }
        if len(records) <= _RECORDED_SLOTS:
            whole["slots"] = [
                {name: round(value, 3) if isinstance(value, float) else value for name, value in asdict(one).items()}
                for one in records
            ]
        return {
            "batch_size": {
                "largest": max((one["largest"] for one in summaries), default=0),
                "ran_out_of_memory": any(one["ran_out_of_memory"] for one in summaries),
            },
            "replicas": whole,
        }

    def add(self, asked: Sequence[PendingRequest]) -> None:
        """Take requests."""
        chosen, failed = self._choice.choose(asked)
        with self._changed:
            for group, key, length in chosen:
                self._leases.add(group, key, length)
        for group in failed:
            self._events.answered(group)

    def poke(self, *, is_quiet: bool) -> None:
        """Start the replicas when there is something to ask, and give leases to those that are free."""
        with self._changed:
            is_first = not self._is_begun and self._leases.n_waiting > 0 and not self._is_closed
            numbers = [self._leases.join(slot) for slot in range(self._n_replicas)] if is_first else []
            self._is_begun = self._is_begun or is_first
        if numbers:
            threading.Thread(target=self._watch, name="polymeter-replicas", daemon=True).start()
        for slot, number in enumerate(numbers):
            self._host.start(number, slot)
        self._give(is_quiet=is_quiet)

    def close(self) -> None:
        """Free the replicas."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._host.close()
        self._images.drain(CLOSE_S)
        self._images.close()

    def _most(self, slot: int, key: Hashable, longest: int) -> int | None:
        return self._choice.most(self._sizes_of(slot), key, longest)

    def _sizes_of(self, slot: int) -> BatchSizes:
        """The batch sizes of one slot: each learns for itself, as GPUs may differ, or be shared."""
        sizes = self._sizes.get(slot)
        if sizes is None:
            sizes = self._sizes[slot] = self._choice.sizes(self._scale)
        return sizes

    def _largest(self) -> int | None:
        with self._changed:
            return self._choice.largest(self._scale)

    def _give(self, *, is_quiet: bool) -> None:
        with self._changed:
            if self._is_closed or self._is_short or (self._meter is not None and self._meter.is_closed):
                return
            given = self._leases.give(is_partial_fine=is_quiet)
        for lease in given:
            requests = [one.for_model for group in lease.items for one in group]
            self._prefetcher.prepare_encoded(requests, partial(self._media_ready, lease))

    def _media_ready(self, lease: Lease[Joined], failures: list[Response | None]) -> None:
        """Send a lease, without requests that cannot be prepared. Leases are sent one at a time: they must reach a
        replica in the order that scheduling knows, which shows the requests that were being computed at a death.
        """
        with self._sending:
            self._send(lease, failures)

    def _send(self, lease: Lease[Joined], failures: list[Response | None]) -> None:
        with self._changed:
            if self._is_closed or not self._leases.sent(lease):
                return
            for one, failure in zip((one for group in lease.items for one in group), failures, strict=True):
                one.response = failure
            groups = [rest for group in lease.items if (rest := [one for one in group if one.response is None])]
        groups, admitted = self._affordable(groups)
        with self._changed:
            if admitted is not None:
                self._admitted[lease.replica, lease.number] = admitted
            self._asked[lease.replica][lease.number] = groups
            at_once = self._choice.at_once(self._sizes_of(lease.slot), lease.key, longest_of(lease.items))
            self._changed.notify_all()  # somebody may be overdue some time
        if not groups:
            self._computed(lease.replica, Computed(lease.number, ()))
            return
        work = Work(lease.number, [[one.request for one in group] for group in groups], lease.batch_size, at_once)
        self._host.send(lease.replica, work)

    def _affordable(self, groups: list[Joined]) -> tuple[list[Joined], Admission | None]:
        """Reserve for a lease; what the caps have no room for now is queued again. Nothing waits here: this may be the
        thread that hears of the answers which make room.
        """
        if self._meter is None or not groups:
            return groups, None
        n_freed = self._meter.n_freed
        admitted = self._meter.admit(groups, waits=False)
        if admitted.later:
            self.add([one for group in admitted.later for one in group])
        if not admitted.groups:
            with self._changed:
                self._is_short = self._meter.n_freed == n_freed
        return admitted.groups, admitted

    def _give_again(self) -> None:
        with self._changed:
            self._is_short = False
        self._give(is_quiet=False)
        self._events.answered([])

    def _loading(self, number: int) -> None:
        with self._changed:
            self._leases.loading(number)
            self._changed.notify_all()  # it may be overdue some time

    def _ready(self, number: int) -> None:
        with self._changed:
            self._was_ready = self._leases.ready(number) or self._was_ready
        self._give(is_quiet=False)
        self._events.answered([])  # so that the scheduler says whether more is to come

    def _computed(self, number: int, computed: Computed) -> None:
        worked_s = sum(seconds for _, seconds in computed.timings) if computed.timings else None
        with self._changed:
            lease = self._leases.answered(number, computed.lease, worked_s)
            if lease is None:  # from a replica that was taken for lost
                return
            groups = self._asked[number].pop(computed.lease)
            admitted = self._admitted.pop((number, computed.lease), None)
            sizes, longest = self._sizes_of(lease.slot), longest_of(lease.items)
            for n_at_once, seconds in computed.timings:
                sizes.computed(lease.key, n_at_once, seconds)
            smaller = 0
            if computed.did_not_fit is not None:
                smaller = sizes.did_not_fit(lease.key, computed.did_not_fit, longest)
        if smaller:
            self._events.note(f"Replica {lease.slot}{self._of}: {did_not_fit(computed.did_not_fit or 0, smaller)}")
        asked = [one for group in groups for one in group]
        for one, records in zip(asked, computed.shown, strict=False):
            for part, record in zip(one.request.media(), records, strict=True):
                if record is not None:
                    part.record_sent(record)
        self._ask_again(settle(asked, computed.responses, self._max_retries, self._events), n_asked=len(asked))
        self._give(is_quiet=False)
        self._hand_on([one for group in lease.items for one in group if one.response is not None])
        if self._meter is not None and admitted is not None:
            self._meter.computed(admitted, computed.responses)

    def _ask_again(self, again: list[PendingRequest], *, n_asked: int) -> None:
        """Queue requests again; after a while when all of a lease failed transiently: a wrapper that calls a server
        itself should not storm it.
        """
        if not again:
            return
        delay_s = pause_s(again, n_asked=n_asked)
        if not delay_s:
            self.add(again)
            return
        with self._changed:
            self._n_later += 1
            heapq.heappush(self._later, (self._clock() + delay_s, self._n_later, again))
            self._changed.notify_all()

    def _hand_on(self, answered: list[PendingRequest]) -> None:
        """Report answers, which writes them down; images are encoded for that on other threads."""
        sizes = sizes_of_images(answered)
        if not sizes:
            self._events.answered(answered)
            return
        with self._changed:
            self._choice.learn_sizes(sizes)
        self._images.put(answered)
        self._events.answered([])  # so that the next leases are given meanwhile

    def _lost(self, number: int, reason: str) -> None:
        with self._changed:
            if self._is_closed:
                return
            loss = self._leases.lost(number, reason)
            if loss is None:
                return
            self._asked.pop(number, None)
            lost = [self._admitted.pop(key) for key in [*self._admitted] if key[0] == number]
            fresh = self._leases.join(loss.slot) if loss.may_restart else None
            is_over = self._leases.n_alive == 0
        if self._meter is not None:
            for admitted in lost:
                self._meter.lost(admitted)
        text = f"Replica {loss.slot}{self._of} was lost: {reason}"
        back = f" Others take over {count(loss.n_returned, 'request')}." if loss.n_returned else ""
        n_losses = self._limits.losses_in_a_row
        then = "" if fresh is not None else f" It is not restarted after {n_losses} losses in a row."
        self._events.note(f"{text}{back}{then}")
        given_up = [one for group in loss.given_up for one in group]
        for one in given_up:
            error = ModelError(
                f"Replicas were lost {self._limits.deaths} times while computing this request; the last time: {reason}"
            )
            one.response = Response.failed(error)
        if given_up:
            self._events.answered(given_up)
        if is_over:
            self._events.gone(f"No replica of {self._name} is left. {text}")
            return
        if fresh is not None:
            self._host.start(fresh, loss.slot)
        self._give(is_quiet=False)
        self._events.answered([])

    def _failed(self, number: int, error: BaseException) -> None:
        with self._changed:
            is_first = not self._was_ready and not self._is_closed
        if is_first:
            self._events.failed(error)
        else:  # others could load it: perhaps this GPU is full
            self._lost(number, f"it could not load the model: {error}")

    def _gone(self, reason: str) -> None:
        with self._changed:
            if self._is_closed:
                return
        self._events.gone(reason)

    def _watch(self) -> None:
        """End replicas that are overdue, and ask again what was to wait."""
        while True:
            with self._changed:
                if self._is_closed:
                    return
                overdue = self._leases.overdue()
                again = []
                while self._later and self._later[0][0] <= self._clock():
                    again += heapq.heappop(self._later)[2]
                if not overdue and not again:
                    times = [self._leases.next_deadline(), self._later[0][0] if self._later else None]
                    next_s = min((one for one in times if one is not None), default=None)
                    self._changed.wait(None if next_s is None else max(0.0, next_s - self._clock()))
                    continue
            for number in overdue:
                self._end_overdue(number)
            if again:
                self.add(again)
                self._events.answered([])

    def _end_overdue(self, number: int) -> None:
        """End a replica that takes too long. Where none has ever loaded the model, the run ends: the next one would
        take as long.
        """
        limit = f"{self._limits.deadline_s:g} s (--lease-timeout)"
        with self._changed:
            is_loading, is_first = self._leases.is_loading(number), not self._was_ready
        said = self._host.last_words(number) if is_loading else ""
        self._host.kill(number)
        if not is_loading:
            self._lost(number, f"it gave no answer within {limit}.")
        elif not is_first:
            self._lost(number, f"it did not load the model within {limit}.{said}")
        else:
            self._events.gone(
                f"A replica{self._of} did not load the model within {limit}, and no other one has. If the model only "
                f"takes longer, continue with a larger --lease-timeout.{said}"
            )
