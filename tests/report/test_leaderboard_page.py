"""The page of a leaderboard and its plot, as text."""

from __future__ import annotations

import copy
import re
from typing import Any

from polymeter.report.leaderboard.page import make_leaderboard_page
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
    assert "rank 1<" in page
    assert "0.760–0.840" in page
    assert page.count(">missing<") == 2
    assert page.count(">no average<") == 1
    assert 'href="#note-1"' in page
    assert 'id="note-1"' in page
    assert "<b>cheap</b> 0.600 for 20 tokens per sample" in page
    assert page == make_leaderboard_page(document())


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
