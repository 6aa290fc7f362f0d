"""What a judge says of each picture, and the values that follow, worked out by hand from the published protocols.

No text is read here: each form of a verdict says itself which numbers a published reader takes from it. The formulas
are the published ones, in floating point as there, since rounded values depend on it: WISE (0.7 · consistency + 0.2 ·
realism + 0.1 · aesthetic) / 2, to two digits; GenEval++ the share of rows whose every item holds; ImagineBench 0.6, 0.3
and 0.1, to three digits, failures left out; OmniContext two scores for each row, failures left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from conformance.answers import generator
from conformance.ulmeval.rows import ROWS, Row

FAILED = None
_HIGH = {"right": 0.8, "wrong": 0.2, "messy": 0.55}


@dataclass(frozen=True)
class Said:
    """A judge's answer.

    Attributes:
        text: What it says; ``None``: the call fails.
        read: What the published reader takes from it.
    """

    text: str | None
    read: Any


def verdict(benchmark: str, part: str, model: str, number: int, seed: int) -> Said:
    """What the judge says of the picture that a scripted model made for a row."""
    chance = generator("verdict", seed, benchmark, part, model, number)
    most = {"WISE_all": 2, "GenEvalPP": 1}.get(benchmark, 10)
    numbers = [sum(chance.random() < _HIGH[model] for _ in range(most)) for _ in range(3)]
    form = chance.randrange(6) if model == "messy" else 0
    return {
        "WISE_all": _wise,
        "GenEvalPP": _geneval_pp,
        "ImagineBench": _imagine_bench,
        "OmniContext": _omni_context,
    }[benchmark](numbers, form)


def _wise(levels: list[int], form: int) -> Said:
    c, r, a = levels
    plain = f"Consistency: {c}\nRealism: {r}\nAesthetic Quality: {a}"
    return [
        Said(plain, levels),
        Said(f"Sure!\n\n{plain}\n", levels),
        Said(f"consistency : {c}, REALISM:{r}, aesthetic: {a}", levels),
        Said(f"**{c}** / **{r}** / **{a}**", levels),
        Said(f"I cannot give levels for this picture ({c}).", [0, 0, 0]),
        Said(f"Consistency: {c} of 2\nRealism: {r} of 2\nAesthetic Quality: {a} of 2", levels),
    ][form]


def _geneval_pp(levels: list[int], form: int) -> Said:
    right = levels[0]
    plain = json.dumps({"correct": right, "reason": "as seen"})
    return [
        Said(plain, right),
        Said(f"```json\n{plain}\n```", right),
        Said(f"Here it is: {plain}", right),
        Said(f"correct: {right}", 0),
        Said(json.dumps({"reason": "nothing else"}), 0),
        Said(FAILED, 0),
    ][form]


def _imagine_bench(scores: list[int], form: int) -> Said:
    fantasy, identity, quality = scores
    plain = (
        f"Fantasy Fulfillment: {fantasy}\nReason: so.\n\nIdentity Preservation: {identity}\nReason: so.\n\n"
        f"Aesthetic Quality: {quality}\nReason: so."
    )
    return [
        Said(plain, scores),
        Said(f"Of course.\n{plain}", scores),
        Said(
            f"Fantasy Fulfillment：{fantasy}/10\nIdentity Preservation {identity}/10\nAesthetic Quality : {quality}/10",
            scores,
        ),
        Said(f"Fantasy Fulfillment: {fantasy}\nIdentity Preservation: {identity}", [fantasy, identity, 0]),
        Said(
            f"**Fantasy Fulfillment**: {fantasy}\nIdentity Preservation: {identity}\nAesthetic Quality: {quality}",
            [0, identity, quality],
        ),
        Said(FAILED, FAILED),
    ][form]


def _omni_context(scores: list[int], form: int) -> Said:
    score = scores[0]
    plain = json.dumps({"score": score, "reasoning": "as seen"})
    return [
        Said(plain, score),
        Said(f"```json\n{plain}\n```", score),
        Said(f"{plain}\n" + json.dumps({"score": 10 - score}), score),
        Said(f"Score: {score}", 0),
        Said('{"score": ' + str(score) + ', "reasoning": "a "quoted" word"}', 0),
        Said(FAILED, FAILED),
    ][form]


def values(benchmark: str, rows: Sequence[Row], model: str, seed: int) -> dict[str, Any]:
    """The values that a benchmark's ``evaluate`` gives for a scripted model."""
    return {
        "WISE_all": _wise_values,
        "GenEvalPP": _geneval_pp_values,
        "ImagineBench": _imagine_values,
        "OmniContext": _omni_values,
    }[benchmark](rows, model, seed)


def _wise_values(rows: Sequence[Row], model: str, seed: int) -> dict[str, Any]:
    scores: dict[str, list[float]] = {}
    for number, row in enumerate(rows):
        c, r, a = verdict("WISE_all", "", model, number, seed).read
        score = (0.7 * c + 0.2 * r + 0.1 * a) / 2
        for name in (row["discipline"].upper(), "overall"):
            scores.setdefault(name, []).append(score)
    return {f"coarse_valid/{name}": float(np.round(np.mean(found), 2)) for name, found in scores.items()}


def _geneval_pp_values(rows: Sequence[Row], model: str, seed: int) -> dict[str, Any]:
    right = sum(verdict("GenEvalPP", "", model, number, seed).read for number in range(len(rows)))
    return {"correct": right, "total": ROWS, "accuracy": right / ROWS}


def _imagine_values(rows: Sequence[Row], model: str, seed: int) -> dict[str, Any]:
    by_type: dict[str, list[list[int]]] = {}
    for number, row in enumerate(rows):
        read = verdict("ImagineBench", "", model, number, seed).read
        if read is not FAILED:
            by_type.setdefault(row["type"], []).append(read)
    found: dict[str, Any] = {}
    for kind, scores in by_type.items():
        weighted = [0.6 * one[0] + 0.3 * one[1] + 0.1 * one[2] for one in scores]
        names = ("Fantasy Fulfillment", "Identity Preservation", "Aesthetic Quality")
        means = {name: sum(one[place] for one in scores) / len(scores) for place, name in enumerate(names)}
        means["Weighted Score"] = sum(weighted) / len(weighted)
        found |= {f"statistics_by_type/{kind}/{name}": round(mean, 3) for name, mean in means.items()}
        found[f"statistics_by_type/{kind}/count"] = len(scores)
    reads = [verdict("ImagineBench", "", model, number, seed).read for number in range(len(rows))]
    totals = [round(0.6 * read[0] + 0.3 * read[1] + 0.1 * read[2], 3) for read in reads if read is not FAILED]
    found["overall_statistics/overall/Weighted Score"] = round(sum(totals) / len(totals), 3)
    found["overall_statistics/overall/count"] = len(totals)
    return found


def _omni_values(rows: Sequence[Row], model: str, seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in ("PF", "SC"):
        reads = [verdict("OmniContext", part, model, number, seed).read for number in range(len(rows))]
        known = [read for read in reads if read is not FAILED]
        found[f"results/{part}_scores"] = fmean(known)
        if len(known) < len(rows):
            found[f"results/{part}_scores (number)"] = len(known)
    return found
