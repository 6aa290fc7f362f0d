"""Names of compared runs in sentences: no number stands for a run, and no two runs share a name."""

from __future__ import annotations

import copy

import pytest

from polymeter.report.comparison.labels import labelled, run_labels
from polymeter.report.comparison.tables import to_csv, to_markdown
from polymeter.report.comparison.verdicts import verdict
from tests.report.test_comparison_page import document, score


@pytest.mark.parametrize(
    ("names", "paths", "models", "labels"),
    [
        (["base", "tuned"], ["r/base", "r/tuned"], ["m", "m"], ["base", "tuned"]),
        (["400", "500"], ["r/track/out/400", "r/track/out/500"], ["m", "m"], ["step 400", "step 500"]),
        (["400", "1500"], ["r/400", "r/1500"], ["x/checkpoint-400", "x/step_01500"], ["step 400", "step 1,500"]),
        (["1", "2"], ["r/1", "r/2"], ["m", "m"], ["run 1", "run 2"]),
        (["track/a/40", "track/b/40"], ["r/track/a/40", "r/track/b/40"], ["ma", "mb"], ["ma", "mb"]),
        (["track/a/40", "track/b/40"], ["r/track/a/40", "r/track/b/40"], ["m", "m"], ["track/a/40", "track/b/40"]),
        (["40", "x"], ["r/40", "r/x"], ["checkpoint-400", "m"], ["run 40", "x"]),
    ],
)
def test_each_run_has_a_name_that_can_be_read(names, paths, models, labels) -> None:
    assert run_labels(names, paths, models) == labels


def test_sentences_have_the_labels_and_data_have_the_names() -> None:
    given = document(difference=-0.09, interval=[-0.156, -0.018], verdict="worse", p_corrected=0.0004)
    given["first"] |= {"name": "400", "path": "runs/track/out/400"}
    given["others"][0] |= {"name": "500", "path": "runs/track/out/500"}
    before = copy.deepcopy(given)
    assert "step 400 is better, by 0.090" in to_markdown(given)
    assert to_csv(given).splitlines()[1].startswith("400,500,")
    shown = labelled(given)
    (one,) = shown["others"][0]["scores"]
    told = verdict(one, shown["first"]["name"], shown["others"][0]["name"])
    assert told == (
        "step 500 is worse than step 400 on Signs, by 0.090 anls (95 % interval 0.018 to 0.156; p < 0.001)."
    )
    assert given == before


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"verdict": "equal"}, "b and a are equal on Signs: all 40 samples have the same anls."),
        ({"verdict": "not shown", "p_corrected": 0.3, "family": 2},
         "No difference between b and a is shown on Signs (corrected p = 0.300)."),
        ({"verdict": "untested", "difference": None},
         "b and a cannot be told apart on Signs: no sample has a score in both runs."),
        ({"verdict": "higher"},
         "b is higher than a on Signs, by 0.300 anls (95 % interval 0.100 to 0.500; p = 0.001)."),
    ],
)  # fmt: skip
def test_each_verdict_is_one_sentence(values, said) -> None:
    assert verdict(score(**values), "a", "b") == said
