"""axe finds nothing on the pages of a run and of a comparison, at any width, in either colour scheme."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from polymeter.report import make_html_report
from polymeter.report.comparison.page import make_comparison_page
from tests.helpers.accessibility import SCHEMES, WIDTHS, expand, overflowing, violations
from tests.helpers.browsing import expect, opened
from tests.report.drawn import DrawnRun
from tests.report.synthetic import SyntheticRun
from tests.report.test_ablation_page import page as ablation_page
from tests.report.test_comparison_page import document, pairs

pytestmark = pytest.mark.browser


def comparison() -> str:
    run, samples = pairs()
    return make_comparison_page(document(), samples, 40, run.media)


def report() -> str:
    run = SyntheticRun()
    return make_html_report(run.manifest, run.results, run.samples, run.media)


def drawn() -> str:
    run = DrawnRun()
    return make_html_report(run.manifest, run.results, run.samples, run.media)


def ablation() -> str:
    return ablation_page()


@pytest.fixture(scope="module", params=[comparison, report, drawn, ablation], ids=lambda made: made.__name__)
def address(request, tmp_path_factory) -> str:
    make: Callable[[], str] = request.param
    file: Path = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(make(), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_and_nothing_sticks_out(browser, address, width, scheme) -> None:
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(browser, is_examined=True, **view) as page:
        page.goto(address)
        assert overflowing(page) == []
        assert violations(page) == []
        buttons = page.locator("#list button:visible:not(.image-button)")
        if buttons.count():
            buttons.nth(buttons.count() // 2).click()  # the page of a run opens a sample
        expand(page)
        assert overflowing(page) == []
        assert violations(page) == []
        if page.get_by_title("Show at full size").count():
            page.get_by_title("Show at full size").first.click()
            expect(page.locator("dialog[open]")).to_be_visible()
            assert violations(page) == []


def test_axe_is_really_asked(browser) -> None:
    page = browser.new_page()
    page.set_content("<html lang=en><title>t</title><main><h1>t</h1><img src='data:,'><button></button></main></html>")
    assert {line.split(" ")[0] for line in violations(page)} == {"image-alt", "button-name"}
    page.set_viewport_size({"width": 300, "height": 300})
    page.set_content("<html lang=en><title>t</title><main><p style='width: 900px'>wide</p></main></html>")
    assert overflowing(page)
    page.close()
