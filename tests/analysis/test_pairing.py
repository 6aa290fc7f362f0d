"""Samples that two runs name differently, paired by their prompts or by their order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.analysis.comparison.page import write_page
from polymeter.core.errors import PlanError
from tests.analysis.test_comparing import write_run


def run(folder: Path, prompts: list[str], values: list[float], prefix: str = "") -> Path:
    """A run whose samples are asked with these prompts, under ids with a prefix."""
    write_run(folder, {"t": [*values]})
    lines = []
    for number, prompt in enumerate(prompts):
        request = {"messages": [{"role": "user", "parts": [{"text": prompt}]}], "ask": {"kind": "generate"}}
        exchange = {"role": "model", "request": request, "response": {"outputs": [{"text": f"said {prompt}"}]}}
        scores = [{"metric": "acc", "filter": "none", "value": values[number]}]
        lines.append(
            json.dumps(
                {
                    "id": f"{prefix}{number}",
                    "index": number,
                    "subset": [],
                    "cluster": None,
                    "status": "ok",
                    "scores": scores,
                    "doc": {"n": number},
                    "exchanges": [exchange],
                    "log": {},
                    "error": None,
                    "target": "x",
                    "answer": f"said {prompt}",
                    "explanation": None,
                }
            )
        )
    (folder / "samples/t.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return run(tmp_path / "first", ["a", "b", "b", "c"], [1.0, 1.0, 0.0, 0.0], "x/")


def gained(first: Path, other: Path, **options: Any) -> Any:
    return polymeter.compare(first, other, **options).document()["others"][0]["scores"][0]


def test_prompts_pair_samples_and_equal_ones_in_their_order(first: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other", ["c", "b", "b", "a"], [1.0, 1.0, 1.0, 1.0])
    with pytest.raises(PlanError, match=r"0 are in both\. If both were asked the same.*add --pair-by prompt"):
        polymeter.compare(first, other)
    line = gained(first, other, pair_by="prompt")
    assert (line["n"], line["wins"], sorted(line["gained"])) == (4, 2, ["x/2", "x/3"])


def test_samples_without_a_partner_stay_apart_even_under_the_same_id(first: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other", ["d", "a", "b", "b"], [1.0, 1.0, 1.0, 1.0], "x/")
    with pytest.raises(PlanError, match=r"1 sample only in first .*1 sample only in other \(x/0 of other\)"):
        polymeter.compare(first, other, pair_by="prompt")
    line = gained(first, other, pair_by="prompt", allow=["samples"])
    assert (line["n"], line["gained"]) == (3, ("x/2",))


def test_order_pairs_samples_that_were_asked_differently(first: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other", ["e", "f", "g", "h"], [1.0, 1.0, 1.0, 0.0])
    with pytest.raises(PlanError, match="add --pair-by order"):
        polymeter.compare(first, other, pair_by="prompt")
    with pytest.raises(PlanError, match="were sent different prompts"):
        polymeter.compare(first, other, pair_by="order")
    comparison = polymeter.compare(first, other, pair_by="order", allow=["prompts"])
    (line,) = comparison.document()["others"][0]["scores"]
    assert (line["n"], line["gained"]) == (4, ("x/2",))
    write_page(comparison, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "said b" in page
    assert "said g" in page


def test_order_needs_as_many_samples(first: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other", ["a"], [1.0])
    with pytest.raises(PlanError, match="first has 4 samples and other 1: their order does not pair them"):
        polymeter.compare(first, other, pair_by="order")


def test_rules_that_cannot_be(first: Path, tmp_path: Path) -> None:
    other = run(tmp_path / "other", ["a"], [1.0])
    with pytest.raises(PlanError, match="cannot be paired by 'promt'") as error:
        polymeter.compare(first, other, pair_by="promt")
    assert "prompt" in error.value.hint
    with pytest.raises(PlanError, match="Verdicts name samples by their ids"):
        polymeter.compare(first, other, pair_by="prompt", verdicts=True)
