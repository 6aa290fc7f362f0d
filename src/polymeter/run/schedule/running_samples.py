"""Work in progress: the tasks of a run, their samples between the first prompt and the end, and the requests that these
wait for.

A running task also learns how its samples behave (how long they take, how large their images are, whether scoring
waits), which decides how many share a thread hop and how many may be in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from polymeter.core.acting.episodes import Act
from polymeter.core.content import Image, Part, Text, Video, recorded_apart
from polymeter.core.errors import DataError, ScoreError, boundary
from polymeter.core.identity import act_fingerprint, own_prompt_fingerprint, request_fingerprint
from polymeter.core.machine.opened_files import Noted
from polymeter.core.media.showing import Showing
from polymeter.core.names.stable_names import OWN_PROMPT_ROLE
from polymeter.core.records.human_scores import HumanScores
from polymeter.core.request import Error, Message, OwnPrompt, Request, Response, Step
from polymeter.core.task import Sample, SampleStatus, Score, Task
from polymeter.data.showing.row_subtitles import subtitles_of_row
from polymeter.run.finish.unscored import ValueCount
from polymeter.run.schedule.lost_verdicts import LostVerdict
from polymeter.store.journal import AnswerKey
from polymeter.store.wire import observation_mark

if TYPE_CHECKING:
    from polymeter.run.reuse.lookup import ReusedAnswer

MODEL_ROLE = "model"
LONGEST_CHUNK_S = 0.25
"""After so long the rest of a chunk is another chunk: what the first samples ask is on its way meanwhile."""
_CHUNK_TARGET_S = 0.02
_WALL_SHARE = 4
"""Of wall time a quarter counts as work. The rest may be waiting for the interpreter, which smaller chunks would only
make longer; a hook that sleeps or reads still makes its chunk smaller.
"""
_CHUNK_MOST = 256
_CHUNK_MOST_MEDIA = 16
_CHUNK_BYTES = 16 * 2**20
_SENT_COPIES = 4
"""The encoded bytes of an image, and its base64 alone and within the request's body, which are a third longer."""

Question = tuple[str, str, int]
"""A question that scoring asks, within its sample: the role of the model, the fingerprint of the request, and how often
it was asked before.
"""

Messages = tuple[Message, ...]
_NOTHING_KNOWN: Mapping[AnswerKey, str] = MappingProxyType({})
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
        human: The verdicts of people on its samples; ``None``: none are used.
        values: How many of its samples have a value, since its rows were read to their end; ``None``: they were not.
        reuse_key: Gives the key of a request, where answers of other runs may be reused.
        name: The task's name.
        playing: What its code is called inside to make a sample's requests; likewise ``asking``, for what a request
            shows, and ``scoring``.
        showing: What its model is shown of media; ``None``: nothing is stated.
        acts_by: The digest of its environment's identity, under which the journal keeps observations; empty: it has
            none.
        acts_with: The effect of its environment.
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
    human: HumanScores | None = None
    values: ValueCount | None = None
    reuse_key: Callable[[PendingRequest], str] | None = None
    n_timed: int = 0
    waiting_share: float = 0.0
    score_s: float = 0.0
    acts_by: str = ""
    acts_with: str = "pure"
    name: str = field(init=False)
    playing: boundary = field(init=False)
    asking: boundary = field(init=False)
    scoring: boundary = field(init=False)
    showing: Showing | None = field(init=False)

    def __post_init__(self) -> None:
        self.showing = self.task.showing or None
        self.name = self.task.spec.name
        self.playing = boundary(ScoreError, f"Running a sample of task {self.name!r}")
        self.asking = boundary(DataError, f"Asking for a sample of task {self.name!r}")
        self.scoring = boundary(ScoreError, f"Scoring a sample of task {self.name!r}")

    @property
    def is_text_only(self) -> bool:
        """True if its requests carry no media."""
        return self.task.needs.modalities <= {"text"}

    @property
    def chunk(self) -> int:
        """The number of samples that share a thread hop: few enough that their images are few bytes. The samples of a
        chunk begin together, and their memory is only known afterwards.
        """
        if self.is_text_only:
            return self.fast_chunk
        return max(1, min(self.fast_chunk, int(_CHUNK_BYTES / self.image_bytes)))

    @property
    def overlaps(self) -> bool:
        """True if its hooks may run at the same time."""
        return self.task.is_thread_safe or self.may_overlap

    @property
    def draws(self) -> bool:
        """True if its answers are images."""
        return "generate_image" in self.task.needs.requests

    def weigh(self, request: Step) -> int:
        """About how many bytes a request's decoded media will take."""
        return int(sum(self._expected_bytes(image) or self.image_bytes for image in request.images()))

    def _expected_bytes(self, image: Image) -> int:
        """Return the memory of one image if it is known: an endpoint's images are not decoded."""
        return image.expected_bytes() if self.decodes else image.held_bytes()

    def learn_image(self, request: Step) -> None:
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
        """True if its scoring is seen to spend most of its time waiting and not computing, so that it gains from
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

    def learn(self, n_samples: int, wall_s: float, cpu_s: float) -> None:
        """Adapt the chunk to what a thread hop took, without the wait for the lock."""
        if self.task.needs.roles or self.asks_judges:
            self.fast_chunk = 1
            return
        seconds = max(cpu_s, wall_s / _WALL_SHARE)
        fitting = int(_CHUNK_TARGET_S * n_samples / seconds) if seconds > 0 else _CHUNK_MOST
        most = _CHUNK_MOST if self.is_text_only else _CHUNK_MOST_MEDIA
        self.fast_chunk = max(1, min(most, (self.fast_chunk + fitting + 1) // 2))


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A request on its way. ``waiter`` is set for a request made through an RoleClient, whose caller is waiting;
    ``is_of_scorer`` for one that scoring has made in another process, where the sample is scored again once it is
    answered. ``batch_key`` is set by a dispatcher that makes batches. ``may_show``: whether it may carry media.
    ``unreadable``: why the stored answer cannot be read by the rules of this version, and is not asked for again.
    ``content_key``: the key of the answer in other runs; empty: it has none, or it is not known yet. ``reused``: the
    answer of another run that was taken.
    ``has_diverged``: whether an episode that was opened anew differs from before, so that its sample starts anew.
    """

    running: RunningSample
    role: str
    request: Step
    fingerprint: str
    occurrence: int
    turn: int
    tries: int = 0
    weight: int = 0
    response: Response | None = None
    waiter: threading.Event | None = None
    is_of_scorer: bool = False
    batch_key: Hashable = None
    may_show: bool = True
    unreadable: str = ""
    content_key: str = ""
    reused: ReusedAnswer | None = None
    has_diverged: bool = False

    def key(self, models: Mapping[str, str]) -> AnswerKey:
        """Under which the journal keeps its answer.

        Args:
            models: Fingerprint of the model in each role.
        """
        by = self.running.task.acts_by if isinstance(self.request, Act) else models[self.role]
        return AnswerKey(self.role, by, self.fingerprint, self.occurrence)

    @property
    def question(self) -> Question:
        """By which a sample whose scoring asks it again is given the same answer."""
        return self.role, self.fingerprint, self.occurrence

    @property
    def to_model(self) -> Request:
        """The request, which must be one that a model answers.

        Raises:
            TypeError: if it asks for a prompt of the model's own.
        """
        if not isinstance(self.request, Request):
            raise TypeError("Only a model on this machine has prompts of its own.")
        return self.request

    @property
    def for_model(self) -> Request | OwnPrompt:
        """The request, which must be one that a model sees.

        Raises:
            TypeError: if it is an act.
        """
        if isinstance(self.request, Act):
            raise TypeError("An environment acts, and not a model.")
        return self.request

    @property
    def act(self) -> Act:
        """The act, which it must be.

        Raises:
            TypeError: if it is a request.
        """
        if not isinstance(self.request, Act):
            raise TypeError("A model is asked, and not an environment.")
        return self.request


@dataclass(slots=True)
class EpisodeRecord:
    """The past of an episode, as far as it must be repeated to open it anew.

    Attributes:
        opening: The mark of its first observation.
        enacted: The acts that have changed its state: each with the mark of its observation and its fingerprint.
    """

    opening: str = ""
    enacted: list[tuple[Act, str, str]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class RunningSample:
    """A sample between its first prompt and its end. ``held_bytes``: what the decoded images of its row take, which
    stay in memory until it ends, although their request was answered. ``seat``: of several judges, the role of the one
    by whom it is being scored; empty: none is. ``trail``: what it asked, by fingerprint, and was answered, in order;
    empty unless it may be scored in another process. ``verdicts``: what its scoring was answered when it was tried
    before, in another process. ``asking_s``: for how long its scoring has waited for other models. ``n_unfinished``:
    how many of its answers ended inside their reasoning. ``under_rules``: the messages of its last request with media,
    and the same with the task's rules for showing them: repeats share their messages. ``episodes``: what its episodes
    have been through. ``attempt``: how many times it was started anew because an environment differed. ``tokens`` and
    ``work_ms``: what its answers have used so far, and for how long models and tools have worked on them; ``tokens`` is
    ``None`` if that of an answer is unknown.
    """

    task: RunningTask
    sample: Sample
    generator: Any = None
    files: Noted = field(default_factory=dict)
    known: Mapping[AnswerKey, str] = field(default_factory=lambda: _NOTHING_KNOWN)
    used: dict[AnswerKey, int] = field(default_factory=dict)
    occurrences: dict[tuple[str, str], int] = field(default_factory=dict)
    turns: int = 0
    steps: int = 0
    responses: list[Response] = field(default_factory=list)
    waiting: Sequence[PendingRequest] = ()
    n_waiting: int = 0
    is_single: bool = True
    judge_calls: list[str] = field(default_factory=list)
    judge_rules: dict[int, str] = field(default_factory=dict)
    scorers: dict[tuple[str, str], None] = field(default_factory=dict)
    n_unfinished: int = 0
    seat: str = ""
    lost_verdicts: dict[LostVerdict, str] = field(default_factory=dict)
    trail: list[tuple[str, Response]] = field(default_factory=list)
    verdicts: dict[Question, Response] = field(default_factory=dict)
    asking_s: float = 0.0
    n_asking: int = 0
    held_bytes: int = 0
    under_rules: tuple[Messages, Messages] = ((), ())
    lock: threading.Lock = field(default_factory=threading.Lock)
    episodes: dict[str, EpisodeRecord] = field(default_factory=dict)
    attempt: int = 0
    tokens: int | None = 0
    work_ms: float = 0.0

    @property
    def is_unreadable(self) -> bool:
        """True if it waits for an answer that is stored and cannot be read by the rules of this version."""
        return any(one.unreadable for one in self.waiting)

    def let_go(self) -> None:
        """Drop what an ended sample holds, so that its media is freed now and not when cycles are collected."""
        self.generator = None
        self.waiting = ()
        self.responses.clear()
        self.trail.clear()
        self.verdicts.clear()
        self.under_rules = ((), ())
        self.known = _NOTHING_KNOWN
        self.episodes.clear()

    def episode(self, label: str) -> EpisodeRecord:
        """The past of an episode."""
        return self.episodes.setdefault(label, EpisodeRecord())

    def observed(self, asked: PendingRequest) -> None:
        """Note an act that was answered, as far as it must be repeated to open its episode anew."""
        act = asked.act
        observation = None if asked.response is None else asked.response.outputs[0].observation
        if observation is None:
            return
        if act.call is None:
            self.episodes[act.episode] = EpisodeRecord(observation_mark(observation))
        elif act.effect == "local":
            self.episode(act.episode).enacted.append((act, observation_mark(observation), asked.fingerprint))

    def start_anew(self, sample: Sample, known: Mapping[AnswerKey, str]) -> None:
        """Begin the sample again, as one of the answers that are known.

        Args:
            sample: The sample, read anew: hooks may have changed its row.
            known: All answers of it that the journal has.
        """
        self.attempt += 1
        self.sample, self.known, self.used = sample, known, {}
        self.occurrences.clear()
        self.responses.clear()
        self.trail.clear()
        self.episodes.clear()
        self.waiting, self.is_single = (), True
        self.turns = self.steps = self.n_waiting = self.n_unfinished = 0
        self.tokens, self.work_ms = 0, 0.0
        self.under_rules = ((), ())

    def ask(self, role: str, request: Step) -> PendingRequest:
        """Number a request within this sample, and note the files that its media come from."""
        may_show = False
        if isinstance(request, Act):
            for image in request.scene.images:
                image.note_files(self.files)
        for medium in request.media():
            may_show = True
            medium.note_files(self.files)
        if may_show and role == MODEL_ROLE and self.task.showing is not None and isinstance(request, Request):
            request = self._under_rules(request, self.task.showing)
        mark = self._fingerprint(request)
        with self.lock:
            occurrence = self.occurrences.get((role, mark), 0)
            self.occurrences[role, mark] = occurrence + 1
            turn = 0
            if role != OWN_PROMPT_ROLE:  # prompts are not turns: answers are numbered as without them
                self.turns += 1
                turn = self.turns
            asked = PendingRequest(self, role, request, mark, occurrence, turn, may_show=may_show)
        if self.task.reuse_key is not None:  # here, on a worker's thread: it may read media
            asked.content_key = self.task.reuse_key(asked)
        return asked

    def _fingerprint(self, request: Step) -> str:
        if isinstance(request, Act):
            return act_fingerprint(request, self.attempt)
        return own_prompt_fingerprint() if isinstance(request, OwnPrompt) else request_fingerprint(request)

    def _under_rules(self, request: Request, showing: Showing) -> Request:
        """A request whose media carry the rules of the task and the run, with all that was read of them."""
        written, ruled = self.under_rules
        if written is not request.messages:
            subtitles = self._subtitles(request, showing)
            ruled = tuple(message_under_rules(message, showing, subtitles) for message in request.messages)
            self.under_rules = (request.messages, ruled)
            for part in (part for message in ruled for part in message.parts if isinstance(part, Video)):
                part.note_files(self.files)  # also those of its subtitles
        return replace(request, messages=ruled)

    def _subtitles(self, request: Request, showing: Showing) -> Iterator[Path | str | None] | None:
        """The subtitles of a request's videos, in their order; ``None``: none are shown."""
        rule = showing.video
        if rule is None or not rule.shows_subtitles:
            return None
        n_videos = sum(isinstance(medium, Video) for medium in request.media())
        return iter(subtitles_of_row(rule, self.sample.doc, self.task.task.media_folders, n_videos))


def message_under_rules(
    message: Message, showing: Showing, subtitles: Iterator[Path | str | None] | None = None
) -> Message:
    """Return a message whose media carry the rules of a task and a run; rules that they have already stay.

    Args:
        message: The message.
        showing: The rules.
        subtitles: The subtitles of each of its videos, in their order; ``None``: none are shown.
    """
    return replace(message, parts=tuple(_part_under_rules(part, showing, subtitles) for part in message.parts))


def _part_under_rules(part: Part, showing: Showing, subtitles: Iterator[Path | str | None] | None) -> Part:
    if isinstance(part, Text):
        return part
    own = next(subtitles) if subtitles is not None and isinstance(part, Video) else None
    rule = showing.of(part.modality)
    if part.rule is not None or rule is None:
        return part
    # A judge may be shown the same without a rule.
    return recorded_apart(part, rule=rule) if own is None else recorded_apart(part, rule=rule, subtitles=own)


@dataclass(frozen=True, slots=True)
class WrittenEnd:
    """The record of a sample that another process has scored, as text for the journal.

    Attributes:
        score: Its score; ``None`` if it has none.
        row: Its row, as scoring has left it.
        returned: What its rollout returned; ``None`` if that cannot be written exactly.
    """

    score: str | None
    row: str
    returned: str | None


@dataclass(frozen=True, slots=True)
class EndedSample:
    """The end of a sample. ``written``: its written record, if another process has scored it."""

    running: RunningSample
    status: SampleStatus
    score: Score | None = None
    error: Error | None = None
    returned: Any = None
    written: WrittenEnd | None = None
