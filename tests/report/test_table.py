"""The result table: which lines it has, how numbers look, and what stands under it."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from polymeter.report import footnotes, print_table, table_lines, to_markdown, to_text
from polymeter.report.formatting import clean, duration, moment, number
from tests.report.synthetic import SyntheticRun, result, task


def results_of(*results: dict, n: int = 10, **values) -> dict:
    return {
        "status": "complete",
        "tasks": {"t": task("Title", list(results), n, **values)},
        "groups": {},
        "layout": [],
        "notes": [],
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.84123, "0.8412"),
        (0.0, "0.0000"),
        (0.00001234, "1.23e-05"),
        (63.21456, "63.215"),
        (812.345, "812.35"),
        (1634.5249, "1634.5"),
        (7, "7"),
        (True, "true"),
        (math.nan, "NaN"),
        (-math.inf, "-∞"),
        ("a\nb", "a b"),
        ([1, 2], "[1, 2]"),
        ("x" * 90, "x" * 59 + "…"),
    ],
)
def test_a_number_is_as_long_as_it_means_something(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.27, "4.3 s"), (41.3, "41 s"), (185, "3 min 05 s"), (7805, "2 h 10 min")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_moment_is_given_to_the_minute_and_nonsense_as_it_is():
    assert moment("2026-11-20T13:40:21+00:00") == "2026-11-20 13:40 UTC"
    assert moment("yesterday") == "yesterday"


def test_groups_come_first_and_their_members_are_indented():
    lines = table_lines(SyntheticRun().results)
    named = [(line.depth, line.alias) for line in lines if line.alias]
    assert named[:5] == [(0, "Demo (reading)"), (1, "Receipts"), (1, "Signs"), (2, "latin"), (2, "cjk")]
    assert [line.metric for line in lines if line.name == "demo_receipts"] == ["anls", "cer", "wer"]
    assert [line.direction for line in lines if line.name == "demo_receipts"] == ["↑", "↓", "↓"]


def test_a_task_outside_the_layout_is_not_lost():
    assert [line.alias for line in table_lines(results_of(result("acc", 0.5, 10)))] == ["Title"]


def test_version_and_shots_stand_on_the_first_line_only():
    lines = table_lines(results_of(result("a", 0.5, 10), result("b", 0.5, 10), num_fewshot=5))
    assert [(line.version, line.n_shot) for line in lines] == [("1.0", "5"), ("", "")]


def test_n_says_how_many_are_missing():
    lines = table_lines(results_of(result("acc", 0.5, 8), result("f1", 0.5, 10), n=10, n_scored=8))
    assert [line.n for line in lines] == ["8 of 10", "10"]


def test_n_is_of_those_that_a_metric_was_to_rest_on():
    results = results_of(result("acc", 0.5, 9, n_planned=10), result("circular", 0.5, 10, n_planned=10), n=30)
    assert [line.n for line in table_lines(results)] == ["9 of 10", "10"]
    results["groups"]["g"] = {"alias": "G", "version": "", "members": ["t"], "results": [result("acc", 0.5, 9)]}
    results["layout"] = [["group", "g", 0]]
    assert table_lines(results)[0].n == "9 of 10"


def test_a_group_counts_the_tasks_that_have_its_metric():
    results = SyntheticRun().results
    assert next(line.n for line in table_lines(results) if line.kind == "group") == "38 of 40"


def test_groups_that_contain_themselves_do_not_hang():
    results = results_of(result("acc", 0.5, 10))
    results["groups"]["g"] = {"alias": "G", "version": "", "members": ["g", "t"], "results": [result("acc", 0.5, 10)]}
    results["layout"] = [["group", "g", 0], ["task", "t", 1]]
    assert [line.n for line in table_lines(results)] == ["10", "10"]


def test_a_value_with_keys_is_spread():
    value = {"en": 0.25, "deep": {"x": {"y": {"z": 1}}}, "none": None, "empty": {}}
    lines = table_lines(results_of(result("acc", value, 10, stderr=0.1, interval=[0.1, 0.3])))
    assert [(line.metric, line.value) for line in lines] == [
        ("acc/en", "0.2500"),
        ("acc/deep/x/y", '{"z": 1}'),
        ("acc/none", "–"),
        ("acc/empty", "{}"),
    ]
    assert {line.stderr for line in lines} == {"–"}
    assert {line.interval for line in lines} == {None}


def test_a_task_without_results_still_has_a_line():
    lines = table_lines(results_of(n=10, n_scored=0))
    assert [(line.alias, line.value, line.n) for line in lines] == [("Title", "–", "0 of 10")]


def test_a_task_with_subsets_alone_has_a_line_of_its_own():
    lines = table_lines(results_of(result("acc", 0.5, 4, subset=["math", "easy"])))
    assert [(line.depth, line.alias, line.n) for line in lines] == [(0, "Title", ""), (1, "math/easy", "4")]


def test_nan_is_no_number_to_draw_and_no_dash():
    (line,) = table_lines(results_of(result("acc", math.nan, 0, interval=[math.nan, 1.0])))
    assert (line.value, line.number, line.interval) == ("NaN", None, None)


def test_footnotes_name_every_way_a_sample_can_be_missing():
    results = results_of(
        result("acc", 0.5, 5),
        n=10,
        n_scored=5,
        statuses={"ok": 5, "error": 2, "refused": 1},
        n_length=1,
        truncation={"n_answers": 50, "length": {"n": 1}, "images": {"n": 2, "advice": "raise it"}},
        n_nondeterministic=2,
    )
    results |= {"status": "stopped", "notes": ["A note\nin two lines."]}
    assert footnotes(results) == [
        "This run was stopped before its end. The numbers cover the samples that had ended by then.",
        "Title: 5 of 10 samples without a score (2 errors, 1 refused and 2 not run).",
        "Title: 1 of 50 answers ended at the token limit (2.0 %): raise --gen-kwargs max_new_tokens=N.",
        "WARNING: Title: 2 of 50 answers rest on images that the processor scaled down (4.0 %): raise it.",
        "Title: 2 samples made a different request when replayed.",
        "A note in two lines.",
    ]


def test_an_older_run_shows_what_it_counted():
    assert footnotes(results_of(result("acc", 0.5, 10), n_length=1, n_unfinished=2)) == [
        "Title: 1 answer ended at the token limit: raise --gen-kwargs max_new_tokens=N.",
        "Title: 2 answers are empty after the reasoning: raise --gen-kwargs max_new_tokens=N if they ended at the "
        "limit.",
    ]


def test_a_clean_run_has_no_footnotes():
    assert footnotes(results_of(result("acc", 0.5, 10))) == []


def test_plain_text_has_one_line_for_each_and_no_colours():
    text = to_text(SyntheticRun().results)
    assert "\x1b" not in text
    receipts = next(line for line in text.splitlines() if "demo_receipts" in line)
    interval = ["0.7993", "–", "0.8832"]
    assert receipts.split()[:6] == ["demo_receipts", "1.0", "none", "0", "anls", "↑"]
    assert receipts.split()[6:] == ["0.8412", "0.0214", *interval, "38", "of", "40"]


def test_equal_values_have_no_standard_error():
    assert "| 1.0000 | – |" in to_markdown(results_of(result("acc", 1.0, 10, stderr=0.0)))


def test_a_name_can_be_typed_again_and_an_interval_is_shown():
    text = to_text(results_of({**result("acc", 0.5, 10, stderr=0.1), "interval": [0.3, 0.7]}))
    assert "Title" not in text
    assert " t " in text
    assert "0.3000 – 0.7000" in text


def test_the_filter_column_names_each_filter():
    assert "strict-match" in to_text(results_of(result("acc", 0.5, 10, filter="strict-match")))


def test_markup_and_escapes_of_foreign_names_stay_text():
    results = results_of(result("[red]acc[/red]\x1b[2J\u202e", 0.5, 10))
    buffer = io.StringIO()
    print_table(Console(file=buffer, force_terminal=True, width=160, color_system="standard"), results)
    assert "[red]acc[/red]" in buffer.getvalue()
    assert "\x1b[2J" not in buffer.getvalue()
    assert "\u202e" not in buffer.getvalue()
    assert clean("a\tb\nc") == "a\tb\nc"


def test_markdown_escapes_what_would_be_markup():
    text = to_markdown(results_of(result("a|b <i>*c*", 0.5, 10), statuses={"ok": 9, "error": 1}))
    assert "| a\\|b &lt;i&gt;\\*c\\* | ↑ | 0.5000 | – | 10 |" in text
    assert text.endswith("\n- Title: 1 of 10 samples without a score (1 error).\n")
    assert {line.count(" | ") for line in text.splitlines() if line.startswith("|")} == {8}


def test_a_narrow_terminal_keeps_every_number():
    buffer = io.StringIO()
    print_table(Console(file=buffer, width=80), SyntheticRun().results)
    assert buffer.getvalue().count("0.8412") == 2


def printed(results: dict, width: int) -> list[str]:
    buffer = io.StringIO()
    print_table(Console(file=buffer, width=width, color_system=None), results)
    return buffer.getvalue().splitlines()


INTERVAL = ["95", "%", "interval"]


def with_alias(alias: str, results: dict) -> dict:
    results["tasks"]["t"]["alias"] = alias
    return results


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100, 140])
def test_no_number_is_ever_cut_or_broken(width):
    results = results_of(
        result("exact_match_under_a_long_name", 1634.5249, 12345, stderr=0.01234, filter="flexible-extract"),
        result("cer", 0.1274, 12345, stderr=0.018, higher_is_better=False),
        result("text", "a long value that is no number at all, but text", 5),
        n=123456,
        n_scored=12345,
    )
    lines = printed(with_alias("a_very_long_task_name_of_the_kind_that_benchmarks_with_subsets_have", results), width)
    assert not any("…" in line for line in lines)
    for text in ("1634.5", "0.0123", "0.1274", "0.0180", "12,345 of 123,456", "5 of 123,456"):
        assert any(text in line for line in lines), text


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (140, ["task", "version", "filter", "n-shot", "metric", "value", "stderr", *INTERVAL, "n"]),
        (95, ["task", "filter", "n-shot", "metric", "value", "stderr", *INTERVAL, "n"]),
        (85, ["task", "filter", "metric", "value", "stderr", *INTERVAL, "n"]),
        (75, ["task", "metric", "value", "stderr", *INTERVAL, "n"]),
        (60, ["task", "metric", "value", "stderr", "n"]),
    ],
)
def test_a_narrow_terminal_goes_without_what_matters_least(width, heads):
    found = {**result("exact_match", 0.5, 8, stderr=0.25), "interval": [0.25, 0.75]}
    results = results_of(found, n=10, n_scored=8)
    results["tasks"] = {"a_task_with_a_name_of_some_length": results["tasks"]["t"]}
    lines = printed(results, width)
    assert lines[1].split() == heads
    assert max(map(len, lines[:-1])) <= width


def test_a_filter_and_an_arrow_without_a_column_stand_behind_the_metric():
    lines = printed(results_of(result("f1", 0.5, 12345, filter="x", stderr=0.25), n=23456, n_scored=12345), 40)
    assert lines[3].split() == ["t", "f1,", "x", "↑", "0.5000", "0.2500", "12,345", "of", "23,456"]
