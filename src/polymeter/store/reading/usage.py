"""The usage of a run, summed from its journal: every answer in it counts once, in every part of the run, and so does
every failed try.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from polymeter.core.records.usage import COUNTS, MODEL_ROLE, ModelUsage, UsageByRole
from polymeter.core.text.codec import parse_json
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal

_TOKENS = 5
"""The number of counts that the journal keeps of an output: input, output, reasoning, cache read and written."""


def usage_of_run(folder: RunFolder, manifest: Mapping[str, Any]) -> dict[tuple[str, str], ModelUsage]:
    """The usage of a run so far; empty if it has no journal.

    Raises:
        JournalError: if the journal cannot be read.
    """
    if not folder.journal.exists():
        return {}
    with closing(Journal(folder.journal)) as journal:
        return usage_of_journal(journal, manifest)


def usage_of_journal(
    journal: Journal, manifest: Mapping[str, Any], only: Container[int | None] | None = None
) -> dict[tuple[str, str], ModelUsage]:
    """The usage of a run so far, by role and name of the model, the measured model first.

    Args:
        journal: Its journal.
        manifest: Its manifest, which has the names of its models.
        only: The parts of the run whose answers count; default: all.

    Raises:
        JournalError: if the journal cannot be read.
    """
    keeping = {number for number, part in journal.parts().items() if part.facts.get("usage_version")}
    sums: dict[tuple[str, str], _UsageSum] = {}
    for role, model, part, body in journal.all_answers():
        if only is not None and part not in only:
            continue
        if (role, model) not in sums:
            sums[role, model] = _UsageSum()
        try:
            counts = _counts(parse_json(body.decode()), keeps_all=part in keeping)
        except (ValueError, TypeError, LookupError, AttributeError):  # damaged, but it was a request too
            counts = (None,) * len(COUNTS)
        sums[role, model].add(counts)
    for role, model, n in journal.failed_tries():
        sums.setdefault((role, model), _UsageSum()).n_failed += n
    names = model_names(manifest)
    own_name = str((manifest.get("model") or {}).get("name") or "")
    found: dict[tuple[str, str], ModelUsage] = {}
    for (role, model), own in sorted(sums.items(), key=lambda one: (one[0][0] != MODEL_ROLE, one[0])):
        # A run has one measured model, whatever its fingerprint.
        name = own_name if role == MODEL_ROLE else names.get(role, {}).get(model)
        key = role, name or model or "unknown"
        found[key] = found.get(key, ModelUsage()) + own.usage()
    return found


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """The usage of one answer.

    Attributes:
        sample: The position of its sample in the task.
        role: The role of the model.
        usage: Its counts.
        latency_ms: The time that it took; ``None``: unknown.
        text: Its text, reasoning included.
    """

    sample: int
    role: str
    usage: ModelUsage
    latency_ms: float | None
    text: str


def usage_of_samples(journal: Journal, task: str) -> Iterator[AnswerUsage]:
    """The usage of each answer to the samples of a task, by sample; damaged answers are left out.

    Raises:
        JournalError: if the journal cannot be read.
    """
    keeping = {number for number, part in journal.parts().items() if part.facts.get("usage_version")}
    for sample, role, part, written in journal.sample_answers(task):
        try:
            body = parse_json(written.decode())
            one = _UsageSum()
            one.add(_counts(body, keeps_all=part in keeping))
            texts = [output.get(name) or "" for output in body["outputs"] for name in ("reasoning", "text")]
            yield AnswerUsage(sample, role, one.usage(), body.get("latency_ms"), "".join(texts))
        except (ValueError, TypeError, LookupError, AttributeError):
            continue


def tokens(usage: UsageByRole) -> dict[str, int]:
    """The tokens of all roles together, as ``usage`` in ``run.json`` has them; unknown ones count as 0."""
    return {
        "input_tokens": sum(own.prompt or 0 for own in usage.values()),
        "output_tokens": sum(own.output or 0 for own in usage.values()),
    }


class _UsageSum:
    """The sum over answers, in the order of ``COUNTS``: the known values of each, and how many answers have it."""

    def __init__(self) -> None:
        self.known: list[float] = [0] * len(COUNTS)
        self.n_known = [0] * len(COUNTS)
        self.n = self.n_failed = 0

    def add(self, counts: Iterable[float | None]) -> None:
        """Add one answer."""
        self.n += 1
        for place, count in enumerate(counts):
            if count is not None:
                self.known[place] += count
                self.n_known[place] += 1

    def usage(self) -> ModelUsage:
        """The sum."""
        known: dict[str, Any] = {name: self.known[place] for place, name in enumerate(COUNTS) if self.n_known[place]}
        unknown = {name: self.n - n for name, n in zip(COUNTS, self.n_known, strict=True) if n < self.n}
        if self.n_failed:
            known["failed"] = known.get("failed", 0) + self.n_failed
        if "audio_s" in known:
            known["audio_s"] = round(known["audio_s"], 3)
        return ModelUsage(**known, requests=self.n, unknown=unknown)


def _counts(answer: Mapping[str, Any], *, keeps_all: bool) -> tuple[float | None, ...]:
    """The counts of one answer, in the order of ``COUNTS``."""
    told: list[float | None] = [None] * _TOKENS
    n_images = 0
    for output in answer["outputs"]:
        n_images += len(output.get("images", ()))
        for place, count in enumerate(output.get("usage") or ()):
            if count is not None:
                told[place] = (told[place] or 0) + count
    whole, output_tokens, reasoning, read, written = told
    fresh = None if whole is None else max(whole - (read or 0) - (written or 0), 0)
    sent = answer.get("sent") or {}
    nothing = 0 if keeps_all else None
    images, audio_s = sent.get("images_sent", nothing), sent.get("audio_s", nothing)
    return fresh, read, written, output_tokens, reasoning, images, n_images, audio_s, nothing


def model_names(manifest: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The names of models in further roles, by role and fingerprint: those of the run, and of the runs whose answers it
    scored.
    """
    found = {role: dict(names) for role, names in ((manifest.get("scored_from") or {}).get("models") or {}).items()}
    for role, entry in (manifest.get("roles") or {}).items():
        spec = entry.get("spec") or {}  # runs of earlier versions have no name
        name = entry.get("name") or ":".join(str(spec[part]) for part in ("backend", "name") if spec.get(part))
        if name and entry.get("fingerprint"):
            found.setdefault(role, {})[entry["fingerprint"]] = str(name)
    return found
