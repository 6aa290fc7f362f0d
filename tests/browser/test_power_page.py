"""The page of a power analysis in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report.power.page import make_power_page
from tests.helpers.accessibility import overflowing, violations
from tests.helpers.browsing import expect, opened

pytestmark = pytest.mark.browser

DOCUMENT = {
    "schema_version": 1, "kind": "power", "alpha": 0.05, "power": 0.8, "std": None, "correlation": 0.5,
    "runs": ["a-run-with-a-name-that-is-longer-than-a-small-screen-is-wide"], "needed": [], "others": [],
    "unfinished": [],
    "scores": [
        {
            "task": name, "title": name, "metric": "exact_match", "filter": "none", "run": "one", "n": 400, "std": 0.46,
            "design_effect": 1.7, "n_clusters": 120, "correlation": 0.5, "is_measured": False,
            "detectable_paired": 0.065, "detectable_unpaired": 0.092, "repeats": None,
            "needed": [
                {"difference": 0.02, "paired": 4_189, "unpaired": 8_378},
                {"difference": 0.1, "paired": 168, "unpaired": 336},
            ],
        }
        for name in ("sums", "a_benchmark_with_a_name_that_is_longer_than_a_small_screen_is_wide")
    ],
}  # fmt: skip


@pytest.fixture(params=[360, 768, 1440])
def page(request, browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(make_power_page(DOCUMENT), encoding="utf-8")
    with opened(browser, viewport={"width": request.param, "height": 900}) as page:
        page.goto(file.as_uri())
        yield page


def test_nothing_sticks_out(page):
    assert overflowing(page) == []


def test_a_small_screen_shows_every_number_without_scrolling_sideways(page):
    if page.viewport_size["width"] == 360:
        outside = """() => [...document.querySelectorAll("td")].filter((cell) =>
            cell.getBoundingClientRect().right > window.innerWidth).length"""
        assert page.evaluate(outside) == 0
        named = 'getComputedStyle([...document.querySelectorAll("td")].at(-3), "::before").content'
        assert page.evaluate(named) == '"samples needed, same"'


def test_tables_stay_tables(page):
    expect(page.get_by_role("table")).to_have_count(2)
    expect(page.get_by_role("cell", name="4,189")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert violations(page) == []
