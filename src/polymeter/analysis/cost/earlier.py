"""Samples of a task that earlier runs asked, and what these show of a model's tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import linear_regression
from typing import Any

from polymeter.analysis.cost.estimating import Seen
from polymeter.analysis.cost.observing import Tiers, observed
from polymeter.core.errors import PolymeterError, count
from polymeter.core.records.usage import MODEL_ROLE
from polymeter.core.text.codec import parse_json
from polymeter.prices.tokens.texts import TextRule
from polymeter.report.formatting import one_line
from polymeter.store.folder import RunFolder, open_folder
from polymeter.store.journal import Journal
from polymeter.store.reading.run_folders import find_runs

_EXCHANGES = 200
_FEWEST_TEXTS = 20
_FEWEST_TOKENS_APART = 5
_SPREAD = 0.15
"""Texts of one language and kind differ by so much in their characters per token."""
_USAGE_INPUT = 0
"""The place of the tokens of the prompt among the counts that a journal keeps of an output."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run that may show what a task needs.

    Attributes:
        folder: Its folder.
        manifest: The content of its ``run.json``.
    """

    folder: RunFolder
    manifest: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The name of its model."""
        return one_line(str((self.manifest.get("model") or {}).get("name") or "unknown"))

    @property
    def identity(self) -> Any:
        """The identity of its model."""
        return (self.manifest.get("identity") or {}).get("model")

    def entry(self, task: str) -> Mapping[str, Any] | None:
        """The entry of a task in its manifest; ``None``: it does not have the task."""
        return next((one for one in self.manifest.get("tasks") or () if one.get("name") == task), None)

    @property
    def options(self) -> Mapping[str, Any]:
        """Its options that can change an answer."""
        return (self.manifest.get("identity") or {}).get("options") or {}


def earlier_runs(places: Sequence[Path], but: Path | None = None) -> list[EarlierRun]:
    """Read the runs in some folders, the latest first. Those that cannot be read are left out.

    Args:
        places: Run folders, or folders that contain some.
        but: A run folder to leave out.

    Raises:
        PlanError: if a folder is missing, or contains no run.
    """
    found = []
    for path in find_runs(places):
        if but is not None and path.resolve() == but.resolve():
            continue
        with suppress(PolymeterError):
            folder = open_folder(path)
            if folder.journal.exists():
                found.append(EarlierRun(folder, folder.read_manifest()))
    return sorted(found, key=lambda run: str(run.manifest.get("started") or ""), reverse=True)


def seen_earlier(
    task: str,
    fingerprint: str,
    identity: Any,
    options: Mapping[str, Any],
    roles: Sequence[str],
    runs: Sequence[EarlierRun],
    tiers: Tiers,
) -> Seen | None:
    """Read the samples of a task in the earlier run that shows most: of the same model and options if there is one,
    else of any.

    Args:
        task: The name of the task.
        fingerprint: The fingerprint of its data.
        identity: The identity of this run's model.
        options: The options of this run that can change an answer.
        roles: The further roles of this run.
        runs: The earlier runs, the latest first.
        tiers: The rates of this run.
    """
    candidates = [(run, entry) for run in runs if (entry := run.entry(task)) is not None]
    for run, entry in sorted(candidates, key=lambda one: (one[0].identity != identity, one[0].options != options)):
        with suppress(PolymeterError):
            samples = observed(run.folder, task, tiers, counts_reused=True)
            if not samples:
                continue
            is_same = run.identity == identity
            who = "this model" if is_same else run.model
            return Seen(
                samples,
                f"Estimated from {count(len(samples), 'sample')} that {who} answered in {run.folder.path}",
                is_same_model=is_same,
                repeats=times_asked(options) / times_asked(run.options),
                has_judges=not roles or bool(run.manifest.get("roles")),
                has_same_rows=entry.get("dataset_fingerprint") == fingerprint,
                at_a_time=_at_a_time(run),
            )
    return None


def times_asked(options: Mapping[str, Any]) -> int:
    """Return the number of times that options have each question asked.

    Args:
        options: Options that can change an answer; those with their default may be missing.
    """
    return int(options.get("repeats") or 1) * max(int(options.get("permute_choices") or 1), 1)


def _at_a_time(run: EarlierRun) -> float | None:
    """The requests that it answered at a time, on average; ``None``: unknown."""
    parts = run.manifest.get("sessions") or ()
    seconds = sum(float(part.get("seconds") or 0) for part in parts)
    model_s = sum(float(part.get("model_ms") or 0) for part in parts) / 1000
    return max(model_s / seconds, 1.0) if seconds and model_s else None


def learned_text_rule(identity: Any, runs: Sequence[EarlierRun]) -> TextRule:
    """Learn how many tokens a model makes of a text, from the prompts without media in earlier runs of it; the default
    if these are few.

    Args:
        identity: The identity of the model.
        runs: The earlier runs.
    """
    plain = TextRule()
    pairs: list[tuple[float, float]] = []
    for run in runs:
        if run.identity == identity and len(pairs) < _EXCHANGES:
            with suppress(PolymeterError):
                pairs += islice(_suggested_and_sent(run, plain), _EXCHANGES - len(pairs))
    suggested, sent = [one for one, _ in pairs], [other for _, other in pairs]
    if len(pairs) < _FEWEST_TEXTS or max(suggested) < _FEWEST_TOKENS_APART + min(suggested):
        return plain
    factor, template = linear_regression(suggested, sent)
    if factor <= 0:
        return plain
    return TextRule(factor=factor, spread=_SPREAD, template=max(template, 0.0))


def _suggested_and_sent(run: EarlierRun, plain: TextRule) -> Iterator[tuple[float, float]]:
    """Of prompts without media, the tokens that their characters suggest and those that the model counted."""
    with closing(Journal(run.folder.journal)) as journal:
        for task in journal.task_ids:
            for _, role, _, request, response in journal.exchanges(task):
                texts = [] if role != MODEL_ROLE or request is None else _texts_of(request)
                sent = _sent_tokens(response) if texts else None
                if sent:
                    yield sum(plain.of(text).expected for text in texts), float(sent)


def _texts_of(request: str) -> list[str]:
    """The texts of a stored request; none if it has media."""
    messages = parse_json(request).get("messages") or ()
    parts = [part for message in messages for part in message.get("parts") or ()]
    return [] if any("text" not in part for part in parts) else [part["text"] for part in parts]


def _sent_tokens(response: str) -> int | None:
    outputs: Sequence[Any] = parse_json(response).get("outputs") or ()
    counts: Sequence[int | None] = outputs[0].get("usage") or () if len(outputs) == 1 else ()
    return counts[_USAGE_INPUT] if counts else None
