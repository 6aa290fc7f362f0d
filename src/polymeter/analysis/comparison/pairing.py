"""Pairs of samples of two runs whose benchmarks name their samples differently: by what the models were asked, or by
their places.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from polymeter.analysis.comparison.runs import BY_ID, ComparedRun, read_runs
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.text.codec import compact_json
from polymeter.report.formatting import count, listing
from polymeter.store.reading.outcomes import SampleOutcome

BY_PROMPT = "prompt"
BY_ORDER = "order"
PAIRINGS = (BY_ID, BY_PROMPT, BY_ORDER)
OPTION = "--pair-by"


def check_pairing(rule: str) -> None:
    """Check the name of a rule.

    Raises:
        PlanError: if it is unknown.
    """
    if rule not in PAIRINGS:
        hint = did_you_mean(rule, PAIRINGS) or f"Known: {listing(PAIRINGS)}."
        raise PlanError(f"Samples cannot be paired by {rule!r}.", where=OPTION, hint=hint)


def pair_samples(first: ComparedRun, other: ComparedRun, tasks: Collection[str]) -> None:
    """Have a run name its samples, by its rule, as the first one names those that they are compared with.

    Equal prompts, as of repeats, are paired in their order. A sample without a partner gets a name that no sample of
    the first run has.

    Args:
        first: A run.
        other: The run whose samples get other names.
        tasks: Tasks of both.

    Raises:
        PlanError: if samples are to be paired by their places, and the runs have different numbers of them.
    """
    rule = other.pair_by
    for task in tasks if rule != BY_ID else ():
        own, theirs = other.stored(task), first.stored(task)
        if rule == BY_ORDER:
            if len(own) != len(theirs):
                raise PlanError(
                    f"{task}: {first.name} has {count(len(theirs), 'sample')} and {other.name} {len(own):,}: their "
                    "order does not pair them.",
                    where=OPTION,
                    hint=f"If they were asked the same, add {OPTION} {BY_PROMPT}.",
                )
            names = {one.id: its.id for one, its in zip(own, theirs, strict=True)}
        else:
            by_prompt = dict(zip(_keys(first, task, theirs), (its.id for its in theirs), strict=True))
            keys = _keys(other, task, own)
            names = {
                one.id: by_prompt.get(key, f"{one.id} of {other.name}") for one, key in zip(own, keys, strict=True)
            }
        other.rename(task, names)


def paired_names(paths: Sequence[Path], task: str, rule: str) -> list[Mapping[str, str]]:
    """Return for each run but the first the names of its samples, by id, under which they are compared.

    Args:
        paths: Run folders.
        task: A task of all of them.
        rule: What pairs samples: one of ``PAIRINGS``. By ``id`` no sample has another name.

    Raises:
        PlanError: if the rule is unknown, or does not pair the samples of these runs.
        StorageError: if a run folder cannot be read.
    """
    check_pairing(rule)
    first, *others = read_runs(paths)
    for run in others:
        run.pair_by = rule
        pair_samples(first, run, [task])
    return [run.names.get(task, {}) for run in others]


def other_pairing(rule: str) -> str:
    """Return a sentence on the rule that may pair samples of which this one pairs none."""
    if rule == BY_ID:
        return f"If both were asked the same under different names, add {OPTION} {BY_PROMPT}."
    if rule == BY_PROMPT:
        return f"If both have the same rows in the same order, add {OPTION} {BY_ORDER}."
    return ""


def prompt_of(request: Any) -> tuple[Any, Any]:
    """Return the messages of a stored request and its choices."""
    given = request or {}
    return given.get("messages"), given.get("ask", {}).get("continuations")


def _keys(run: ComparedRun, task: str, outcomes: Sequence[SampleOutcome]) -> Iterator[tuple[str, int]]:
    """Yield the content of each sample's prompt, with the number of equal ones before it."""
    requests = run.requests(task, {one.id: one.request for one in outcomes if one.request})
    seen: Counter[str] = Counter()
    for one in outcomes:
        # Nothing was asked about a sample without a request, so that no prompt pairs it.
        key = _content(requests[one.id]) if one.id in requests else json.dumps([run.name, one.id])
        yield key, seen[key]
        seen[key] += 1


def _content(request: Any) -> str:
    """The texts and media of a prompt, wherever they stand in it, and its choices: their arrangement may differ among
    formats, and is compared after samples are paired.
    """
    messages, choices = prompt_of(request)
    parts = [part for message in messages or () for part in message["parts"]]
    texts = " ".join(" ".join(str(part["text"]) for part in parts if "text" in part).split())
    media = sorted(compact_json(part) for part in parts if "text" not in part)
    return compact_json([texts, media, choices])
