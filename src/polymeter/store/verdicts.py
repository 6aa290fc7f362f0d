"""The verdicts of people on samples: ``verdicts.jsonl`` beside the run.

The file only grows (``store.appending``). A verdict is a score, a label, or an exclusion with its reason; another line
undoes it. Verdicts are never part of the journal, of a run's identity or of its results: a command uses them only on
request. Of several verdicts on the same sample and metric, the last that was not undone counts.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from polymeter.core.errors import PlanError
from polymeter.core.machine.files import replacing
from polymeter.core.machine.places import stored_at
from polymeter.core.records.human_scores import HumanScores
from polymeter.store.appending import append, now, read_lines

FILE = "verdicts.jsonl"
LONGEST_REASON, LONGEST_LABEL, LONGEST_NAME = 2_000, 200, 60
Kind = Literal["score", "label", "exclude"]
KINDS: tuple[Kind, ...] = ("score", "label", "exclude")
_WHAT = "the verdicts"
_TEXTS = ("id", "task", "sample")


@dataclass(frozen=True, slots=True)
class HumanVerdict:
    """A person's verdict on a sample.

    Attributes:
        id: Its own id.
        task: The task.
        sample: The id of the sample.
        kind: ``score``, ``label`` or ``exclude``.
        values: The scores by metric (``metric`` or ``metric,filter``): of a score one, of a label all that follow.
        label: The label; empty for other kinds.
        reason: The reason of an exclusion; else empty.
        answer: The digest of the answer that it is about (``answer_digest``). Empty for an exclusion: it is about the
            sample.
        by: The author's name; may be empty.
        at: When, as ISO 8601 in UTC.
    """

    id: str
    task: str
    sample: str
    kind: Kind
    values: Mapping[str, float] = field(default_factory=dict)
    label: str = ""
    reason: str = ""
    answer: str = ""
    by: str = ""
    at: str = ""

    def is_about(self, answer: str) -> bool:
        """Check if it holds for an answer with this digest."""
        return self.kind == "exclude" or not self.answer or self.answer == answer


@dataclass(frozen=True, slots=True)
class Undo:
    """A line that undoes a verdict: who did it, and when."""

    by: str
    at: str


@dataclass(frozen=True, slots=True)
class VerdictFile:
    """The content of a run's file of verdicts.

    Attributes:
        path: The file.
        verdicts: All verdicts, the oldest first, also those that were undone.
        undone: The undone ones, by id.
        unfinished: The numbers of lines whose writer was killed.
        unreadable: The numbers of the other lines that are not verdicts.
    """

    path: Path
    verdicts: tuple[HumanVerdict, ...]
    undone: Mapping[str, Undo]
    unfinished: tuple[int, ...] = ()
    unreadable: tuple[int, ...] = ()

    @property
    def valid(self) -> Iterator[HumanVerdict]:
        """The verdicts that were not undone, the oldest first."""
        return (one for one in self.verdicts if one.id not in self.undone)

    def scores(self, answers: Mapping[str, Mapping[str, str]] | None = None) -> dict[str, HumanScores]:
        """Return what the valid verdicts come to, by task.

        Args:
            answers: The digests of the present answers, by task and sample. A verdict on another answer is left out.
        """
        found: dict[str, HumanScores] = {}
        for one in self.valid:
            if answers is not None and not one.is_about(answers.get(one.task, {}).get(one.sample, one.answer)):
                continue
            own = found.setdefault(one.task, HumanScores())
            if one.kind == "exclude":
                own.excluded[one.sample] = one.reason
            else:
                own.values[one.sample] = {**own.values.get(one.sample, {}), **one.values}
        return found

    def outdated(self, answers: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
        """Return the task and id of each sample with a valid verdict on another answer than the present one."""
        others = (one for one in self.valid if not one.is_about(answers.get(one.task, {}).get(one.sample, one.answer)))
        return [*dict.fromkeys((one.task, one.sample) for one in others)]

    def samples(self, task: str) -> dict[str, set[Kind]]:
        """Return the kinds of the valid verdicts on each sample of a task."""
        found: dict[str, set[Kind]] = {}
        for one in self.valid:
            if one.task == task:
                found.setdefault(one.sample, set()).add(one.kind)
        return found


def read_verdicts(run: Path) -> VerdictFile:
    """Return the verdicts of a run. Lines that cannot be read are passed over, and counted.

    Raises:
        StorageError: if the file cannot be read.
    """
    path = run / FILE
    verdicts: dict[str, HumanVerdict] = {}
    undone: dict[str, Undo] = {}
    unfinished: list[int] = []
    unreadable: list[int] = []
    for line in read_lines(path, _WHAT):
        entry = line.entry or {}
        if (verdict := _verdict(entry)) is not None:
            verdicts.setdefault(verdict.id, verdict)
        elif isinstance(entry.get("undone"), str):
            undone.setdefault(entry["undone"], Undo(str(entry.get("by") or ""), str(entry.get("at") or "")))
        else:
            (unfinished if line.is_unfinished else unreadable).append(line.number)
    return VerdictFile(path, tuple(verdicts.values()), undone, tuple(unfinished), tuple(unreadable))


def require_verdicts(run: Path) -> VerdictFile:
    """Return the verdicts of a run for a result that uses them.

    Raises:
        PlanError: if a line is not a verdict. An unfinished line is not an error: its verdict was never saved.
        StorageError: if the file cannot be read.
    """
    found = read_verdicts(run)
    if found.unreadable:
        raise PlanError(
            "This line is not a verdict, so the verdicts of this run are unknown.",
            where=f"{found.path}:{found.unreadable[0]}",
            hint="Fix the line, or delete it and give the verdict again in 'polymeter view'.",
        )
    return found


def give_verdict(run: Path, verdict: HumanVerdict) -> HumanVerdict:
    """Append a verdict, with an id and the time of its own.

    Raises:
        PlanError: if it has no value, label or reason, or is too long.
        StorageError: if it cannot be written.
    """
    reason, label = verdict.reason.replace("\r\n", "\n").strip(), verdict.label.strip()
    if verdict.kind == "exclude" and not reason:
        raise PlanError("An exclusion needs a reason.", hint="Write why this sample must not count.")
    if verdict.kind != "exclude" and not (verdict.values and all(map(math.isfinite, verdict.values.values()))):
        raise PlanError("A verdict needs a score, which is a finite number.")
    if verdict.kind == "label" and not label:
        raise PlanError("The label is empty.", hint="Choose a label.")
    if len(reason) > LONGEST_REASON or len(label) > LONGEST_LABEL:
        raise PlanError(f"A reason has at most {LONGEST_REASON:,} characters, and a label {LONGEST_LABEL}.")
    given = replace(
        verdict,
        id=uuid.uuid4().hex[:16],
        label=label,
        reason=reason,
        by=verdict.by.strip()[:LONGEST_NAME],
        at=now(),
    )
    append(run / FILE, {name: value for name, value in asdict(given).items() if value or name == "by"}, _WHAT)
    return given


def undo_verdict(run: Path, verdict: str, by: str = "") -> None:
    """Undo a verdict: append that it no longer counts. The verdict itself stays in the file.

    Raises:
        PlanError: if the run has no such verdict.
        StorageError: if it cannot be written.
    """
    if all(one.id != verdict for one in read_verdicts(run).verdicts):
        raise PlanError("This verdict does not exist.", where=str(run / FILE), hint="Reload the page.")
    append(run / FILE, {"undone": verdict, "by": by.strip()[:LONGEST_NAME], "at": now()}, _WHAT)


def keep_verdicts(run: Path, target: Path) -> None:
    """Copy the verdicts of a run beside a run that was scored with them, unless that has verdicts of its own.

    Raises:
        StorageError: if they cannot be copied.
    """
    source, copy = run / FILE, target / FILE
    with stored_at(copy, f"Copying {_WHAT}"):
        if not copy.exists():
            with replacing(copy, binary=True) as file:
                file.write(source.read_bytes())


def unknown_samples(scores: Mapping[str, HumanScores], known: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
    """Return the task and id of each sample with a verdict that a run does not have.

    Args:
        scores: The verdicts by task.
        known: The ids of the run's samples by task.
    """
    return [
        (task, sample)
        for task, own in scores.items()
        for sample in dict.fromkeys([*own.excluded, *own.values])
        if sample not in known.get(task, ())
    ]


def _verdict(entry: Mapping[str, Any]) -> HumanVerdict | None:
    kind, values = entry.get("kind"), entry.get("values", {})
    if kind not in KINDS or not all(isinstance(entry.get(name), str) for name in _TEXTS):
        return None
    if not isinstance(values, dict) or not all(map(_is_number, values.values())):
        return None
    label, reason, answer, by, at = (str(entry.get(name) or "") for name in ("label", "reason", "answer", "by", "at"))
    if (kind == "exclude") == bool(values) or (kind == "label" and not label):
        return None
    numbers = {name: float(value) for name, value in values.items()}
    return HumanVerdict(entry["id"], entry["task"], entry["sample"], kind, numbers, label, reason, answer, by, at)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
