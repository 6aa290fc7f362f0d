"""Playing samples: the worker's side. Drives the generators of tasks, scores what ended, writes the ends.

Everything here runs on worker threads; the driver hands over chunks of samples and receives what they ask or how they
ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from polymeter.core.damaged_rows import check_undamaged
from polymeter.core.errors import DataError, ErrorKind, PolymeterError, ScoreError, UnscoredError, boundary
from polymeter.core.guest_context import scoring_sample
from polymeter.core.identity import own_prompt_fingerprint, request_fingerprint
from polymeter.core.opened_files import Noted, is_own_file, noting
from polymeter.core.parts import Image
from polymeter.core.request import Error, OwnPrompt, Request, Response
from polymeter.core.stable_names import OWN_PROMPT_ROLE
from polymeter.core.task import Rollout, Sample, SampleStatus, Score, Task
from polymeter.guests.door import Door
from polymeter.store.journal import AnswerKey

MODEL_ROLE = "model"
REFUSED = "refused:"
"""Before the number of a judge's answer that was no verdict, among the lost verdicts of a sample."""
_CHUNK_TARGET_S = 0.02
_CHUNK_MOST = 256
_CHUNK_MOST_MEDIA = 16
_CHUNK_BYTES = 16 * 2**20
_SENT_COPIES = 4
"""The encoded bytes of an image, and its base64 alone and within the request's body, which are a third longer."""

_WAITS_AFTER = 4
_WAITS_SHARE = 0.5
_WAITS_S = 0.002


@dataclass(slots=True, eq=False)
class RunningTask:
    """A task of this run.

    Attributes:
        task: The open task.
        number: Its number in the journal.
        selected: Which of its samples are run.
        completion_digest: Under which its ended samples are kept.
        is_changed: Whether its sources changed since an earlier part of this run, so that other questions are no
            surprise.
        fast_chunk: How many samples share a thread hop; follows how long they take.
        may_overlap: Whether the user has asked for several scoring threads, so that scoring that waits may overlap.
        image_bytes: What an image of this task takes in memory, from those seen so far; before any was seen, an image
            of 1024x1024. Too small a guess would fill the memory before the first answer comes.
        n_images: How many were seen.
        decodes: Whether its images are seen to be decoded here, and not only sent.
        shared_files: Files that its hooks have opened and that belong to no row of their own: what a hook reads once
            and keeps, all later samples rest on.
        asks_judges: Whether its scoring is known to ask a judge, so that samples are scored one by one and wait
            together.
        scorers: What its scores were measured with, and in whose place, as scoring has reported it.
    """

    task: Task
    number: int
    selected: range
    completion_digest: str
    is_changed: bool = False
    fast_chunk: int = 16
    image_bytes: float = 4.0 * 2**20
    n_images: int = 0
    decodes: bool = False
    n_nondeterministic: int = 0
    shared_files: Noted = field(default_factory=dict)
    may_overlap: bool = False
    asks_judges: bool = False
    scorers: dict[tuple[str, str], None] = field(default_factory=dict)
    n_timed: int = 0
    waiting_share: float = 0.0
    score_s: float = 0.0

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.spec.name

    @property
    def is_text_only(self) -> bool:
        """Whether its requests carry no media."""
        return self.task.needs.modalities <= {"text"}

    @property
    def chunk(self) -> int:
        """How many samples share a thread hop: no more than whose images are few bytes, since the samples of a chunk
        begin together and what they hold is only known afterwards.
        """
        if self.is_text_only:
            return self.fast_chunk
        return max(1, min(self.fast_chunk, int(_CHUNK_BYTES / self.image_bytes)))

    @property
    def draws(self) -> bool:
        """Whether its answers are images."""
        return "generate_image" in self.task.needs.requests

    def weigh(self, request: Request | OwnPrompt) -> int:
        """About how many bytes a request's decoded media will take."""
        return int(sum(self._expected_bytes(image) or self.image_bytes for image in request.images()))

    def _expected_bytes(self, image: Image) -> int:
        """What one image will take if that is known: an endpoint's images are not decoded."""
        return image.expected_bytes() if self.decodes else image.held_bytes()

    def learn_image(self, request: Request | OwnPrompt) -> None:
        """Learn what an image takes: decoded, or as an endpoint is sent it."""
        for image in request.images():
            decoded = image.held_bytes()
            self.decodes = self.decodes or decoded > 0
            held = decoded or _SENT_COPIES * image.held_encoded_bytes()
            if held:
                self.n_images += 1
                self.image_bytes += max(0.1, 1 / self.n_images) * (held - self.image_bytes)

    @property
    def waits(self) -> bool:
        """Whether its scoring is seen to spend most of its time waiting and not computing, so that it gains from
        company.
        """
        return (
            self.may_overlap
            and self.n_timed >= _WAITS_AFTER
            and self.waiting_share > _WAITS_SHARE
            and self.score_s > _WAITS_S
        )

    def learn_waiting(self, wall_s: float, cpu_s: float) -> None:
        """Learn how much of a score's time is waiting."""
        self.n_timed += 1
        weight = 1 / min(self.n_timed, 8)
        share = 1 - cpu_s / wall_s if wall_s > 0 else 0.0
        self.waiting_share += weight * (share - self.waiting_share)
        self.score_s += weight * (wall_s - self.score_s)

    def learn(self, n_samples: int, seconds: float) -> None:
        """Adapt the chunk to what a thread hop took."""
        if self.task.needs.roles or self.asks_judges:
            self.fast_chunk = 1
            return
        fitting = int(_CHUNK_TARGET_S * n_samples / seconds) if seconds > 0 else _CHUNK_MOST
        most = _CHUNK_MOST if self.is_text_only else _CHUNK_MOST_MEDIA
        self.fast_chunk = max(1, min(most, (self.fast_chunk + fitting + 1) // 2))


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request on its way. ``waiter`` is set for a request made through an RoleClient, whose caller is waiting;
    ``batch_key`` by a dispatcher that makes batches.
    """

    running: RunningSample
    role: str
    request: Request | OwnPrompt
    fingerprint: str
    occurrence: int
    turn: int
    slot: int = 0
    tries: int = 0
    weight: int = 0
    response: Response | None = None
    waiter: threading.Event | None = None
    batch_key: Hashable = None

    @property
    def to_model(self) -> Request:
        """The request, which must be one that a model answers.

        Raises:
            TypeError: if it asks for a prompt of the model's own.
        """
        if isinstance(self.request, OwnPrompt):
            raise TypeError("Only a model on this machine has prompts of its own.")
        return self.request


@dataclass(slots=True, eq=False)
class RunningSample:
    """A sample between its first prompt and its end. ``held_bytes``: what the decoded images of its row take, which
    stay in memory until it ends, although their request was answered.
    """

    task: RunningTask
    sample: Sample
    generator: Any = None
    files: Noted = field(default_factory=dict)
    known: dict[AnswerKey, str] = field(default_factory=dict)
    used: dict[AnswerKey, int] = field(default_factory=dict)
    occurrences: dict[tuple[str, str], int] = field(default_factory=dict)
    turns: int = 0
    steps: int = 0
    responses: list[Response] = field(default_factory=list)
    waiting: list[PendingRequest] = field(default_factory=list)
    n_waiting: int = 0
    is_single: bool = True
    judge_calls: list[str] = field(default_factory=list)
    judge_rules: dict[int, str] = field(default_factory=dict)
    scorers: dict[tuple[str, str], None] = field(default_factory=dict)
    lost_verdicts: dict[str, str] = field(default_factory=dict)
    n_asking: int = 0
    held_bytes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def let_go(self) -> None:
        """Drop what an ended sample holds, so that its media is freed now and not when cycles are collected."""
        self.generator = None
        self.waiting = []
        self.responses = []
        self.known = {}

    def ask(self, role: str, request: Request | OwnPrompt, slot: int = 0) -> PendingRequest:
        """Number a request within this sample, and note the files that its media come from."""
        for medium in request.media():
            medium.note_files(self.files)
        mark = own_prompt_fingerprint() if isinstance(request, OwnPrompt) else request_fingerprint(request)
        with self.lock:
            occurrence = self.occurrences.get((role, mark), 0)
            self.occurrences[role, mark] = occurrence + 1
            self.turns += role != OWN_PROMPT_ROLE  # prompts are no turns: answers are numbered as without them
            turn = 0 if role == OWN_PROMPT_ROLE else self.turns
            return PendingRequest(self, role, request, mark, occurrence, turn, slot)


@dataclass(frozen=True, slots=True)
class EndedSample:
    """How a sample ended."""

    running: RunningSample
    status: SampleStatus
    score: Score | None = None
    error: Error | None = None
    returned: Any = None


@dataclass(frozen=True, slots=True)
class _Returned:
    """What a rollout that is over returned."""

    value: Any


@dataclass(slots=True)
class ChunkProgress:
    """What a chunk of samples came to: requests to ask, and ends. ``left`` are those not advanced yet: the chunk turned
    out to be too large to be advanced one after the other.
    """

    asked: list[PendingRequest] = field(default_factory=list)
    ended: list[EndedSample] = field(default_factory=list)
    left: Sequence[RunningSample] = ()


class RolloutWorker:
    """Advances samples.

    Args:
        door: The run's way into guests.
        make_asker: Gives a sample its RoleClient.
    """

    def __init__(self, door: Door, make_asker: Any) -> None:
        self._door = door
        self._make_asker = make_asker

    def begin(self, task: RunningTask, indices: range, known: Sequence[dict[AnswerKey, str]] | None) -> ChunkProgress:
        """Start samples and take what they ask first. A row that cannot be read fails alone.

        Args:
            task: Their task.
            indices: Which samples.
            known: For each, the answers that an earlier part of the run has.
        """
        progressed = ChunkProgress()
        running_samples = [RunningSample(task, sample) for sample in self._samples(task, indices, progressed)]
        if known is not None:
            for running in running_samples:
                running.known = known[running.sample.index - indices.start]
        for running in running_samples:
            running.generator = task.task.rollout(running.sample)
        return self.advance(running_samples, progressed)

    def _samples(self, task: RunningTask, indices: range, progressed: ChunkProgress) -> Sequence[Sample]:
        reading = f"Reading the data of task {task.name!r}"
        try:
            with boundary(DataError, reading):
                return [_undamaged(sample) for sample in task.task.samples[indices.start : indices.stop]]
        except PolymeterError:
            samples = []
            for index in indices:
                try:
                    with boundary(DataError, reading):
                        samples.append(_undamaged(task.task.samples[index]))
                except PolymeterError as error:
                    unread = RunningSample(task, Sample(task.name, str(index), index, {}))
                    progressed.ended.append(
                        EndedSample(unread, SampleStatus.ERROR, error=Error.from_exception(error, "data"))
                    )
            return samples

    def advance(
        self, running_samples: Sequence[RunningSample], progressed: ChunkProgress | None = None
    ) -> ChunkProgress:
        """Send samples what they wait for; take what they ask next, or score them."""
        progressed = progressed or ChunkProgress()
        if not running_samples:
            return progressed
        task, started, n_advanced = running_samples[0].task, time.perf_counter(), 0
        for running in running_samples:
            self._advance(running, progressed)
            n_advanced += 1
            if task.asks_judges:
                progressed.left = running_samples[n_advanced:]
                break
        task.learn(n_advanced, time.perf_counter() - started)
        return progressed

    def replay(self, running: RunningSample, recall: Callable[[Sequence[PendingRequest]], None]) -> EndedSample:
        """Play and score a sample over answers that are all there.

        Args:
            running: The sample, fresh.
            recall: Sets the stored answers of what is asked together; where there is none the sample fails.
        """
        progressed = ChunkProgress()
        running.generator = running.task.task.rollout(running.sample)
        self._advance(running, progressed)
        while not progressed.ended:
            recall(running.waiting)
            for asked in running.waiting:
                missing = Error("score", "The journal does not hold an answer that this sample's score rests on.")
                asked.response = asked.response or Response(error=missing)
            self._advance(running, progressed)
        return progressed.ended[0]

    def score(self, running: RunningSample, rollout: Rollout) -> Score:
        """Score a finished running.

        Raises:
            ScoreError: The task's own code failed.
            UnscoredError: A judge that it asked could not answer, or gave no verdict.
        """
        task, asker = running.task, self._make_asker(running)
        doing = f"Scoring a sample of task {task.name!r}"
        with (
            noting(running.files, is_own_file),
            self._guarded(task, running.sample.id, "score"),
            scoring_sample(asker),
            boundary(ScoreError, doing),
        ):
            wall, cpu = time.perf_counter(), time.thread_time()
            score = task.task.score(running.sample, rollout)
            if task.task.is_guest and not running.judge_calls:
                task.learn_waiting(time.perf_counter() - wall, time.thread_time() - cpu)
        task.asks_judges = task.asks_judges or bool(running.judge_calls)
        if running.lost_verdicts:
            raise UnscoredError(_why_unscored(running))
        if running.judge_calls:
            rules = tuple(running.judge_rules.get(number, "") for number in range(len(running.judge_calls)))
            score = replace(score, judge_calls=tuple(running.judge_calls), judge_rules=rules if any(rules) else ())
        return replace(score, scorers=tuple(running.scorers)) if running.scorers else score

    def _advance(self, running: RunningSample, progressed: ChunkProgress) -> None:
        failed = [
            asked.response
            for asked in running.waiting
            if asked.response is not None and asked.response.error is not None
        ]
        if failed:
            running.generator.close()
            error = failed[0].error
            status = SampleStatus.REFUSED if error is not None and error.kind == "refused" else SampleStatus.ERROR
            progressed.ended.append(EndedSample(running, status, error=error))
            return
        try:
            requests = self._next(running)
        except PolymeterError as error:
            kind: ErrorKind = "data" if isinstance(error, DataError) else "guest"
            progressed.ended.append(EndedSample(running, SampleStatus.ERROR, error=Error.from_exception(error, kind)))
            return
        if isinstance(requests, _Returned):
            progressed.ended.append(self._end(running, requests.value))
            return
        running.is_single = isinstance(requests, (Request, OwnPrompt))
        role = OWN_PROMPT_ROLE if isinstance(requests, OwnPrompt) else MODEL_ROLE
        try:
            # What is shown is identity, and may not be there; what task code puts in a request may have none.
            with boundary(DataError, f"Asking for a sample of task {running.task.name!r}"):
                asked_now: tuple[Request | OwnPrompt, ...] = (requests,) if running.is_single else tuple(requests)
                running.waiting = [running.ask(role, request, slot) for slot, request in enumerate(asked_now)]
        except PolymeterError as error:
            running.generator.close()
            progressed.ended.append(EndedSample(running, SampleStatus.ERROR, error=Error.from_exception(error, "data")))
            return
        running.n_waiting = len(running.waiting)
        if running.waiting:
            progressed.asked.extend(running.waiting)
        else:
            self._advance(running, progressed)

    def _next(self, running: RunningSample) -> Any:
        """What a rollout asks next, or what it ``_Returned``."""
        sent: Any = None
        if running.waiting:
            answers = tuple(asked.response for asked in running.waiting if asked.response is not None)
            is_prompt = running.waiting[0].role == OWN_PROMPT_ROLE
            # A prompt is no answer, and the hook goes on under the label of the step that asked for it.
            running.steps -= is_prompt
            running.responses.extend(() if is_prompt else answers)
            sent = answers[0] if running.is_single else answers
        elif running.steps:
            sent = ()
        running.steps += 1
        doing = f"Playing a sample of task {running.task.name!r}"
        with (
            noting(running.files, is_own_file),
            self._guarded(running.task, running.sample.id, step_label(running.steps)),
            boundary(ScoreError, doing),
        ):
            try:
                return running.generator.send(sent)
            except StopIteration as stop:
                # The value alone: an exception that a local variable holds makes a cycle with the frame of its own
                # traceback, which keeps the sample and its images in memory until a full collection.
                return _Returned(stop.value)

    def _end(self, running: RunningSample, returned: Any) -> EndedSample:
        try:
            score = self.score(running, Rollout(tuple(running.responses), returned))
        except UnscoredError as error:
            return EndedSample(
                running, SampleStatus.UNSCORED, error=Error.from_exception(error, "score"), returned=returned
            )
        except PolymeterError as error:
            # Code that goes on after a lost verdict fails for want of it: the judge's failure is the reason.
            status = SampleStatus.UNSCORED if running.lost_verdicts else SampleStatus.ERROR
            kind: ErrorKind = "data" if isinstance(error, DataError) else "score"
            return EndedSample(running, status, error=Error.from_exception(error, kind), returned=returned)
        return EndedSample(running, SampleStatus.OK, score, returned=returned)

    @contextmanager
    def _guarded(self, task: RunningTask, sample: str, hook: str) -> Iterator[None]:
        if not task.task.is_guest:
            yield
        elif task.task.is_thread_safe or (hook == "score" and task.waits):
            with self._door.hook_beside(task.name, sample, hook):
                yield
        else:
            with self._door.hook(task.name, sample, hook):
                yield


def _undamaged(sample: Sample) -> Sample:
    check_undamaged(sample.doc)
    return sample


def step_label(number: int) -> str:
    """The name of a rollout's step in seeds, counted from 1."""
    return f"running:{number}"


def _why_unscored(running: RunningSample) -> str:
    """Why a sample has no score: a judge that could not be asked comes before one that gave no verdict."""
    for call, why in running.lost_verdicts.items():
        if not call.startswith(REFUSED):
            return f"A judge could not be asked, so this sample has no score. {why}"
    return next(iter(running.lost_verdicts.values()))
