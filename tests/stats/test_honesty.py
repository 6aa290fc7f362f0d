"""The simulation of ``benchmarks/honesty.py`` runs, counts what it says, and finds the tests honest in a few lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import honesty
from benchmarks.book import Book


def test_every_line_is_simulated_and_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    book = Book()
    honesty.honesty(book, repetitions=1)
    out = capsys.readouterr().out
    for table in honesty.TABLES:
        assert (table.__doc__ or "").strip() in out
        for name, _, _ in table():
            assert f"  {name}" in out
    assert out.count("all of these") == len(honesty.TABLES)


def test_a_tally_counts_contradictions_and_what_is_told() -> None:
    tally = honesty.Tally()
    tally.equal(honesty.Found(0.01, (-0.1, 0.2), 0.05))  # found, but zero is in the interval
    tally.equal(honesty.Found(0.01, (0.1, 0.2), 0.05))
    tally.equal(honesty.Found(0.5, None, 0.0))
    tally.unequal(honesty.Found(0.5, (0.1, 0.3), 0.05), 0.2)
    assert (tally.n, tally.found, tally.shown, tally.covered, tally.at_odds, tally.told) == (3, 2, 2, 1, 1, 2)
    assert (tally.shown_of_unequal, tally.covered_of_unequal) == (1, 1)
    assert honesty.told(tally).startswith("found 66.7%")


@pytest.mark.parametrize(
    ("scenario", "effect"),
    [
        (honesty.pairs(honesty.right_or_wrong(0.7, 0.8), 200), -0.06),
        (honesty.pairs(honesty.graded, 60), 0.05),
        (honesty.pairs(honesty.right_or_wrong(0.7, 0.8), 0, honesty.SIZES["of 4"](40)), -0.06),
    ],
    ids=["right or wrong", "graded", "clusters"],
)
def test_tests_and_intervals_err_in_five_percent(scenario: honesty.Scenario, effect: float) -> None:
    tally = honesty.measured(scenario, effect, 600, seed=5)
    assert tally.found / tally.n == pytest.approx(0.05, abs=0.027)  # three standard errors
    assert tally.covered / tally.shown == pytest.approx(0.95, abs=0.027)
    assert tally.covered_of_unequal / tally.shown_of_unequal == pytest.approx(0.95, abs=0.038)


def test_an_effect_is_the_one_that_is_drawn() -> None:
    rng = np.random.default_rng(0)
    draw = honesty.right_or_wrong(0.7, 0.8)
    assert honesty.mean_of(draw, 0.0) == pytest.approx(0.7, abs=0.003)
    assert honesty.mean_of(draw, -0.06) == pytest.approx(0.64, abs=0.003)
    assert draw(rng, rng.normal(size=50_000), 0.1).mean() == pytest.approx(0.8, abs=0.01)
