"""Generated images in headless Chromium: beside their prompts, with verdicts, seeds, inputs and references."""

from __future__ import annotations

import pytest

from polymeter.report import make_html_report
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
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(address)
    yield page
    assert not troubles
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def open_sample(page, address: str, place: str) -> None:
    page.goto("about:blank")
    page.goto(f"{address}#{place}")


def test_nothing_more_is_offered_when_all_is_shown(page):
    assert page.locator("#more").is_hidden()


def test_the_list_shows_each_picture_with_its_prompt_and_value(page):
    page.get_by_label("Order").select_option("dataset")
    rows = page.locator("#list li")
    assert rows.count() == N_DRAWN + 1
    first = rows.first
    assert "prompt 0" in first.locator(".first").text_content()
    assert first.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 40
    assert first.locator(".mark-value").text_content() == "0.0000"
    assert rows.nth(N_DRAWN - 1).locator(".mark-failed").text_content() == "refused"


def test_several_pictures_stand_in_a_row_with_their_seeds(page, address):
    open_sample(page, address, "paint/row-002")
    figures = page.locator("#detail .gallery figure.made")
    assert figures.count() == 3
    assert [text.replace("\n", " ") for text in figures.locator("figcaption").all_text_contents()][1:] == [
        "Image 2seed 2001",
        "Image 3seed 2002",
    ]
    tops = figures.evaluate_all("all => all.map((one) => Math.round(one.getBoundingClientRect().top))")
    assert tops[0] == tops[1]
    assert "prompt 2" in page.locator("#detail .prompt").text_content()
    assert "two discs found" in page.locator("#detail .texts").last.text_content()
    assert page.locator("#detail .scores dd").text_content() == "0.5000"


def test_an_edit_goes_from_input_over_output_to_reference(page, address):
    open_sample(page, address, "edits/row-000")
    captions = page.locator("#detail .gallery figcaption strong").all_text_contents()
    assert captions == ["Input", "Output", "Reference"]
    page.locator("#detail summary", has_text="Log").click()
    assert "navy" not in page.locator("#detail details[open] pre").text_content(), "it is shown and not listed"
    assert '"steps": 4' in page.locator("#detail details[open] pre").text_content()


def test_an_image_opens_larger_with_its_seed(page, address):
    open_sample(page, address, "paint/row-001")
    page.get_by_title("Show at full size").nth(1).click()
    page.locator("#zoom p", has_text="px").wait_for()
    assert page.locator("#zoom p").inner_text().splitlines() == ["Image 2 · seed 1001", "40 × 30 px"]
    page.keyboard.press("Escape")
    assert not page.locator("#zoom").is_visible()


def test_a_refusal_says_so_and_strings_are_only_text(page, address):
    open_sample(page, address, "paint/row-005")
    assert "declined: <b>no</b>" in page.locator("#detail .failure").text_content()
    open_sample(page, address, "paint/row-004")
    assert "window.hacked" in page.locator("#detail").text_content()
    assert page.locator("#detail script, #detail b, #detail svg[onload]").count() == 0


def test_prompts_can_be_searched(page):
    page.get_by_label("Search").fill("make it blue")
    assert page.locator("#list li").count() == 1
