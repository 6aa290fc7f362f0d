"""Plots of a task: from arrays of known content, with readings that say what is there, and safe on a page."""

from __future__ import annotations

import json

import numpy as np
import pytest

from polymeter.viewer.plots import Columns, LabelColumn, columns_of_index, plots_of
from polymeter.viewer.plots.bins import bins_of, quantile_groups
from polymeter.viewer.plots.choice_columns import MOST_LABELS, ChoiceColumns, label_of
from polymeter.viewer.plots.columns import COUNTS
from polymeter.viewer.plots.effort import rank_correlation
from tests.helpers.content_app import SampleIndex, environment
from tests.helpers.shown import Elements, weighed
from tests.report.synthetic import HOSTILE, SyntheticRun, sample

NAN = float("nan")


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def scored(values: np.ndarray, **more) -> Columns:
    return Columns(len(values), {"acc": values}, {name: np.full(len(values), NAN) for name in COUNTS}, **more)


def one(columns: Columns, name: str, results: dict | None = None):
    return next((plot for plot in plots_of(columns, results or {}) if plot.name == name), None)


def cells(table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def page(plots) -> str:
    return environment().get_template("task_plots.html").render(plots=plots)


# --- distribution


def test_a_metric_of_few_values_has_a_bar_for_each():
    plot = one(scored(floats(1, 1, 0.5, 1, NAN)), "distribution-acc")
    assert cells(plot.tables[0]) == [["0.5", "1", "25.0 %"], ["1", "3", "75.0 %"]]
    assert plot.reading == "Of 4 samples, 75.0 % have 1 and 25.0 % have 0.5; the mean is 0.8750."
    assert (plot.chart["labels"], plot.chart["y"]) == (["0.5", "1"], [1, 3])


def test_metrics_of_0_and_1_are_stacked_bars_of_one_plot():
    columns = Columns(5, {"acc": floats(1, 1, 0, 1, NAN), "lost": floats(0, 0, 1, 0, 0), "f1": floats(0.2, 1, 0, 1, 0)})
    results = {"results": [{"metric": "lost", "filter": "none", "subset": [], "higher_is_better": False}]}
    plot = one(columns, "distribution-lost", results)
    assert plot.chart is None
    assert [[(part.text, part.fill, part.start) for part in stack.parts] for stack in plot.stacks] == [
        [("4 samples with 0: 80.0 %", "v4", 0.0), ("1 sample with 1: 20.0 %", "v0", 80.0)],
        [("3 samples with 1: 75.0 %", "v4", 0.0), ("1 sample with 0: 25.0 %", "v0", 75.0)],
    ]
    assert cells(plot.tables[0]) == [["lost", "4", "80.0 %", "1", "20.0 %"], ["acc", "1", "25.0 %", "3", "75.0 %"]]
    assert one(columns, "distribution-f1", results).chart is not None
    assert 'class="fill-v4" x="0.0"' in page([plot])


def test_a_continuous_metric_is_binned_over_its_scale():
    values = np.linspace(0.2, 0.6, 401)
    results = {"results": [{"metric": "acc", "filter": "none", "subset": [], "value": 0.4, "bounds": [0, 1]}]}
    plot = one(scored(values), "distribution-acc", results)
    assert len(plot.chart["x"]) == 20
    assert plot.chart["ends"] == [0.0, 1.0]
    assert sum(plot.chart["y"]) == 401
    assert plot.chart["y"][:4] == [0, 0, 0, 0]
    assert plot.reading.startswith("The middle half of 401 samples lies between 0.3000 and 0.5000")
    assert plot.chart["mean"] == pytest.approx(0.4)


def test_one_value_alone_is_said():
    assert one(scored(floats(1, 1, 1)), "distribution-acc").reading == "All of 3 samples have 1."


def test_subsets_have_rows_of_their_own():
    subset = LabelColumn(("easy", "hard", "empty"), np.array([0, 0, 1, 1, -1]))
    table = one(scored(floats(1, 1, 0, 1, 0), subset=subset), "distribution-acc").tables[1]
    assert table.heads == ("Subset", "Samples", "Mean", "0", "1")
    assert cells(table) == [["easy", "2", "1.0000", "0 %", "100 %"], ["hard", "2", "0.5000", "50 %", "50 %"]]


def test_declared_metrics_come_first_and_numbers_without_scores_are_no_plot():
    columns = Columns(2, {"b": floats(0.5, 0), "a": floats(0, 0.5), "c": floats(NAN, NAN)}, {})
    results = {"results": [{"metric": "a", "filter": "none", "subset": []}]}
    assert [plot.name for plot in plots_of(columns, results)] == ["distribution-a", "distribution-b"]
    assert plots_of(Columns(0), {}) == []


def test_bins_hold_every_value_once():
    values = np.random.default_rng(1).normal(size=1000)
    bins = bins_of(values, None, 20)
    assert bins.counts().sum() == 1000
    assert bins.codes[values.argmax()] == 19
    groups = quantile_groups(np.repeat([1.0, 2.0, 3.0], [50, 1, 49]), 10)
    assert [len(group) for group in groups] == [50, 1, 49]


# --- reliability


def test_the_calibration_error_is_that_of_its_definition():
    # Of ten samples at 0.95 nine are right, of ten at 0.55 three: |0.9 − 0.95| and |0.3 − 0.55|, each by a half.
    confidence = np.repeat([0.95, 0.55], 10)
    right = np.array([1.0] * 9 + [0.0] + [1.0] * 3 + [0.0] * 7)
    plot = one(scored(right, confidence=confidence), "reliability")
    assert "ECE 0.150" in plot.reading
    assert "75.0 % sure of its choice and right in 60.0 %: too sure by 15 percentage points" in plot.reading
    assert cells(plot.tables[0]) == [
        ["0.5 – 0.6", "10", "55.0 %", "30.0 %", "10.8 % – 60.3 %"],
        ["0.9 – 1.0", "10", "95.0 %", "90.0 %", "59.6 % – 98.2 %"],
    ]
    assert plot.chart["n"] == [10, 10]


def test_there_is_no_reliability_without_right_and_wrong_or_without_confidence():
    assert one(scored(np.linspace(0, 1, 20), confidence=np.full(20, 0.5)), "reliability") is None
    assert one(scored(np.ones(20)), "reliability") is None
    assert one(scored(np.ones(20), confidence=np.full(20, NAN)), "reliability") is None


# --- labels


def labelled(targets: list[str], answers: list[str | None]) -> Columns:
    names = tuple(dict.fromkeys(targets))
    given = tuple(dict.fromkeys(answer for answer in answers if answer))
    labels = {
        "target": LabelColumn(names, np.array([names.index(target) for target in targets])),
        "answer": LabelColumn(given, np.array([given.index(answer) if answer else -1 for answer in answers])),
    }
    return Columns(len(targets), {}, {}, labels=labels)


def test_labels_are_counted_against_each_other():
    targets, answers = ["B", "A", "A", "B", "A", "A"], ["B", "A", "B", "B", "b", "neither"]
    plot = one(labelled(targets, answers), "labels")
    (table,) = plot.tables
    assert table.heads == ("Expected ↓ answered →", "A", "B", "something else", "all", "right")
    assert cells(table) == [
        ["A", "1", "2", "1", "4", "25.0 %"],
        ["B", "0", "2", "0", "2", "100.0 %"],
        ["all", "1", "4", "1", "6", ""],
    ]
    assert plot.reading.startswith(
        "50.0 % of 6 samples lie on the diagonal; the most frequent mistake is B for A, 2 times"
    )


def test_an_answer_that_is_preferred_is_named():
    targets = ["A", "B", "C", "D"] * 10
    plot = one(labelled(targets, ["C"] * 40), "labels")
    assert "C is answered 40 times and expected 10 times" in plot.reading


def test_texts_are_no_labels():
    assert one(labelled(["one", "two", "three", "four"] * 3, ["a sentence"] * 12), "labels") is None
    many = [f"text {n}" for n in range(40)]
    assert one(labelled(many, many), "labels") is None
    signs = ["EXIT", "OPEN", "CLOSED", "EXIT"]
    assert one(labelled(signs, signs), "labels") is None


def test_nothing_mistaken_is_said():
    assert one(labelled(["A", "B"] * 3, ["A", "B"] * 3), "labels").reading.endswith("there are no mistakes.")


def test_mistakes_that_are_equally_frequent_are_not_ranked():
    reading = one(labelled(["A", "B", "C"] * 4, [*"ABC" * 3, "B", "C", "A"]), "labels").reading
    assert reading.endswith("no mistake was made twice (3 different ones).")


# --- effort


def test_scores_are_told_by_length():
    length = np.arange(200, dtype=np.float64)
    columns = Columns(200, {"acc": (length < 100).astype(float)}, {"answer_chars": length})
    plot = one(columns, "effort-answer_chars")
    assert [row[1] for row in cells(plot.tables[0])] == ["20"] * 10
    assert plot.chart["y"] == [1.0] * 5 + [0.0] * 5
    assert "goes from 1.0000 to 0.0000; there is a clear rank correlation over 200 samples (-0.87)" in plot.reading


def test_intervals_of_groups_stay_in_the_range_of_the_metric():
    length = np.arange(60, dtype=np.float64)
    columns = Columns(60, {"acc": (length % 20 > 0).astype(float)}, {"answer_chars": length})
    results = {"results": [{"metric": "acc", "filter": "none", "bounds": [0, 1]}]}
    (plot,) = [plot for plot in plots_of(columns, results) if plot.name == "effort-answer_chars"]
    assert plot.chart["y"] == [0.95] * 3
    assert all(0.6 < low < 0.95 < high <= 1 for low, high in zip(plot.chart["low"], plot.chart["high"], strict=True))


def test_what_is_always_the_same_is_no_plot():
    columns = Columns(30, {"acc": np.ones(30)}, {"answer_chars": np.full(30, 7.0), "output_tokens": np.full(30, NAN)})
    assert [plot.name for plot in plots_of(columns, {})] == ["distribution-acc"]


def test_ranks_of_ties_are_their_mean():
    assert rank_correlation(floats(1, 2, 3), floats(10, 20, 30)) == pytest.approx(1.0)
    assert rank_correlation(floats(1, 2, 2, 3), floats(4, 3, 3, 1)) == pytest.approx(-1.0)
    assert rank_correlation(floats(1, 2), floats(5, 5)) is None


# --- the columns of choices


def test_labels_and_confidence_come_from_samples():
    columns = ChoiceColumns()
    columns.add(weighed([-1.0, -1.0], [" yes", " no"], target="no", answer="yes"))
    columns.add(sample(1, target="(b)", answer="a long text " * 20))
    columns.add(sample(2, target=None, answer=None))
    arrays, facts = columns.arrays(), columns.facts()
    assert facts["labels"]["target"] == ["no", "B"]
    assert [*arrays["label:target"]] == [0, 1, -1]
    assert [*arrays["label:answer"]] == [0, -1, -1]
    assert [*arrays["label:target_place"]] == [0, -1, -1]
    assert facts["labels"]["target_place"] == ["choice 2"]
    assert arrays["confidence"][0] == pytest.approx(0.5)
    assert np.isnan(arrays["confidence"][1])


def test_a_column_of_texts_does_not_grow_without_end():
    columns = ChoiceColumns()
    for number in range(3 * MOST_LABELS):
        columns.add(sample(number, target=f"text {number}", answer="x"))
    assert len(columns.facts()["labels"]["target"]) == MOST_LABELS
    assert columns.arrays()["label:target"][-1] == -2
    assert "confidence" not in columns.facts()


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("b.", "B"),
        ("(C)", "C"),
        ("Yes.", "yes"),
        ("NO", "no"),
        (3, "3"),
        (" two\nwords ", "two words"),
        ("x" * 99, None),
        (None, None),
    ],
)
def test_a_target_as_a_label(value, label):
    assert label_of(value) == label


# --- on a page


def test_a_page_has_the_numbers_of_each_plot_as_text():
    run = SyntheticRun()
    plots = plots_of(columns_of_index(SampleIndex(run.by_task["demo_receipts"])), run.results["tasks"]["demo_receipts"])
    text = page(plots)
    elements = Elements(text)
    assert len(elements.all("table")) >= len(plots) > 1
    assert len(elements.all("script")) == sum(plot.chart is not None for plot in plots)
    assert all(one["type"] == "application/json" for one in elements.all("script"))
    for plot in plots:
        assert plot.chart is None or json.loads(plot.data) == json.loads(json.dumps(plot.chart))


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_becomes_markup(text):
    columns = Columns(
        40,
        {text: np.arange(40) % 2.0},
        {"answer_chars": np.arange(40.0)},
        LabelColumn((text, "other"), np.arange(40) % 2),
        np.full(40, 0.5),
        {"target": LabelColumn((text, "b"), np.arange(40) % 2), "answer": LabelColumn((text, "b"), np.arange(40) % 2)},
    )
    plots = plots_of(columns, {})
    assert [plot.name.partition("-")[0] for plot in plots] == ["distribution", "reliability", "labels", "effort"]
    elements = Elements(page(plots))
    assert {tag for tag, _ in elements.found} <= {
        *("div", "section", "h3", "p", "script", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"),
        *("span", "svg", "rect", "ul", "li"),
    }
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]


def test_a_task_without_numbers_says_so():
    assert "Nothing to plot" in page([])
