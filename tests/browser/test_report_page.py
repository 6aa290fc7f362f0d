"""The report page in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report import make_html_report
from tests.report.synthetic import SyntheticRun

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    run = SyntheticRun()
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(make_html_report(run.manifest, run.results, run.samples, run.media), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(params=[(1280, 900), (400, 860)], ids=["wide", "narrow"])
def page(request, browser, address):
    width, height = request.param
    page = browser.new_page(viewport={"width": width, "height": height})
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else troubles.append(asked.url))
    page.goto(address)
    yield page
    assert not troubles
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.close()


def is_narrow(page) -> bool:
    return page.viewport_size["width"] < 500


def open_row(page, number: int) -> None:
    if is_narrow(page) and page.locator("#panes.is-open").count():
        page.get_by_role("button", name="All samples").click()
    page.locator("#list button").nth(number).click()


def test_all_samples_are_listed_the_failed_first(page):
    assert page.locator("#count").text_content() == "75 samples"
    assert page.locator("#list li").count() == 75
    assert page.locator("#list .mark-failed").all_text_contents() == ["error", "refused", "error"]
    assert page.locator("#list li").nth(2).locator(".mark-failed").count() == 1


def test_filters_narrow_the_list(page):
    page.get_by_label("Task").select_option(label="Signs (24)")
    assert page.locator("#count").text_content() == "24 of 75 samples"
    page.get_by_label("Task").select_option(label="All tasks")
    page.get_by_label("Status").select_option("refused")
    assert page.locator("#list li").count() == 1
    page.get_by_label("Status").select_option("")
    page.get_by_label("Search").fill("mind THE gap")
    assert page.locator("#count").text_content() == "4 of 75 samples"
    page.get_by_label("Search").fill("no such thing anywhere")
    assert page.locator("#list li").count() == 0
    if not is_narrow(page):
        assert "No sample matches" in page.locator("#detail").text_content()


def test_orders(page):
    page.get_by_label("Task").select_option("0")
    page.get_by_label("Order").select_option("dataset")
    assert "row-000" in page.locator("#list li").first.text_content()
    page.get_by_label("Order").select_option("best")
    assert page.locator("#list .mark-value").first.text_content() == "1.0000"
    assert page.locator("#list li").last.locator(".mark-failed").count() == 1


def test_an_open_sample_shows_image_prompt_texts_and_differences(page):
    page.get_by_label("Task").select_option("0")
    open_row(page, 2)
    detail = page.locator("#detail")
    assert page.locator("#detail-title").text_content() == "row-020"
    assert detail.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 300
    assert "Transcribe all text of this receipt" in detail.locator(".prompt").text_content()
    assert detail.locator(".texts .text del").all_text_contents() == ["1 x ", "l", "l"]
    assert detail.locator(".texts .text ins").all_text_contents() == ["1", "1"]
    page.get_by_label("Mark differences").uncheck()
    assert detail.locator(".texts .text del").count() == 0
    detail.locator("summary", has_text="1 exchange in full").click()
    assert "max new tokens 64" in detail.locator(".exchange h4").text_content()


def test_answers_that_differ_in_white_space_alone_say_so(page):
    page.get_by_label("Task").select_option("0")
    page.get_by_label("Order").select_option("dataset")
    open_row(page, 0)
    assert "equal but for white space" in page.locator("#detail").text_content()


def test_failures_and_judges_are_told(page):
    open_row(page, 0)
    assert "image file is truncated" in page.locator("#detail .failure").text_content()
    page.get_by_label("Task").select_option("1")
    open_row(page, 0)
    page.locator("#detail summary", has_text="2 exchanges in full").click()
    assert "judge" in page.locator("#detail .exchange h4").nth(1).text_content()


def test_choices_show_their_log_probabilities(page):
    page.get_by_label("Task").select_option("2")
    open_row(page, 0)
    page.locator("#detail summary", has_text="1 exchange in full").click()
    assert page.locator("#detail .logprobs .best th").text_content() == " A"
    assert "system" in page.locator("#detail .texts").text_content()


def test_keys_and_buttons_go_to_the_next_and_back(page):
    page.get_by_label("Task").select_option("0")
    page.get_by_label("Order").select_option("dataset")
    open_row(page, 0)
    title = page.locator("#detail-title")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    assert title.text_content() == "row-002"
    page.get_by_role("button", name="Previous").click()
    assert title.text_content() == "row-001"
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert title.text_content() == "row-000"
    assert page.get_by_role("button", name="Previous").is_disabled()
    page.keyboard.press("/")
    page.keyboard.type("k bread")
    assert page.get_by_label("Search").input_value() == "k bread"
    assert page.locator("#count").text_content() == "0 of 75 samples"
    assert title.count() == 0


def test_the_address_opens_a_sample(page, address):
    page.goto("about:blank")
    page.goto(f"{address}#demo_signs/row-005")
    assert page.locator("#detail-title").text_content() == "row-005"
    assert "Signs · cjk" in page.locator("#detail .titles").text_content()


def test_hostile_strings_are_only_text(page):
    page.get_by_label("Task").select_option("3")
    for number in range(5):
        open_row(page, number)
        for summary in page.locator("#detail summary").all():
            summary.click()
        assert "window.hacked" in page.locator("#detail").text_content()
    assert page.locator("#detail script, #detail svg[onload]").count() == 0


def test_an_image_opens_at_full_size_and_closes(page):
    page.get_by_label("Task").select_option("1")
    open_row(page, 0)
    page.get_by_title("Show at full size").first.click()
    assert page.locator("#zoom").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#zoom").is_visible()
