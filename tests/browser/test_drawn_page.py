"""Generated images in headless Chromium: beside their prompts, with verdicts, seeds, inputs and references."""

from __future__ import annotations

import pytest

from polymeter.report import make_html_report
from tests.helpers.accessibility import overflowing
from tests.helpers.browsing import expect, opened, settle
from tests.report.drawn import N_DRAWN, DrawnRun

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    run = DrawnRun()
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(make_html_report(run.manifest, run.results, run.samples, run.media), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(
    params=[(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")], ids=lambda one: f"{one[0]}-{one[1]}"
)
def page(request, browser, address):
    width, scheme = request.param
    with opened(browser, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        page.goto(address)
        yield page
        assert overflowing(page) == []


def open_sample(page, address: str, place: str) -> None:
    page.goto("about:blank")
    page.goto(f"{address}#{place}")


def test_nothing_more_is_offered_when_all_is_shown(page):
    expect(page.locator("#list li")).not_to_have_count(0)
    expect(page.locator("#more")).to_be_hidden()


def test_the_list_shows_each_picture_with_its_prompt_and_value(page):
    page.get_by_label("Order").select_option("dataset")
    rows = page.locator("#list li")
    expect(rows).to_have_count(N_DRAWN + 1)
    first = rows.first
    expect(first.locator(".first")).to_contain_text("prompt 0")
    assert first.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 40
    expect(first.locator(".mark-value")).to_have_text("0.0000")
    expect(rows.nth(N_DRAWN - 1).locator(".mark-failed")).to_have_text("refused")


def test_several_pictures_stand_in_a_row_with_their_seeds(page, address):
    open_sample(page, address, "paint/row-002")
    figures = page.locator("#detail .gallery figure.made")
    expect(figures).to_have_count(3)
    for number, caption in ((1, "Image 2seed 2001"), (2, "Image 3seed 2002")):
        expect(figures.nth(number).locator("figcaption")).to_have_text(caption)
    settle(page)
    tops = figures.evaluate_all("all => all.map((one) => Math.round(one.getBoundingClientRect().top))")
    assert tops[0] == tops[1]
    expect(page.locator("#detail-title")).to_contain_text("prompt 2")
    expect(page.locator("#detail .texts").last).to_contain_text("two discs found")
    expect(page.locator("#detail .scores dd")).to_have_text("0.5000")


def test_an_edit_goes_from_input_over_output_to_reference(page, address):
    open_sample(page, address, "edits/row-000")
    expect(page.locator("#detail .gallery figcaption strong")).to_have_text(["Input", "Output", "Reference"])
    page.locator("#detail summary", has_text="Log").click()
    log = page.locator("#detail details[open] pre")
    expect(log).to_contain_text('"steps": 4')
    expect(log, "it is shown and not listed").not_to_contain_text("navy")


def test_an_image_opens_larger_with_its_seed(page, address):
    open_sample(page, address, "paint/row-001")
    page.get_by_title("Show at full size").nth(1).click()
    expect(page.locator("#zoom p")).to_have_text("Image 2 · seed 1001 40 × 30 px", use_inner_text=True)
    page.keyboard.press("Escape")
    expect(page.locator("#zoom")).to_be_hidden()


def test_a_refusal_says_so_and_strings_are_only_text(page, address):
    open_sample(page, address, "paint/row-005")
    expect(page.locator("#detail .failure")).to_contain_text("declined: <b>no</b>")
    open_sample(page, address, "paint/row-004")
    expect(page.locator("#detail")).to_contain_text("window.hacked")
    expect(page.locator("#detail script, #detail b, #detail svg[onload]")).to_have_count(0)


def test_prompts_can_be_searched(page):
    page.get_by_label("Search").fill("make it blue")
    expect(page.locator("#list li")).to_have_count(1)
