"""The usage of a run, summed from its journal: every answer in it counts once, in every part of the run, and so does
every failed try.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from polymeter.core.records.rates import RATES, SNAPSHOT, Rates, at_tier
from polymeter.core.records.usage import COUNTS, MACHINE, MODEL_ROLE, PRICED_APART, Cost, ModelUsage, UsageByRole
from polymeter.core.text.codec import parse_json
from polymeter.store.folder import RunFolder
from polymeter.store.journal import Journal, Session
from polymeter.store.reading.reused import REUSED

_DECIMALS = 10
_HOUR_S = 3600
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
    parts = journal.parts()
    keeping = {number for number, part in parts.items() if part.facts.get("usage_version")}
    rates = _RatesOfParts(parts)
    sums: dict[tuple[str, str], _UsageSum] = {}
    for role, model, part, body in journal.all_answers():
        if only is not None and part not in only:
            continue
        if (role, model) not in sums:
            sums[role, model] = _UsageSum()
        try:
            answer = parse_json(body.decode())
            if REUSED in answer:
                sums[role, model].add_reused(answer)
                continue
            counts = _counts(answer, keeps_all=part in keeping)
            billed = _Billed.of_answer(answer)
        except (ValueError, TypeError, LookupError, AttributeError):  # damaged, but it was a request too
            counts, billed = (None,) * len(COUNTS), _Billed()
        sums[role, model].add(counts, billed, rates.of(model, part, billed.tier))
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
    for role, cost in _machine_costs(manifest).items():
        for key in [key for key in found if key[0] == role][-1:]:
            found[key] = replace(found[key], cost=cost)
    return found


def _machine_costs(manifest: Mapping[str, Any]) -> dict[str, Cost]:
    """The cost of the machine in all parts of a run, by the first role that it computed a model for. That of a part
    that was killed is unknown.
    """
    found: dict[str, list[Cost]] = {}
    for record in (*((manifest.get("scored_from") or {}).get("sessions") or ()), *(manifest.get("sessions") or ())):
        if machine := record.get(MACHINE):
            seconds = record.get("seconds")
            cost = None if seconds is None else machine["gpu_hour"] * machine["gpus"] * seconds / _HOUR_S
            found.setdefault(machine["roles"][0], []).append(Cost(cost, cost))
    return {role: sum(costs[1:], costs[0]) for role, costs in found.items()}


@dataclass(frozen=True, slots=True)
class AnswerUsage:
    """The usage of one answer.

    Attributes:
        sample: The position of its sample in the task.
        role: The role of the model.
        usage: Its counts.
        latency_ms: The time that it took; ``None``: unknown.
        text: Its text, reasoning included.
        is_reused: Whether it was taken from another run, so that nothing was spent on it here.
    """

    sample: int
    role: str
    usage: ModelUsage
    latency_ms: float | None
    text: str
    is_reused: bool


def usage_of_samples(journal: Journal, task: str, tiers: Mapping[str, Mapping[str, Rates]]) -> Iterator[AnswerUsage]:
    """The usage of each answer to the samples of a task, by sample; damaged answers are left out.

    Args:
        journal: The journal.
        task: The task.
        tiers: The rates by which answers are charged if the provider states no cost, by role and service tier.

    Raises:
        JournalError: if the journal cannot be read.
    """
    keeping = {number for number, part in journal.parts().items() if part.facts.get("usage_version")}
    for sample, role, part, written in journal.sample_answers(task):
        try:
            body = parse_json(written.decode())
            billed = _Billed.of_answer(body)
            one = _UsageSum()
            one.add(_counts(body, keeps_all=part in keeping), billed, at_tier(tiers.get(role) or {}, billed.tier))
            texts = [output.get(name) or "" for output in body["outputs"] for name in ("reasoning", "text")]
            usage = replace(one.usage(), **billed.tokens)
            yield AnswerUsage(sample, role, usage, body.get("latency_ms"), "".join(texts), REUSED in body)
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
        self.n = self.n_failed = self.n_stated = self.n_reused = 0
        self.costs: list[Cost] = []
        self.reused_tokens: int | None = None

    def add_reused(self, answer: Mapping[str, Any]) -> None:
        """Add one answer of another run, which used nothing here."""
        self.n_reused += 1
        whole, output, *_ = _told(answer)
        for count in (whole, output):
            if count is not None:
                self.reused_tokens = (self.reused_tokens or 0) + int(count)

    def add(self, counts: Sequence[float | None], billed: _Billed, rates: Rates | None) -> None:
        """Add one answer: its counts, what it states of its price, and the rates by which it is charged."""
        self.n += 1
        if billed.cost is not None:
            self.n_stated += 1
            self.costs.append(Cost(billed.cost, billed.cost))
        elif rates is not None:
            known: dict[str, Any] = {**dict(zip(COUNTS, counts, strict=True)), **billed.tokens}
            self.costs.append(rates.cost_of(ModelUsage(**known, requests=1)))
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
        if self.n_reused and not self.n:  # nothing is unknown of what was not asked
            known = {**dict.fromkeys(COUNTS, 0), **known}
        known |= {"reused": self.n_reused, "reused_tokens": self.reused_tokens}
        return ModelUsage(**known, requests=self.n, cost=self._cost(), stated=self.n_stated, unknown=unknown)

    def _cost(self) -> Cost:
        """The cost of all answers. Unrounded, sums of the same answers in another order would differ."""
        if self.n_reused and not self.n:
            return Cost(0.0, 0.0)
        lows = [cost.low for cost in self.costs if cost.low is not None]
        highs = [cost.high for cost in self.costs if cost.high is not None]
        low = round(math.fsum(lows), _DECIMALS) if lows else None
        return Cost(low, round(math.fsum(highs), _DECIMALS) if len(highs) == self.n else None)


@dataclass(frozen=True, slots=True)
class _Billed:
    """The statements of an answer on its price.

    Attributes:
        cost: The cost that the provider states; ``None`` if one of its outputs has none.
        tier: The service tier.
        tokens: Tokens of media, by their names in ``ModelUsage``.
    """

    cost: float | None = None
    tier: str = ""
    tokens: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any]) -> _Billed:
        found = [output["billed"] for output in answer["outputs"] if "billed" in output]
        if not found:
            return _NOTHING_BILLED
        costs = [one["cost"] for one in found if one.get("cost") is not None]
        tokens = {name: sum(one[name] for one in found) for name in PRICED_APART if all(name in one for one in found)}
        return cls(sum(costs) if costs else None, next((one["tier"] for one in found if "tier" in one), ""), tokens)


_NOTHING_BILLED = _Billed()


class _RatesOfParts:
    """The rates by which the answers of each part of a run are charged: those that a user gave when the run was scored
    again, else those of the part, else those of the newest part that has some for their model.
    """

    def __init__(self, parts: Mapping[int, Session]) -> None:
        self._of_part: dict[tuple[int | None, str], dict[str, Rates]] = {}
        self._newest: dict[str, dict[str, Rates]] = {}
        self._given_later: dict[str, dict[str, Rates]] = {}
        for number, part in sorted(parts.items(), key=lambda one: str(one[1].facts.get("started") or "")):
            for entry in (part.facts.get(RATES) or {}).values():
                tiers = {tier: Rates.of_document(rates) for tier, rates in entry["tiers"].items()}
                self._of_part[number, entry["fingerprint"]] = self._newest[entry["fingerprint"]] = tiers
                if part.facts.get("kind") == "score" and all(one.source != SNAPSHOT for one in tiers.values()):
                    self._given_later[entry["fingerprint"]] = tiers

    def of(self, model: str, part: int | None, tier: str) -> Rates | None:
        """The rates of an answer, by the fingerprint of its model; ``None`` if they are unknown."""
        if not self._newest:
            return None
        tiers = self._given_later.get(model) or self._of_part.get((part, model)) or self._newest.get(model) or {}
        return at_tier(tiers, tier)


def _counts(answer: Mapping[str, Any], *, keeps_all: bool) -> tuple[float | None, ...]:
    """The counts of one answer, in the order of ``COUNTS``."""
    n_images = sum(len(output.get("images", ())) for output in answer["outputs"])
    whole, output_tokens, reasoning, read, written = _told(answer)
    fresh = None if whole is None else max(whole - (read or 0) - (written or 0), 0)
    sent = answer.get("sent") or {}
    nothing = 0 if keeps_all else None
    images, audio_s = sent.get("images_sent", nothing), sent.get("audio_s", nothing)
    return fresh, read, written, output_tokens, reasoning, images, n_images, audio_s, nothing


def _told(answer: Mapping[str, Any]) -> list[float | None]:
    """The counts of tokens that an answer states."""
    told: list[float | None] = [None] * _TOKENS
    for output in answer["outputs"]:
        for place, count in enumerate(output.get("usage") or ()):
            if count is not None:
                told[place] = (told[place] or 0) + count
    return told


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
