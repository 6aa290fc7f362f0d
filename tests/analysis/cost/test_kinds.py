"""Estimates from a pilot of twenty samples, held against what an endpoint charges for the whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.cost_kinds import KINDS, Outcome, estimate_and_run

_SEED = 5


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.chdir(tmp_path)  # no earlier runs


@pytest.mark.parametrize("kind", ["choices", "judged", "rounds"])
def test_the_range_holds_what_is_charged(kind: str, tmp_path: Path) -> None:
    outcome = estimate_and_run(kind, _SEED, tmp_path, n=100)
    assert outcome.holds, outcome
    assert outcome.ratio <= 2, outcome


@pytest.mark.slow
def test_the_range_holds_the_sum_of_nine_in_ten_kinds_and_is_no_wider_than_a_factor_of_two(tmp_path: Path) -> None:
    outcomes: list[Outcome] = [estimate_and_run(kind, _SEED, tmp_path) for kind in KINDS]
    missed = [outcome for outcome in outcomes if not outcome.holds]
    assert len(missed) <= len(outcomes) // 10, missed
    assert all(outcome.ratio <= 2 for outcome in outcomes), outcomes
