"""Collection of pairs of answers from run folders: selection of samples and pairs of runs, and the parts for the
judge.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path
from typing import Any

from polymeter.analysis.comparison.comparability import Finding, check_allowed, refuse, run_findings, task_findings
from polymeter.analysis.comparison.runs import ComparedRun, read_runs
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.request import Tags
from polymeter.core.settings.arguments import Names, names_of
from polymeter.judge.prompts import PAIR_RUBRIC
from polymeter.judge.reply import shown
from polymeter.reading.reasoning import without_reasoning
from polymeter.reading.stored import samples_as_read, tags_of_task
from polymeter.report.formatting import count, listing
from polymeter.store.exports.export import read_samples
from polymeter.store.media import media_path
from polymeter.tasks.pairs.file import AnswerPair, PairsHeader, StoredParts

MEDIA = "media"
"""The folder beside a file of pairs that holds their images."""
_IRRELEVANT = frozenset({"judge", "code", "model"})
"""Allowed differences between runs if their answers are compared, not their scores."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Pairs of answers.

    Attributes:
        head: The first line of their file.
        pairs: The pairs.
        images: The images in them: file by name.
        n_possible: The number of pairs without ``max_pairs``.
    """

    head: PairsHeader
    pairs: tuple[AnswerPair, ...]
    images: Mapping[str, Path]
    n_possible: int

    @property
    def n_requests(self) -> int:
        """The number of requests to the judge: two for each pair of different answers."""
        return 2 * sum(not pair.is_same for pair in self.pairs)

    @property
    def n_characters(self) -> int:
        """The approximate number of characters of text in these requests, without the question itself."""
        judged = (pair for pair in self.pairs if not pair.is_same)
        return 2 * sum(len(part.get("text", "")) for pair in judged for part in _all_parts(pair))

    def copy_images(self, folder: Path) -> None:
        """Copy the images into a folder."""
        for name, source in self.images.items():
            target = folder / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


@dataclass(slots=True)
class _AnswersOfRun:
    """The answers of a run's model to the samples of a task, as parts, and its prompts."""

    answers: dict[str, StoredParts] = field(default_factory=dict)
    prompts: dict[str, StoredParts] = field(default_factory=dict)
    clusters: dict[str, str | None] = field(default_factory=dict)
    n_unseen: int = 0


def collect(
    paths: Sequence[Path],
    *,
    rubric: str = "",
    tasks: Names = (),
    allow: Collection[str] = (),
    limit: int | None = None,
    max_pairs: int | None = None,
    seed: int = 0,
) -> Collected:
    """Collect the pairs of answers of some runs to the samples that all of them have answered.

    Args:
        paths: The run folders, at least two.
        rubric: The criteria for a better answer; default: those of ``judge.prompts``.
        tasks: Only tasks whose names match one of these patterns.
        allow: Allowed differences besides the model, as for ``compare``.
        limit: The most samples of each task; the first ones are used.
        max_pairs: The most pairs, spread evenly over the pairs of runs and drawn from the samples at random.
        seed: For drawing.

    Raises:
        PlanError: if there is nothing to compare, or more than the model differs.
    """
    check_allowed(allow)
    if len(paths) < 2:
        raise PlanError("A comparison needs at least two runs.", hint="Name a second run folder.")
    runs = read_runs(paths)
    names = _tasks(runs, names_of(tasks, "tasks"))
    warnings = list(
        dict.fromkeys(text for other in runs[1:] for text in _allowed_findings(runs[0], other, names, allow))
    )
    images: dict[str, Path] = {}
    samples: list[tuple[str, str]] = []
    found: dict[tuple[str, str], _AnswersOfRun] = {}
    for task in names:
        for run in runs:
            found[run.name, task] = _answers(run, task, images, with_prompts=run is runs[0])
        own = [found[run.name, task] for run in runs]
        shared = [name for name in own[0].answers if all(name in other.answers for other in own[1:])]
        samples += [(task, name) for name in shared[:limit]]
        warnings += _left_out(task, runs, own, len(shared))
    if not samples:
        raise PlanError(
            f"{listing(run.name for run in runs)} have no sample that all answered with a text or an image.",
            hint="A judge cannot see answers to log-probability requests." if names else "",
        )
    chosen, n_possible = _chosen_pairs(len(runs), len(samples), max_pairs, seed)
    pairs = tuple(_pair(number, runs[i], runs[j], *samples[row], found) for number, (i, j, row) in enumerate(chosen))
    shown = {part["image"] for pair in pairs for part in _all_parts(pair) if "image" in part}
    head = PairsHeader(
        tuple(run.name for run in runs),
        tuple(run.model for run in runs),
        rubric.strip() or PAIR_RUBRIC,
        len(pairs),
        bool(shown),
        tuple(warnings),
    )
    kept = {name: path for name, path in images.items() if name in shown}
    return Collected(head, pairs, kept, n_possible)


def _tasks(runs: Sequence[ComparedRun], patterns: Sequence[str]) -> list[str]:
    """Return the tasks that all runs have, in the order of the first."""
    names = [name for name in runs[0].tasks if all(name in run.tasks for run in runs)]
    if not names:
        raise PlanError(f"{listing(run.name for run in runs)} have no task in common.")
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"They have {listing(names)}."
            raise PlanError(f"The runs have no task {pattern!r} in common.", where="--tasks", hint=hint)
    return [name for name in names if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _allowed_findings(
    first: ComparedRun, other: ComparedRun, tasks: Sequence[str], allow: Collection[str]
) -> list[str]:
    """Return the differences between two runs besides the model; refuse misleading ones."""
    findings: list[Finding] = [*run_findings(first, other)]
    for task in tasks:
        findings += task_findings(first, other, task, is_unpaired=False, is_told_settings=True)
    return refuse([finding for finding in findings if finding.kind not in _IRRELEVANT], first, other, allow)


def _answers(run: ComparedRun, task: str, images: dict[str, Path], *, with_prompts: bool) -> _AnswersOfRun:
    """Return the answers of a run, and add the files of images by the names that parts give them."""
    own = _AnswersOfRun()
    folder = run.folder.media
    tags = tags_of_task(run.manifest, task)
    for sample in samples_as_read(read_samples(run.folder, task), run.manifest, task):
        exchanges = [exchange for exchange in sample["exchanges"] if exchange["role"] == "model"]
        if not exchanges:
            continue
        # Of repeats of one prompt, the first answer counts. Of rounds, the last one counts, and its prompt contains the
        # earlier ones.
        sent = [(exchange["request"] or {}).get("messages") for exchange in exchanges]
        exchange = exchanges[0 if all(one == sent[0] for one in sent) else -1]
        parts = [part for output in exchange["response"]["outputs"] for part in _of_output(run, tags, output, images)]
        if not parts:
            continue
        name = str(sample["id"])
        own.answers[name] = parts
        own.clusters[name] = None if sample["cluster"] is None else str(sample["cluster"])
        if with_prompts:
            own.prompts[name], is_whole = _prompt((exchange["request"] or {}).get("messages") or (), folder, images)
            if not is_whole:
                own.n_unseen += 1
    return own


def _of_output(
    run: ComparedRun, tags: Tags | None, output: Mapping[str, Any], images: dict[str, Path]
) -> Iterator[Mapping[str, str]]:
    text = output.get("text")
    if text is not None:
        yield {"text": without_reasoning(str(text), tags)}
    for name in output.get("images") or ():
        yield _image(str(name), run.folder.media, images)


def _prompt(
    messages: Sequence[Mapping[str, Any]], folder: Path, images: dict[str, Path]
) -> tuple[list[Mapping[str, str]], bool]:
    """Return a prompt as parts, and whether all of it can be shown."""
    parts: list[Mapping[str, str]] = []
    is_whole = True
    for number, message in enumerate(messages):
        if len(messages) > 1:
            parts.append({"text": f"{chr(10) if number else ''}[{message['role']}]\n"})
        is_answer = message["role"] == "assistant"  # of an earlier round
        for part in message["parts"]:
            if "text" in part:
                text = str(part["text"])
                parts.append({"text": shown(text) if is_answer else text})
                continue
            kind, medium = next(iter(part.items()))
            name = medium.get("file") if isinstance(medium, Mapping) else None
            if kind == "image" and name and media_path(folder, str(name)).is_file():
                parts.append(_image(str(name), folder, images))
            else:
                parts.append({"text": f"[{kind} that is not shown]"})
                is_whole = False
    return parts, is_whole


def _image(name: str, folder: Path, images: dict[str, Path]) -> Mapping[str, str]:
    place = f"{MEDIA}/{Path(name).name}"
    images.setdefault(place, media_path(folder, name))
    return {"image": place}


def _left_out(task: str, runs: Sequence[ComparedRun], own: Sequence[_AnswersOfRun], n_shared: int) -> Iterator[str]:
    known = {name for answers in own for name in answers.answers}
    if len(known) > n_shared:
        without = [
            f"{count(len(known) - len(answers.answers), 'sample')} in {run.name}"
            for run, answers in zip(runs, own, strict=True)
            if len(answers.answers) < len(known)
        ]
        yield f"{task}: without an answer: {listing(without)}; only the {n_shared:,} that all answered are judged."
    if own[0].n_unseen:
        yield (
            f"{task}: the judge does not see all of {count(own[0].n_unseen, 'prompt')}: video and audio are not shown, "
            "nor images that the run did not keep."
        )


def _chosen_pairs(n_runs: int, n_samples: int, most: int | None, seed: int) -> tuple[list[tuple[int, int, int]], int]:
    """Return the pairs of runs to judge on each sample, in the order of samples, and the number of possible pairs.

    A limited number is spread over the pairs of runs, neighbours first. So all runs are connected, and the numbers of
    samples of two pairs differ by at most one.

    Raises:
        PlanError: if so few pairs cannot connect all runs.
    """
    # The pairs of runs by distance: a chain through all runs comes first.
    couples = sorted(combinations(range(n_runs), 2), key=lambda couple: (couple[1] - couple[0], couple))
    n_possible = len(couples) * n_samples
    if most is None or most >= n_possible:
        return [(i, j, row) for row in range(n_samples) for i, j in sorted(couples)], n_possible
    if most < n_runs - 1:
        raise PlanError(
            f"{count(most, 'pair')} cannot connect {n_runs} runs.", where="--max-pairs", hint=f"At least {n_runs - 1}."
        )
    draw = random.Random(f"pairwise {seed}")
    orders = [draw.sample(range(n_samples), n_samples) for _ in couples]
    rounds = ((i, j, order[turn]) for turn in range(n_samples) for (i, j), order in zip(couples, orders, strict=True))
    chosen = [next(rounds) for _ in range(most)]
    return sorted(chosen, key=lambda entry: (entry[2], entry[0], entry[1])), n_possible


def _pair(
    number: int,
    first: ComparedRun,
    second: ComparedRun,
    task: str,
    sample: str,
    found: Mapping[tuple[str, str], _AnswersOfRun],
) -> AnswerPair:
    a, b = found[first.name, task], found[second.name, task]
    with_prompts = next(answers for (_, name), answers in found.items() if name == task)
    return AnswerPair(
        f"{number}",
        task,
        sample,
        with_prompts.clusters[sample],
        first.name,
        second.name,
        with_prompts.prompts[sample],
        (a.answers[sample], b.answers[sample]),
    )


def _all_parts(pair: AnswerPair) -> Iterator[Mapping[str, str]]:
    for parts in (pair.prompt, *pair.answers):
        yield from parts
