"""The curve of a training as page, table and words."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest

from polymeter.report.curve.page import FULL, HALF, NARROW, make_curve_page
from polymeter.report.curve.tables import COLUMNS, to_csv
from polymeter.report.curve.text import sentences, troubles

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"


def gap(to: int, size: float, verdict: str, **values: Any) -> dict[str, Any]:
    return {
        "to": to, "n": 40, "first": 0.5, "second": 0.5 + size, "difference": size, "stderr": 0.01,
        "interval": [size - 0.02, size + 0.02], "no_interval": "", "p_value": 0.01, "p_method": "McNemar, exact",
        "p_corrected": 0.02, "family": 3, "detectable": 0.03, "wins": 4, "ties": 30, "losses": 6, "n_only_first": 0,
        "n_only_second": 0, "n_neither": 0, "false_positive_rate": 0.05, "effect_size": 0.2, "odds_ratio": None,
        "verdict": verdict, **values,
    }  # fmt: skip


def point(step: int, value: float | None, **values: Any) -> dict[str, Any]:
    interval = None if value is None else [value - 0.05, value + 0.05]
    return {"step": step, "value": value, "stderr": 0.02, "interval": interval, "n": 40, "difference": None, **values}


def line(name: str, points: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    known = {one["step"]: one["value"] for one in points if one["value"] is not None}
    return {
        "kind": "task", "name": name, "title": name, "metric": "acc", "filter": "none", "higher_is_better": True,
        "is_main": True, "best": max(known, key=lambda step: known[step], default=None), "points": points, **values,
    }  # fmt: skip


def document(*lines: dict[str, Any], **values: Any) -> dict[str, Any]:
    steps = sorted({one["step"] for line in lines for one in line["points"]})
    points = [
        {
            "step": step, "name": f"checkpoint-{step}", "status": "measured", "error": "", "n_failed": 0,
            "run": f"r/{step}", "refused": "",
        }
        for step in steps
    ]  # fmt: skip
    return {
        "folder": "runs/track/out", "checkpoints_folder": "out", "against": "best", "warnings": [],
        "checkpoints": points, "lines": list(lines), **values,
    }  # fmt: skip


def grown(n: int = 4) -> dict[str, Any]:
    verdicts = ["better", "worse", "not shown"]
    points = [
        point(100 * k, 0.5 + 0.01 * k, difference=gap(100 * (k - 1), 0.01, verdicts[k % 3]) if k > 1 else None)
        for k in range(1, n + 1)
    ]
    return document(line("signs", points), line(f"other {HOSTILE}", points, higher_is_better=False, best=100))


def test_a_page_shows_every_checkpoint_and_escapes_names() -> None:
    page = make_curve_page(grown())
    assert page.count('<figure class="chart') == 2
    assert page.count('<g class="mark-') >= 8
    assert page.count('<span class="is-best">best</span>') == 2
    assert "<script>window.hacked" not in page
    assert "<img" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page == make_curve_page(grown())


@pytest.mark.parametrize("n", [1, 2, 3, 20, 200])
def test_everything_is_drawn_inside_the_drawing(n: int) -> None:
    page = make_curve_page(grown(n))
    found = re.findall(r"<svg class=\"(\w+)\" viewBox=\"0 0 (\d+) (\d+)\"(.*?)</svg>", page, re.S)
    assert [(kind, float(width)) for kind, width, *_ in found] == [("wide", HALF.width), ("narrow", NARROW.width)] * 2
    for _, width, height, drawing in found:
        xs = [float(x) for x in re.findall(r" (?:x|cx)=\"([-\d.]+)\"", drawing)]
        ys = [float(y) for y in re.findall(r" (?:y|cy)=\"([-\d.]+)\"", drawing)]
        assert 0 <= min(xs) <= max(xs) <= float(width)
        assert 0 <= min(ys) <= max(ys) <= float(height)
        assert 1 <= drawing.count('class="ticks"') <= float(width) / 50
        assert 2 <= drawing.count('class="grid"') <= 7
        assert drawing.count('class="band"') == (n > 1)
        assert drawing.count('class="bar"') == (n == 1)


def test_the_only_drawing_of_a_page_uses_its_width() -> None:
    page = make_curve_page(document(line("signs", [point(100, 0.5), point(200, 0.6)])))
    assert f'viewBox="0 0 {FULL.width:g} {FULL.height:g}"' in page


def test_the_newest_checkpoint_and_the_best_one_stand_first() -> None:
    points = [point(100, 0.6), point(200, 0.7, difference=gap(100, 0.1, "better"))]
    points.append(point(300, 0.65, difference=gap(200, -0.05, "worse")))
    page = make_curve_page(document(line("signs", points)))
    told = "Step 300 is worse than step 200 on signs, by 0.050 acc (95 % interval 0.030 to 0.070; corrected p = 0.020)."
    assert f'<p class="lead-text">{told}</p>' in page
    assert "Best checkpoint: <strong>step 200, 0.700 (95 % interval 0.650 to 0.750)</strong>" in page
    assert "+0.050 since step 100 (0.600 to 0.650)" in page
    assert page.index(told) < page.index("<figure")
    alone = make_curve_page(document(line("signs", points[:1])))
    assert "Step 100 has 0.600 (95 % interval 0.550 to 0.650) on signs" in alone
    assert "which is the newest" in alone


def test_values_that_are_equal_or_missing_are_drawn() -> None:
    flat = line("flat", [point(1, 0.0, interval=None), point(2, 0.0, interval=None), point(3, None)])
    nothing = line("nothing", [point(1, None), point(2, None)])
    page = make_curve_page(document(flat, nothing))
    assert "nothing: no value" in page
    assert "NaN" not in page
    assert make_curve_page(document()).count("<figure") == 0


def test_the_newest_checkpoint_is_put_into_words() -> None:
    points = [point(100, 0.7), point(200, 0.6, difference=gap(100, -0.1, "worse"))]
    (told,) = sentences(document(line("signs", points)))
    assert told.startswith("signs: step 100 is better, by 0.100 (95 % interval 0.080 to 0.120).")
    assert "best value" not in told  # it is the one compared with
    points[1]["difference"]["to"] = 50
    assert "The best value so far is that of step 100, 0.700." in next(sentences(document(line("signs", points))))
    (told,) = sentences(document(line("signs", points[:1])))
    assert told == "signs: acc of step 100 is 0.700 (95 % interval 0.650 to 0.750)."


def test_troubles_name_what_has_no_numbers() -> None:
    given = grown(2)
    given["checkpoints"][0] |= {"status": "failed", "error": "no weights\x1b[31m"}
    given["checkpoints"][1] |= {"n_failed": 3, "refused": "prompts differ"}
    assert list(troubles(given)) == [
        "checkpoint-100 failed: no weights\ufffd[31m",
        "checkpoint-200: 3 samples without a score.",
        "checkpoint-200 is not compared: prompts differ",
    ]


def test_csv_has_a_row_for_each_number_and_no_formula() -> None:
    given = document(line("=cmd()", [point(100, 0.5), point(200, 0.4, difference=gap(100, -0.1, "worse"))]))
    rows = list(csv.DictReader(io.StringIO(to_csv(given))))
    assert tuple(rows[0]) == COLUMNS
    assert [row["name"] for row in rows] == ["'=cmd()"] * 2
    assert rows[1]["difference"] == "-0.1"
    assert (rows[1]["difference_low"], rows[1]["p_corrected"], rows[1]["n_only_here"]) == (
        "-0.12000000000000001",
        "0.02",
        "0",
    )
    assert (rows[0]["against"], rows[0]["run"]) == ("", "r/100")


def test_words_of_the_newest_tell_how_often_its_test_errs() -> None:
    often = gap(1, 0.2, "better", false_positive_rate=0.0703, p_corrected=0.04)
    found = document(line("a", [point(1, 0.5), point(2, 0.7, difference=often)]))
    assert any("the test finds 7.0 % of equal models different, not 5 %." in text for text in sentences(found))
