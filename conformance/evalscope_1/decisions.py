"""Benchmarks of decisions in both tools, as far as they need no service: their samples, and the numbers that they make
of probabilities, which stand in for those of a service.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from conformance.answers import generator
from conformance.forms import always, in_turn
from conformance.frame import Observation, plain

_SHARES = {"right": 6.0, "wrong": 0.4, "messy": 1.5}
"""How likely the right option is, beside the others."""
_QUESTIONS = (
    {"type": "choice", "instructions": "Which one?", "criteria": {"red": "It is red.", "blue": "It is blue."}},
    {"type": "noul", "instructions": "Is it true?", "criteria": {"true": "It is.", "false": "It is not."}},
    {"type": "score", "instructions": "How good is it?", "criteria": ["bad", "fair", "good"]},
)
_EXPECTED = (("red", "blue"), ("yes", "no"), ("2", "0"))
RECORDS: tuple[dict[str, Any], ...] = tuple(
    {
        "id": f"d{number}",
        "state": f"The {('red', 'blue', 'green')[number % 3]} river of day {number}.",
        "question": _QUESTIONS[number // 2 % 3],
        "expected": _EXPECTED[number // 2 % 3][number % 2],
        "family": ("rivers", "towns")[number % 2],
        "tier": ("easy", "standard", "hard")[number % 3],
        "language": "en",
    }
    for number in range(12)
)
"""Decisions of all kinds."""
ROWS: Mapping[str, Mapping[str, str]] = {
    "jevbench": {"record_json": in_turn(*map(json.dumps, RECORDS))},
    # The cells of a column of rows have one form, so these are choices.
    "open_decisions": {
        "id": in_turn(*(one["id"] for one in RECORDS[:6])),
        "state": in_turn(*(one["state"] for one in RECORDS[:6])),
        "question": always(_QUESTIONS[0]),
        "expected": in_turn(*_EXPECTED[0]),
        "tier": in_turn("easy", "standard", "judge", "hard"),
        "family": always(""),
        "continuous": always(False),
        "fixed_classes": always(True),
    },
    "stsb": {"score": in_turn(0.2, 0.93, 0.5, 0.71, 0.0, 1.0)},
}
"""Forms of the columns of benchmarks of decisions."""


def observe_decisions(name: str, model: str, adapter: Any) -> Observation:
    """What a tool makes of a benchmark of decisions.

    Args:
        name: The case.
        model: The scripted model, whose probabilities are scored.
        adapter: The tool's adapter.
    """
    from evalscope.api.metric import SampleScore

    observed = Observation(name, model)
    for subset, dataset in adapter.load_dataset().items():
        scores = []
        for sample in dataset:
            score = _score(adapter, sample, model)
            place = f"{subset}/{sample.id}"
            kept = {key: value for key, value in score.metadata.items() if key != "decision"}
            observed.samples[place] = {
                **{f"value {key}": value for key, value in score.value.items()},
                "extracted": score.extracted_prediction,
                "target": sample.target,
                "metadata": plain({**sample.metadata, **kept, "main": score.main_score_name}),
            }
            observed.prompts[place] = json.dumps([[one.role, one.text, plain(one.internal)] for one in sample.input])
            scores.append(
                SampleScore(
                    score=score, sample_id=sample.id, group_id=sample.group_id, sample_metadata=dict(sample.metadata)
                )
            )
        numbers = adapter.aggregate_subset(subset, sample_scores=scores)
        observed.values.update(_values(subset, numbers))
    return observed


def _score(adapter: Any, sample: Any, model: str) -> Any:
    from evalscope.api.metric.decision import decision_score

    own = sample.metadata
    return decision_score(
        SimpleNamespace(
            type=own["decision_kind"],
            probabilities=_probabilities(sample, model),
            confidence=_confidence(sample, model),
        ),
        own["decision_gold"],
        own["decision_labels"],
        continuous=own["continuous"],
        family=own["family"],
        tier=own["tier"],
        fixed_classes=own["fixed_classes"],
        noul_use_argmax=adapter.noul_use_argmax,
    )


def _probabilities(sample: Any, model: str) -> dict[str, float]:
    chance, gold = generator("decision", model, sample.id), str(sample.metadata["decision_gold"])
    if sample.metadata["continuous"]:
        gold = str(round(float(gold)))
    shares = {
        label: chance.random() + 0.01 + (_SHARES[model] if label == gold else 0.0)
        for label in sample.metadata["decision_labels"]
    }
    return {label: share / sum(shares.values()) for label, share in shares.items()}


def _confidence(sample: Any, model: str) -> float:
    return round(generator("confidence", model, sample.id).random(), 3)


def _values(subset: str, numbers: Any) -> Iterator[tuple[str, Any]]:
    for number in numbers:
        dimensions: Mapping[str, Any] = number.dimensions or {}
        place = f"{subset}, {number.metric_name}:{number.aggregation}{json.dumps(dimensions, sort_keys=True)}"
        yield place, number.score
        yield f"num {place}", number.num
