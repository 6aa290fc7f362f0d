"""Tasks made of lists, for tests of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polymeter.core.content import Image, Text
from polymeter.core.guest_context import current_role_client
from polymeter.core.media.showing import NOTHING_STATED, Showing
from polymeter.core.model import Model
from polymeter.core.options import RunOptions
from polymeter.core.records.progress import Silence
from polymeter.core.request import Generate, Message, Origin, Request
from polymeter.core.role_client import RoleClient
from polymeter.core.rows import RowFunctions
from polymeter.core.settings.needs import Needs
from polymeter.core.task import (
    ReduceContext,
    Result,
    Rollout,
    RolloutSteps,
    Sample,
    SampleStatus,
    Score,
    ScoredRow,
    Task,
    TaskSpec,
)
from polymeter.run.execution import RunOutcome
from polymeter.run.plan.plan import Plan
from polymeter.run.plan.selection import SelectedTasks
from polymeter.run.reuse.opening import open_reuse
from polymeter.run.session import run_plan
from polymeter.store.folder import RunFolder


@dataclass
class DocSamples:
    """Samples over a list of rows."""

    task: str
    docs: Sequence[dict[str, Any]]

    def __len__(self) -> int:
        return len(self.docs)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self.docs)))]
        return Sample(self.task, str(index), index, dict(self.docs[index]))


class ListTask:
    """A task over rows with ``question`` and ``answer``; play and score may be replaced."""

    def __init__(
        self,
        docs: Sequence[dict[str, Any]],
        *,
        name: str = "list",
        play: Callable[[Sample], RolloutSteps] | None = None,
        score: Callable[[Sample, Rollout, RoleClient], Score] | None = None,
        is_guest: bool = False,
        is_thread_safe: bool = False,
        roles: Iterable[str] = (),
        source: str = "v1",
        showing: Showing = NOTHING_STATED,
    ) -> None:
        self.spec = TaskSpec(name, "list", Path(f"{name}.yaml"), {}, source)
        self.needs = Needs(roles=frozenset(roles))
        self.samples = DocSamples(name, docs)
        self.is_guest = is_guest
        self.is_thread_safe = is_thread_safe
        self.fingerprint = f"docs:{len(docs)}"
        self.score_digest = f"score:{source}"
        self.num_fewshot = 0
        self.notes: tuple[str, ...] = ()
        self.batch_size: int | None = None
        self.n_reduced = 0
        self.showing = showing
        self._play = play
        self._score = score

    def play(self, sample: Sample) -> RolloutSteps:
        if self._play is not None:
            return (yield from self._play(sample))
        yield ask(sample.doc["question"], sample)
        return None

    def score(self, sample: Sample, played: Rollout) -> Score:
        if self._score is not None:
            return self._score(sample, played, current_role_client())
        text = played.responses[0].text
        return Score({("exact_match", "none"): float(text == sample.doc["answer"])}, sample.doc["answer"], text)

    def reduce(self, rows: Iterable[ScoredRow], context: ReduceContext) -> list[Result]:
        self.n_reduced += 1
        totals: dict[tuple[str, str], list[Any]] = {}
        for row in rows:
            if row.status is SampleStatus.OK and row.score is not None:
                for key, value in row.score.values.items():
                    totals.setdefault(key, []).append(value)
        return [Result(m, f, sum(values) / len(values), len(values)) for (m, f), values in totals.items()]

    def finish(self, results: Sequence[Result], report_path: Path) -> None:
        return None

    def as_task(self) -> Task:
        """The record that the engine plays."""
        return Task(
            spec=self.spec,
            needs=self.needs,
            samples=self.samples,
            rollout=self.play,
            score=self.score,
            reduce=self.reduce,
            finish=self.finish,
            row_functions=RowFunctions(lambda index: self.samples[index].full_doc()),
            parameters=(Generate(),),
            fingerprint=self.fingerprint,
            score_digest=self.score_digest,
            is_guest=self.is_guest,
            is_thread_safe=self.is_thread_safe,
            batch_size=self.batch_size,
            num_fewshot=self.num_fewshot,
            notes=self.notes,
            showing=self.showing,
        )


def ask(text: str, sample: Sample | None = None, *, image: Any = None, **settings: Any) -> Request:
    """A request for text."""
    parts = (Text(text),) if image is None else (image if isinstance(image, Image) else Image(image), Text(text))
    origin = Origin(sample.task, sample.id, "test", sample.index) if sample else None
    return Request((Message("user", parts),), Generate(**settings), origin)


def docs(n: int) -> list[dict[str, Any]]:
    """Rows with questions and answers."""
    return [{"question": f"q{number}", "answer": f"a{number}"} for number in range(n)]


def answer_of(request: Request) -> str:
    """The right answer to a question of ``docs``."""
    return request.text.replace("q", "a")


def run_tasks(
    tasks: Sequence[ListTask],
    model: Model,
    folder: Path,
    *,
    roles: Mapping[str, Model] | None = None,
    progress: Any = None,
    **options: Any,
) -> RunOutcome:
    """Run tasks as ``run.run`` does after planning."""
    selection = SelectedTasks(
        tuple(task.spec for task in tasks), layout=tuple(("task", task.spec.name, 0) for task in tasks)
    )
    plan = Plan(
        model,
        None,
        tuple(task.spec.name for task in tasks),
        selection,
        RunOptions.make({"output": folder, **options}),
        roles or {},
        dict.fromkeys(roles or {}),
        tuple(task.as_task() for task in tasks),
    )
    open_reuse(plan, folder, progress or Silence())
    return run_plan(plan, RunFolder(folder), progress or Silence())
