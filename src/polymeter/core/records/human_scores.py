"""Verdicts of people on the samples of a task: scores that replace those of its metrics, and excluded samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from polymeter.core.errors import PlanError
from polymeter.core.records.stored_samples import named

MetricKey = tuple[str, str]
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class HumanScores:
    """The verdicts on the samples of one task.

    Attributes:
        values: By sample, then by metric (``metric`` or ``metric,filter``). Those of excluded samples stay in it.
        excluded: The reason for each excluded sample.
    """

    values: dict[str, dict[str, float]] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> HumanScores:
        """Return the verdicts in plain data, as ``document`` writes them."""
        return cls(
            {str(sample): dict(own) for sample, own in document.get("values", {}).items()},
            dict(document.get("excluded", {})),
        )

    def document(self) -> dict[str, Any]:
        """Return the verdicts as plain data."""
        return {"values": self.values, "excluded": self.excluded}

    def only(self, samples: Collection[str]) -> HumanScores:
        """Return the verdicts on some samples."""
        return HumanScores(
            {sample: own for sample, own in self.values.items() if sample in samples},
            {sample: reason for sample, reason in self.excluded.items() if sample in samples},
        )

    @property
    def labelled(self) -> list[str]:
        """The samples with a score or a label that count."""
        return [sample for sample in self.values if sample not in self.excluded]


def refuse_on_repeats(scores: Iterable[HumanScores], repeats: int) -> None:
    """Refuse scores and labels of people for a run with repeats or permuted choices: they are about one answer, and
    each question has several.

    Args:
        scores: The verdicts of each task.
        repeats: The number of answers to each question.

    Raises:
        PlanError: if there are any. Excluded samples are allowed.
    """
    if repeats > 1 and any(own.labelled for own in scores):
        raise PlanError(
            f"Scores of people are about one answer, and this run has {repeats} to each question.",
            where="--verdicts",
            hint="Only samples that are excluded can be named. Undo the other verdicts in 'polymeter view'.",
        )


def replaced(values: Mapping[MetricKey, Any], human: Mapping[str, float]) -> tuple[dict[MetricKey, Any], set[str]]:
    """Return a sample's scores with those of people, and the metrics of people that the sample has no score for.

    Args:
        values: The scores by metric and filter. A value with keys is named ``metric/key``.
        human: The scores of people by name.
    """
    rest = set(human)
    found = {key: _replaced(value, *key, human, rest) for key, value in values.items()}
    return found, rest


def with_verdicts(samples: Iterable[dict[str, Any]], human: HumanScores | None) -> Iterator[dict[str, Any]]:
    """Yield samples as run folders store them, with the scores of people and without excluded samples.

    Args:
        samples: Lines of ``samples/*.jsonl``.
        human: The verdicts; ``None``: samples stay unchanged.
    """
    for sample in samples:
        name = str(sample["id"])
        if human is None or (name not in human.excluded and name not in human.values):
            yield sample
        elif name not in human.excluded:
            stored = {(str(score["metric"]), str(score["filter"])): score["value"] for score in sample["scores"]}
            values, _ = replaced(stored, human.values[name])
            scores = [{**one, "value": values[str(one["metric"]), str(one["filter"])]} for one in sample["scores"]]
            yield {**sample, "scores": scores, "scored_by": "a person"}


def _replaced(value: Any, metric: str, name: str, human: Mapping[str, float], rest: set[str]) -> Any:
    own = named(metric, name)
    if own in human:
        rest.discard(own)
        return human[own]
    if isinstance(value, Mapping):
        return {key: _replaced(item, f"{metric}/{key}", name, human, rest) for key, item in value.items()}
    return value


def counted(scores: Iterable[HumanScores]) -> str:
    """Return the number of samples with verdicts, for a note: *3 excluded, 12 labelled*."""
    own = list(scores)
    n_excluded, n_labelled = sum(len(one.excluded) for one in own), sum(len(one.labelled) for one in own)
    return f"{n_excluded:,} excluded, {n_labelled:,} labelled"


def few_named(names: Iterable[str]) -> str:
    """Return the first names as a list, with the number of the others."""
    whole = list(names)
    more = f" and {len(whole) - _MOST_NAMED:,} more" if len(whole) > _MOST_NAMED else ""
    return f"{', '.join(repr(name) for name in whole[:_MOST_NAMED])}{more}"
