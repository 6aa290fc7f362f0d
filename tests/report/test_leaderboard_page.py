"""The page of a leaderboard and its plot, as text."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

from polymeter.report.leaderboard.page import leaderboard_values, make_leaderboard_page
from polymeter.report.leaderboard.rows import amount, columns_of
from polymeter.report.leaderboard.tables import to_csv, to_latex, to_markdown
from polymeter.report.scatter import scatter

HOSTILE = "</script><img src=x onerror='window.hacked = 1'>"


def cell(value: float, rank: list[int] | None, *footnotes: int) -> dict[str, Any]:
    return {
        "value": value, "stderr": 0.02, "interval": [value - 0.04, value + 0.04], "no_interval": "", "n": 300,
        "n_missing": 0, "rank": rank, "is_comparable": rank is not None, "footnotes": list(footnotes), "run": "r",
    }  # fmt: skip


def model(name: str, average: Any, cells: list[Any], tokens: int | None) -> dict[str, Any]:
    expense = {"n": 600, "input_tokens": tokens, "output_tokens": tokens, "seconds": 30.0, "cost": None}
    run = {"name": f"run-{name}", "path": f"runs/{name}", "ended": "2026-01-01T00:00:00+00:00"}
    return {"name": name, "model": name, "runs": [run], "average": average, "cells": cells, "expense": expense}


def document() -> dict[str, Any]:
    task = {"kind": "task", "filter": "none", "higher_is_better": True, "ranks": "paired", "n_ranked": 2}
    points = [
        {"model": "cheap", "x": 20.0, "y": 0.6, "interval": [0.56, 0.64], "is_on_front": True},
        {"model": "best", "x": 200.0, "y": 0.8, "interval": [0.76, 0.84], "is_on_front": True},
        {"model": HOSTILE, "x": 900.0, "y": 0.5, "interval": None, "is_on_front": False},
    ]
    average = {"value": 0.8, "interval": [0.77, 0.83], "rank": [1, 1]}
    return {
        "schema_version": 1, "kind": "leaderboard", "level": 0.95,
        "columns": [{**task, "name": "signs", "title": "signs", "metric": "anls"},
                    {**task, "name": "maps", "title": "maps", "metric": "accuracy"}],
        "average": {"columns": ["signs", "maps"], "ranks": "paired"},
        "models": [
            model("best", average, [cell(0.8, [1, 1]), cell(0.8, [1, 1])], 60_000),
            model("cheap", {**average, "value": 0.6, "rank": [2, 2]}, [cell(0.6, [2, 2]), None], 6_000),
            model(HOSTILE, None, [cell(0.5, None, 1), None], None),
        ],
        "footnotes": [f"other prompts: {HOSTILE}"], "notes": ["The average is the plain mean of signs and maps."],
        "left_out": [], "plot": {"x": "tokens", "x_unit": "tokens per sample", "y": "average",
                                 "higher_is_better": True, "points": points},
    }  # fmt: skip


def test_the_page_holds_values_intervals_and_ranks() -> None:
    page = make_leaderboard_page(document())
    assert 'title="95 % interval 0.760–0.840, rank 1, n 300"' in page
    assert 'title="95 % interval 0.460–0.540, not ranked, n 300"' in page
    assert page.count(">missing<") == 3
    assert page.count(">no average<") == 1
    assert 'href="#note-1"' in page
    assert 'id="note-1"' in page
    assert "<b>cheap</b> 0.600 for 20 tokens per sample" in page
    assert page == make_leaderboard_page(document())


def test_the_best_model_and_its_lead_stand_first() -> None:
    page = make_leaderboard_page(document())
    assert "best is best by average: 0.800 (95 % interval 0.770–0.830)." in page
    assert "Its lead is more than noise." in page
    close = document()
    close["models"][0]["average"] = {"value": 0.8, "interval": [0.7, 0.9], "rank": [1, 2]}
    close["models"][1]["average"] = {"value": 0.78, "interval": [0.7, 0.9], "rank": [1, 2]}
    page = make_leaderboard_page(close)
    assert "Its lead over cheap is no more than noise." in page
    assert 'class="apart"' not in page


def rows_of(values: dict[str, Any]) -> list[str]:
    return [row["name"] for row in values["rows"]]


def test_the_reader_chooses_the_column_that_sorts() -> None:
    usual = leaderboard_values(document())
    assert rows_of(usual) == ["best", "cheap", HOSTILE]
    assert usual["statement"] == "3 models, best first by average."
    assert [row["is_apart"] for row in usual["rows"]] == [False, True, False]
    assert [row["rank"] for row in usual["rows"]] == ["1", "2", ""]
    worst = leaderboard_values(document(), "signs:anls", "ascending")
    assert rows_of(worst) == ["cheap", "best", HOSTILE]  # the last one is not comparable
    assert worst["statement"] == "3 models, worst first by signs."
    assert [row["rank"] for row in worst["rows"]] == ["2", "1", "–"]
    cheapest = leaderboard_values(document(), "tokens")
    assert rows_of(cheapest) == ["cheap", "best", HOSTILE]  # nothing is known of the last one
    assert cheapest["statement"] == "3 models, least first by Tokens."
    assert rows_of(leaderboard_values(document(), "model")) == [HOSTILE, "best", "cheap"]
    assert rows_of(leaderboard_values(document(), "no such column", "sideways")) == rows_of(usual)


def test_heads_are_links_where_a_server_sorts() -> None:
    values = leaderboard_values(document(), "tokens", "", lambda key, order: f"/?sort={key}&order={order}")
    links = {head["key"]: head["link"] for head in values["columns"]}
    assert links["average"] == "/?sort=average&order="
    assert links["tokens"] == "/?sort=tokens&order=descending"  # once more turns the order around
    assert {head["key"]: head["aria"] for head in values["columns"]}["tokens"] == "ascending"


def test_groups_stand_before_tasks_and_usage_last() -> None:
    given = document()
    given["columns"].append({**given["columns"][0], "kind": "group", "name": "all", "title": "all"})
    for own in given["models"]:
        own["cells"].append(None)
    values = leaderboard_values(given)
    assert values["spans"] == [("", 1), ("Groups", 1), ("Tasks", 2), ("Usage", 2)]
    assert [head["title"] for head in values["columns"]] == ["average", "all", "signs", "maps", "Tokens", "Time"]


@pytest.mark.parametrize(
    ("key", "taken", "shown"),
    [
        ("seconds", 0.00095, "0.95 ms"), ("seconds", 0.05, "50 ms"), ("seconds", 0.4, "400 ms"),
        ("seconds", 1.25, "1.2 s"), ("seconds", 200.0, "3 min 20 s"), ("seconds", 0.0, "0 ms"),
        ("tokens", 20.0, "20"), ("tokens", 1234.5, "1,234"), ("tokens", 2.417, "2.42"),
        ("cost", 0.0000123, "0.000012"), ("cost", 0.25, "0.25"), ("cost", 3.5, "3.5"), ("cost", 0.0, "0"),
    ],
)  # fmt: skip
def test_usage_has_units_that_need_few_digits(key: str, taken: float, shown: str) -> None:
    assert amount(key, taken) == shown


def test_a_plot_of_short_times_is_in_milliseconds() -> None:
    given = document()
    given["plot"] |= {"x": "time", "x_unit": "seconds per sample"}
    for point in given["plot"]["points"]:
        point["x"] /= 1e5
    page = make_leaderboard_page(given)
    assert "Average against milliseconds per sample" in page
    assert "<b>cheap</b> 0.600 for 0.2 milliseconds per sample" in page


def test_the_note_of_a_plot_speaks_of_the_models_drawn() -> None:
    given = document()
    given["plot"]["points"] = [{**point, "is_on_front": point["model"] == "best"} for point in given["plot"]["points"]]
    page = make_leaderboard_page(given)
    assert "best has the best score and the fewest tokens." in page
    assert "models drawn" not in page
    del given["plot"]["points"][2]
    assert "Of the 2 models drawn, best has the best score and the fewest tokens." in make_leaderboard_page(given)
    del given["plot"]["points"][0]
    page = make_leaderboard_page(given)
    assert "Only best can be drawn. Not drawn: 2 models without both values." in page
    assert "has the best score" not in page


def test_nothing_of_others_is_markup() -> None:
    page = make_leaderboard_page(document())
    assert "<img" not in page
    assert "</script><img" not in page
    assert "&lt;img" in page
    assert "<img" not in to_markdown(document())
    assert "style=" not in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)', page)


def test_a_board_without_plot_average_and_ranks() -> None:
    bare = copy.deepcopy(document())
    bare["plot"] = bare["average"] = None
    for own in bare["models"]:
        own["average"] = None
    page = make_leaderboard_page(bare)
    assert '<svg class="scatter' not in page
    assert "by signs" in page


def test_every_table_shows_what_is_missing() -> None:
    assert "| cheap | 0.600 (0.770–0.830) | 2 | 0.600 (0.560–0.640) | 2 | missing | – |" in to_markdown(document())
    assert "0.500 (0.460--0.540) [1] & -- & missing & --" in to_latex(document())
    assert to_csv(document()).count(",missing\n") == 2


def test_a_wide_range_is_drawn_on_a_logarithmic_axis() -> None:
    plot = document()["plot"]
    assert "(logarithmic)" in scatter(plot, width=760, height=400, kind="wide")
    plot["points"][2]["x"] = 100.0
    assert "(logarithmic)" not in scatter(plot, width=760, height=400, kind="wide")


def test_points_keep_their_order_on_both_axes() -> None:
    drawn = scatter(document()["plot"], width=760, height=400, kind="wide")
    places = {
        name: (float(x), float(y))
        for x, y, name in re.findall(r'<circle class="\w+" cx="([\d.]+)" cy="([\d.]+)" r="4.5"><title>(\w+):', drawn)
    }
    assert places["cheap"][0] < places["best"][0]
    assert places["cheap"][1] > places["best"][1]
    assert all(0 < x < 760 and 0 < y < 400 for x, y in places.values())


def test_one_point_can_be_drawn() -> None:
    plot = document()["plot"]
    plot["points"] = [{"model": "only", "x": 5.0, "y": 0.5, "interval": None, "is_on_front": True}]
    drawn = scatter(plot, width=326, height=340, kind="narrow")
    assert ">only<" in drawn
    assert "nan" not in drawn


def test_tasks_stand_behind_the_groups_that_hold_them() -> None:
    found = document()
    base = found["columns"][0]
    nested = {"signs": ["all", "text"], "all": [], "text": ["all"], "maps": [], "lonely": [], "scans": ["not shown"]}
    kinds = {"all": "group", "text": "group", "lonely": "group"}
    found["columns"] = [
        {**base, "name": name, "title": name.title(), "kind": kinds.get(name, "task"), "groups": above}
        for name, above in nested.items()
    ]
    found["average"], found["plot"] = None, None
    for one in found["models"]:
        one["average"], one["cells"] = None, [None] * len(nested)
    shown = [(one.title, one.group) for one in columns_of(found) if not one.is_usage]
    assert shown == [
        *[("All", "All"), ("Text", "All"), ("Signs", "All")],
        *[("Lonely", "Groups"), ("Maps", "Tasks"), ("Scans", "Tasks")],
    ]
