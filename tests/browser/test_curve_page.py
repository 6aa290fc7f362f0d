"""The page of a training's curve in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report.curve.page import make_curve_page
from tests.report.test_curve import grown

pytestmark = pytest.mark.browser


@pytest.fixture(params=[(360, 20), (768, 1), (768, 20), (1440, 2), (1440, 20)])
def page(request, browser, tmp_path):
    width, n = request.param
    file = tmp_path / "page.html"
    file.write_text(make_curve_page(grown(n)), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900})
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else troubles.append(asked.url))
    page.goto(file.as_uri())
    yield page
    assert not troubles
    assert page.evaluate("window.hacked") is None
    page.close()


def test_nothing_sticks_out(page):
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    wide = """() => [...document.querySelectorAll("main *")].filter((node) => node.getClientRects().length &&
        node.getBoundingClientRect().right > window.innerWidth + 1).length"""
    assert page.evaluate(wide) == 0


def test_labels_can_be_read(page):
    sizes = """() => [...document.querySelectorAll(".chart text")].map((node) => node.getBoundingClientRect().height)"""
    assert min(page.evaluate(sizes)) >= 9


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.emulate_media(color_scheme=scheme)
    # axe is a script, which the page's own policy would not let in
    found = axe.Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
