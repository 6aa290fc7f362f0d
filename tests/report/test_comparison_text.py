"""What a comparison says in words."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from polymeter.report.comparison.tables import print_comparison, to_csv, to_latex, to_markdown
from polymeter.report.comparison.text import p_value, sentence, signed
from tests.report.test_comparison_page import document, score


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "Signs: after is better, by 0.300 (95 % interval 0.100 to 0.500)."),
        ({"verdict": "worse", "difference": -0.3, "interval": [-0.5, -0.1]}, "Signs: before is better, by 0.300"),
        ({"verdict": "higher"}, "Signs: after has the higher anls, by 0.300"),
        ({"verdict": "equal"}, "Signs: all 40 samples have the same value of anls in before and after."),
        ({"verdict": "equal", "n": 1}, "Signs: the only sample has the same value of anls in before and after."),
        ({"verdict": "untested", "difference": None}, "Signs: cannot tell; no sample has a score in both runs."),
        (
            {"verdict": "not shown", "interval": [-0.1, 0.4]},
            "is shown. The true one lies between -0.100 and +0.400 (95 %). One of 0.200 or more would likely have been",
        ),
        (
            {"verdict": "not shown", "family": 9, "p_corrected": 0.2},
            "+0.500 (95 %). That leaves out zero, but the test, corrected for 9 tests, has p 0.200.",
        ),
        (
            {"verdict": "not shown", "interval": None, "no_interval": "fewer than 20 samples", "detectable": None},
            "is shown. There is no interval: fewer than 20 samples. Of 40 samples,",
        ),
        (
            {"verdict": "not shown", "interval": [-0.1, 0.2], "false_positive_rate": 0.0},
            "have been seen. With 12 samples that differ, no outcome would count as a difference. Of 40 samples,",
        ),
        (
            {"verdict": "not shown", "interval": [-0.1, 0.2], "false_positive_rate": 0.0313},
            "With 12 samples that differ, the test finds 3.1 % of equal models different, not 5 %.",
        ),
        (
            {"false_positive_rate": 0.0703, "wins": 1, "p_corrected": 0.04, "n": 400},
            "0.500). With 1 sample that differs, the test finds 7.0 % of equal models different, not 5 %. "
            "Of 400 samples, 1 is better in after, 0 in before",
        ),
        (
            {"n": 20, "p_method": "permutation, 9999 resamples"},
            "0.500). With 20 samples, what happens in one of 20 is missing among them in 36 % of cases: rare "
            "large differences the other way would not be seen. Of 20 samples,",
        ),
        ({"n": 20, "p_method": "McNemar, mid-p", "odds_ratio": 2.0}, "(95 % interval 0.100 to 0.500). Of 20 samples,"),
        ({"n": 90, "p_method": "permutation, mid-p"}, "(95 % interval 0.100 to 0.500). Of 90 samples,"),
        (
            {"interval": [-0.01, 0.6], "n": 400},
            "by 0.300. Its 95 % interval, -0.010 to +0.600, holds zero all the same: it is close to noise. Of",
        ),
    ],
)
def test_each_verdict_in_words(values: dict[str, object], said: str) -> None:
    assert said in sentence(score(**values), "before", "after")


@pytest.mark.parametrize("rate", [0.0, 0.03, 0.05, 0.07, None])
def test_a_clear_difference_is_not_doubted(rate: float | None) -> None:
    assert "of equal models" not in sentence(score(false_positive_rate=rate), "before", "after")


def test_numbers_are_short() -> None:
    assert [p_value(p) for p in (None, 0.0001, 0.0404)] == ["–", "<0.001", "0.040"]
    assert [signed(x) for x in (None, 0.1234, -0.5, 0.0, -0.0001, 12.345)] == [
        "–", "+0.123", "-0.500", "0.000", "0.000", "+12.35",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 160])
def test_a_terminal_shows_every_number_whole(width: int) -> None:
    buffer = io.StringIO()
    print_comparison(Console(file=buffer, width=width, color_system=None, legacy_windows=False), document())
    for number in ("0.500", "0.800", "+0.300", "+0.100 to +0.500", "0.001"):
        assert number in buffer.getvalue()
    table = [line for line in buffer.getvalue().splitlines() if line.startswith(" ")]
    assert max(map(len, table)) <= max(width, 80)


def test_markup_of_names_stays_text() -> None:
    hostile = document(title="<b>[red]a|b_c</b>", metric="50 % & more\x1b[31m")
    assert "<b>" not in to_markdown(hostile)
    assert r"50 \% \& more" in to_latex(hostile)
    buffer = io.StringIO()
    print_comparison(Console(file=buffer, width=120, color_system=None, legacy_windows=False), hostile)
    assert "\x1b" not in buffer.getvalue()
    assert "[red]" in buffer.getvalue()
    assert to_csv(
        document(filter="none", stderr=0.1, effect_size=None, odds_ratio=None, n_only_first=0, n_only_second=0)
    )


def test_no_form_leaves_out_what_must_be_known() -> None:
    known = {"filter": "none", "stderr": 0.1, "effect_size": None, "odds_ratio": None}
    found = document(**known)
    found["others"][0]["warnings"] = ["Signs: 3 samples have no score in either run."]
    for made in (to_markdown(found), to_latex(found), to_csv(found)):
        assert "3 samples have no score in either run." in made
    comment = next(line for line in to_latex(found).splitlines() if "3 samples" in line)
    assert comment.startswith("% ")
