"""The dispatcher to replicas, over a host whose replicas are what the test makes of them."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Image
from polymeter.core.errors import DataError, PlanError
from polymeter.core.records.shown_media import ShownMedium
from polymeter.core.request import Error, Response
from polymeter.models.mock import MockBatch
from polymeter.run.dispatch.batch.choice import BatchChoice
from polymeter.run.dispatch.batch.size import BatchSizes
from polymeter.run.dispatch.replicas.hosts import Computed, HostListener, Room, Work
from polymeter.run.dispatch.replicas.leases import LeaseLimits
from polymeter.run.dispatch.replicas.replica_dispatcher import ReplicaDispatcher
from polymeter.run.schedule.running_samples import PendingRequest, RunningSample, RunningTask
from tests.helpers.heard import Heard
from tests.helpers.tasks import ListTask, ask, docs


class Host:
    """Replicas that do what a test says, when it says so."""

    def __init__(self, listener: HostListener) -> None:
        self.listener = listener
        self.started: list[tuple[int, int]] = []
        self.killed: list[int] = []
        self.sent: list[tuple[int, Work]] = []
        self.is_closed = False
        self.has_killed = threading.Event()
        self.has_restarted = threading.Event()

    def start(self, number: int, slot: int) -> None:
        self.started.append((number, slot))
        if self.killed:
            self.has_restarted.set()

    def send(self, number: int, work: Work) -> None:
        self.sent.append((number, work))

    def kill(self, number: int) -> None:
        self.killed.append(number)
        self.has_killed.set()

    def last_words(self, number: int) -> str:
        return " Its last output:\nreading weights"

    def close(self) -> None:
        self.is_closed = True

    def answer(self, place: int = 0, response: Response | None = None, **more: Any) -> None:
        """Answer work: with its texts, unless something else is given."""
        number, work = self.sent.pop(place)
        requests = [one for group in work.groups for one in group]
        texts = [response or Response.of_text(one.text) for one in requests]
        self.listener.computed(number, Computed(work.lease, texts, **more))


class NoMedia:
    """Media that needs no look."""

    def __init__(self, failing: Sequence[str] = ()) -> None:
        self._failing = failing

    def prepare_encoded(self, requests: Any, ready: Callable[[list[Response | None]], None]) -> None:
        error = DataError("It is torn.")
        ready([Response.failed(error, "data") if one.text in self._failing else None for one in requests])


class Told:
    """What a dispatcher tells."""

    def __init__(self) -> None:
        self.answered: list[PendingRequest] = []
        self.notes: list[str] = []
        self.failures: list[BaseException] = []
        self.gone: list[str] = []
        self.is_gone = threading.Event()
        self.events = Heard(
            answered=self.answered.extend,
            failed=self.failures.append,
            note=self.notes.append,
            waiting=self.notes.append,
            gone=self._gone,
        )

    def _gone(self, reason: str) -> None:
        self.gone.append(reason)
        self.is_gone.set()

    @property
    def texts(self) -> list[str]:
        """The answers so far; of a failed request its error's kind."""
        return [one.response.error.kind if one.response.error else one.response.text for one in self.answered]


def requests(n: int) -> list[PendingRequest]:
    task = RunningTask(ListTask(docs(n)).as_task(), 0, range(n), "d")
    found = []
    for index in range(n):
        running = RunningSample(task, task.task.samples[index])
        found.append(running.ask("model", ask(f"q{index}")))
    return found


_MADE: list[ReplicaDispatcher] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No dispatcher watches its replicas longer than its test."""
    yield
    while _MADE:
        _MADE.pop().close()


def made(
    n_replicas: int = 2, batch_size: int = 2, prefetcher: Any = None, **limits: Any
) -> tuple[ReplicaDispatcher, Host, Told]:
    told, hosts = Told(), []

    def make_host(listener: HostListener) -> Host:
        hosts.append(Host(listener))
        return hosts[0]

    model = MockBatch(lambda request: pytest.fail("the model of this process is never asked"), batch_size=batch_size)
    dispatcher = ReplicaDispatcher(
        Room(n_replicas, make_host),
        BatchChoice(model, None),
        prefetcher or NoMedia(),
        told.events,
        max_retries=2,
        limits=LeaseLimits(lease_s=0.0, **limits),
    )
    _MADE.append(dispatcher)
    return dispatcher, hosts[0], told


def test_replicas_start_with_the_first_request_and_share_what_there_is() -> None:
    dispatcher, host, told = made()
    dispatcher.poke(is_quiet=True)
    assert host.started == []
    dispatcher.add(requests(4))
    dispatcher.poke(is_quiet=True)
    assert host.started == [(0, 0), (1, 1)]
    host.listener.ready(0)
    host.listener.ready(1)
    assert [number for number, _ in host.sent] == [0, 1]
    host.answer()
    host.answer()
    assert sorted(told.texts) == ["q0", "q1", "q2", "q3"]
    dispatcher.close()
    assert host.is_closed


def test_memory_that_runs_out_halves_the_batches_of_that_replica_alone() -> None:
    dispatcher, host, told = made(batch_size=4)
    dispatcher.add(requests(16))
    dispatcher.poke(is_quiet=False)
    host.listener.ready(0)
    number, work = host.sent.pop(0)
    host.listener.computed(number, Computed(work.lease, [None] * 4, did_not_fit=4))
    assert told.notes == ["Replica 0: A batch of 4 did not fit into memory: continuing with 2."]
    host.listener.ready(1)
    sizes = {number: {work.batch_size for at, work in host.sent[1:] if at == number} for number in (0, 1)}
    assert sizes == {0: {2}, 1: {4}}, "beside the lease that the first had already"
    while host.sent or dispatcher.state().split(", ")[-1] != "0 queued":
        dispatcher.poke(is_quiet=True)
        host.answer()
    assert sorted(told.texts) == sorted(f"q{number}" for number in range(16))
    assert dispatcher.history()["batch_size"]["ran_out_of_memory"]


def test_a_place_of_replicas_that_is_no_more_ends_the_run_unless_it_is_over() -> None:
    dispatcher, host, told = made()
    host.listener.gone("The cluster is gone.")
    assert told.gone == ["The cluster is gone."]
    dispatcher.close()
    host.listener.gone("It is still gone.")
    assert told.gone == ["The cluster is gone."]


def test_a_request_whose_media_is_broken_is_answered_without_a_replica() -> None:
    dispatcher, host, told = made(1, prefetcher=NoMedia(["q0", "q1", "q2"]))
    dispatcher.add(requests(4))
    dispatcher.poke(is_quiet=False)
    host.listener.ready(0)
    ((_, work),) = host.sent
    assert [[one.text for one in group] for group in work.groups] == [["q3"]]
    host.answer()
    assert sorted(told.texts) == ["data", "data", "data", "q3"]


def test_transient_failures_are_asked_again_and_in_the_end_told() -> None:
    dispatcher, host, told = made(1, batch_size=2)
    dispatcher.add(requests(2))
    dispatcher.poke(is_quiet=True)
    host.listener.ready(0)
    failed = Response(error=Error("transient", "busy", retryable=True))
    number, work = host.sent.pop()
    host.listener.computed(number, Computed(work.lease, [failed, Response.of_text("q1")]))
    assert told.texts == ["q1"]
    for _ in range(2):
        dispatcher.poke(is_quiet=True)
        host_sent = threading.Event()
        while not host.sent and not host_sent.wait(0.01):  # all of the lease failed: it waits a moment
            dispatcher.poke(is_quiet=True)
        host.answer(response=failed)
    assert told.texts == ["q1", "transient"]
    dispatcher.close()


def test_a_lost_replica_is_started_anew_and_late_answers_of_it_count_for_nothing() -> None:
    dispatcher, host, told = made(1, batch_size=2)
    dispatcher.add(requests(2))
    dispatcher.poke(is_quiet=True)
    host.listener.ready(0)
    late = host.sent[0]
    host.listener.lost(0, "its node died.")
    assert host.started == [(0, 0), (1, 0)]
    assert told.notes == ["Replica 0 was lost: its node died. Others take over 2 requests."]
    host.listener.computed(late[0], Computed(late[1].lease, [Response.of_text("late")] * 2))
    assert told.texts == []
    host.sent.clear()
    host.listener.ready(1)
    while host.sent:
        host.answer()
    assert told.texts == ["q0", "q1"]


def test_the_run_ends_when_no_replica_is_left() -> None:
    dispatcher, host, told = made(2, losses_in_a_row=2)
    dispatcher.add(requests(2))
    dispatcher.poke(is_quiet=True)
    for number in range(4):
        assert told.gone == []
        host.listener.lost(number, "no driver.")
    assert told.gone == ["No replica of the model is left. Replica 1 was lost: no driver."]
    assert told.notes[-1].endswith("It is not restarted after 2 losses in a row.")


def test_a_model_that_no_replica_can_load_ends_the_run_but_not_one_that_others_have_loaded() -> None:
    error = PlanError("There are no weights.")
    dispatcher, host, told = made()
    dispatcher.add(requests(2))
    dispatcher.poke(is_quiet=True)
    host.listener.failed(0, error)
    assert told.failures == [error]
    dispatcher, host, told = made()
    dispatcher.add(requests(2))
    dispatcher.poke(is_quiet=True)
    host.listener.ready(1)
    host.listener.failed(0, error)
    assert told.failures == []
    assert told.notes == ["Replica 0 was lost: it could not load the model: There are no weights."]


def test_who_gives_no_answer_in_time_is_ended() -> None:
    dispatcher, host, _ = made(1, deadline_s=0.02)
    dispatcher.add(requests(2))
    dispatcher.poke(is_quiet=True)
    host.listener.ready(0)
    assert host.has_killed.wait(30)
    assert host.killed == [0]
    dispatcher.close()


def test_a_replica_that_hangs_while_it_loads_ends_the_run_with_what_it_printed() -> None:
    dispatcher, host, told = made(1, deadline_s=0.01)
    dispatcher.add(requests(1))
    dispatcher.poke(is_quiet=True)
    host.listener.loading(0)
    assert told.is_gone.wait(30)
    assert told.gone == [
        "A replica did not load the model within 0.01 s (--lease-timeout), and no other one has. If the model only "
        "takes longer, continue with a larger --lease-timeout. Its last output:\nreading weights"
    ]
    assert host.killed == [0]
    dispatcher.close()


def test_one_of_several_that_hangs_while_it_loads_is_started_anew() -> None:
    dispatcher, host, told = made(2, deadline_s=0.01)
    dispatcher.add(requests(1))
    dispatcher.poke(is_quiet=False)
    host.listener.ready(0)
    host.listener.loading(1)
    assert host.has_killed.wait(30)
    assert host.has_restarted.wait(30)
    assert (host.killed, host.started[2:]) == ([1], [(2, 1)])
    assert told.gone == []
    assert told.notes[0].startswith("Replica 1 was lost: it did not load the model within 0.01 s (--lease-timeout).")
    dispatcher.close()


def test_a_replica_that_waits_for_room_is_not_overdue() -> None:
    dispatcher, host, told = made(2, deadline_s=0.01)
    dispatcher.add(requests(1))
    dispatcher.poke(is_quiet=False)  # nobody says that the first one loads: it has no place yet
    host.listener.loading(1)
    assert told.is_gone.wait(30)
    assert host.killed == [1]
    dispatcher.close()


def test_what_keeps_replicas_busy_grows_with_them() -> None:
    few, many = made(2)[0], made(100)[0]
    assert (few.keeps_busy, many.keeps_busy) == (64, 800)
    assert (few.floor, many.floor) == (8, 400)


class Counted(BatchSizes):
    """Batch sizes that count how often anybody looks at the largest of them."""

    n_looks = 0

    @property
    def scale(self) -> int | None:
        Counted.n_looks += 1
        return 2

    @scale.setter
    def scale(self, value: int | None) -> None:
        return None


class Unwalked(defaultdict[int, Any]):
    """A dictionary that nobody may walk through."""

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("walked through")

    def items(self) -> Any:
        raise AssertionError("walked through")

    values = items


def test_what_keeps_replicas_busy_is_known_without_a_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polymeter.run.dispatch.batch.choice.BatchSizes", Counted)
    dispatcher, host, _ = made(50)
    dispatcher.add(requests(200))
    dispatcher.poke(is_quiet=False)
    for number, _ in host.started:
        host.listener.ready(number)
    assert len({number for number, _ in host.sent}) == 50
    looked = Counted.n_looks
    assert (dispatcher.keeps_busy, dispatcher.floor) == (400, 200)
    assert Counted.n_looks <= looked + 2


def test_what_a_lost_replica_was_asked_is_known_without_a_look_at_what_all_were() -> None:
    dispatcher, host, told = made(2)
    dispatcher.add(requests(8))
    dispatcher.poke(is_quiet=False)
    dispatcher._asked = Unwalked(dict)
    host.listener.ready(0)
    host.listener.ready(1)
    host.listener.lost(0, "its node died.")
    assert 0 not in dispatcher._asked
    assert told.notes == ["Replica 0 was lost: its node died. Others take over 4 requests."]


def test_an_image_is_held_until_it_is_answered() -> None:
    dispatcher, host, told = made(1, batch_size=1)
    (one,) = requests(1)
    one.request = ask("?", image=Image(pil.new("RGB", (2, 2))))
    dispatcher.add([one])
    dispatcher.poke(is_quiet=True)
    host.listener.ready(0)
    assert next(host.sent[0][1].groups[0][0].images()) is next(one.request.images())
    host.answer()
    assert told.texts == ["?"]


def test_what_replicas_have_shown_is_known_here() -> None:
    dispatcher, host, told = made(1)
    task = RunningTask(ListTask(docs(1)).as_task(), 0, range(1), "d")
    image = Image(b"", key="k")
    dispatcher.add([RunningSample(task, task.task.samples[0]).ask("model", ask("q0", image=image))])
    dispatcher.poke(is_quiet=True)
    host.listener.ready(0)
    dispatcher.poke(is_quiet=True)
    record = ShownMedium("image", sent={"width": 10})
    host.answer(shown=[(record,)])
    assert told.texts == ["q0"]
    assert image.sent is record
