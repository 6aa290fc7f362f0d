"""The report page in headless Chromium, opened from a file."""

from __future__ import annotations

import pytest

from polymeter.report import make_html_report
from tests.helpers.accessibility import overflowing, violations
from tests.report.synthetic import SyntheticRun, exchange, receipt, result, sample, task

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    run = SyntheticRun()
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(make_html_report(run.manifest, run.results, run.samples, run.media), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(params=[(1280, 900), (360, 860)], ids=["wide", "narrow"])
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


def test_escape_empties_the_search_and_lists_all_again(page):
    search = page.get_by_label("Search")
    search.fill("no such thing anywhere")
    assert page.locator("#list li").count() == 0
    page.keyboard.press("Escape")
    assert search.input_value() == ""
    assert page.locator("#count").text_content() == "75 samples"
    assert page.locator("#list li").count() == 75
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "by-text"


def test_a_subset_and_a_range_of_a_metric_narrow_the_list_together(page):
    page.get_by_label("Subset").select_option("cjk")
    in_subset = page.locator("#list li").count()
    assert page.locator("#count").text_content() == f"{in_subset} of 75 samples"
    assert 0 < in_subset < 24
    page.get_by_role("combobox", name="Metric").select_option("exact_match")
    page.get_by_role("spinbutton", name="to").fill("0.5")
    wrong = page.locator("#list li").count()
    assert 0 < wrong < in_subset
    assert violations(page) == []
    assert overflowing(page) == []
    assert {float(text) for text in page.locator("#list .mark-value").all_text_contents()} == {0.0}
    page.get_by_label("Subset").select_option("")
    page.get_by_label("Task").select_option("0")
    assert page.locator("#of-range").is_hidden(), "receipts have no exact match"
    assert page.locator("#of-subset").is_hidden()
    page.get_by_role("combobox", name="Metric").select_option("anls")
    page.get_by_role("spinbutton", name="from").fill("0.9")
    page.get_by_label("Search").fill("harbour")
    found = [float(text) for text in page.locator("#list .mark-value").all_text_contents()]
    assert found
    assert min(found) >= 0.9
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Task").select_option("0")
    page.get_by_role("combobox", name="Metric").select_option("cer")
    assert page.locator("#list .mark-value").first.get_attribute("title") == "cer", "what is filtered by is shown"
    page.get_by_role("button", name="Clear filters").click()
    assert page.locator("#count").text_content() == "75 samples"
    assert page.get_by_role("button", name="Clear filters").count() == 0


def test_filters_are_usable_by_keyboard_alone(page):
    page.get_by_label("Task").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "by-subset"
    page.keyboard.type("cjk")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "by-metric"
    page.keyboard.type("exact")
    page.keyboard.press("Tab")
    page.keyboard.type("0.5")
    assert page.evaluate("document.activeElement.id") == "least"
    right = page.locator("#list li").count()
    page.keyboard.press("Escape")
    assert page.get_by_role("spinbutton", name="from").input_value() == ""
    assert page.locator("#list li").count() > right > 0


def natural_and_shown(page) -> list[list[float]]:
    return page.evaluate(
        """() => [...document.querySelectorAll("#detail img, #zoom img")].map((image) => [
            image.naturalWidth, image.getBoundingClientRect().width])"""
    )


def test_full_size_is_one_pixel_of_the_file_for_each_of_the_page(page):
    page.get_by_label("Task").select_option("1")
    page.get_by_label("Order").select_option("dataset")
    open_row(page, 1)
    page.locator("#detail img").first.evaluate("image => image.decode()")
    page.get_by_title("Show at full size").first.click()
    page.locator("#zoom p", has_text="420 × 150 px").wait_for()
    in_page, *_, opened = natural_and_shown(page)
    assert opened == [420, 420]
    assert in_page[1] <= opened[1] + 2, "the page shows it no larger than full size"
    page.get_by_role("button", name="Larger").click()
    assert page.locator("#zoom p").inner_text().endswith("200 % of 420 × 150 px")
    page.keyboard.press("Escape")
    assert not page.locator("#zoom").is_visible()


def test_a_preview_says_that_it_is_one_and_what_the_image_has(browser, tmp_path):
    run = SyntheticRun()
    for samples in run.by_task.values():
        for one in samples:
            for asked in one["exchanges"]:
                for message in asked["request"]["messages"]:
                    for part in message["parts"]:
                        if "image" in part:
                            part["image"].update(width=3000, height=1900)
    file = tmp_path / "report.html"
    file.write_text(make_html_report(run.manifest, run.results, run.samples, run.media), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.get_by_label("Task").select_option("0")
    open_row(page, 5)
    page.get_by_title("Show at full size").first.click()
    page.locator("#zoom p", has_text="preview of 300 × 190 px; the image has 3000 × 1900 px").wait_for()
    page.close()


def test_a_value_is_drawn_only_on_a_scale_that_its_metric_declares(browser, tmp_path):
    scores = [{"metric": name, "filter": "none", "value": 0.4} for name in ("declared", "rating", "unknown")]
    results = [
        result("declared", 0.4, 3, bounds=[0, 1]),
        result("rating", 0.4, 3, bounds=[0, 10]),
        result("unknown", 0.4, 3),
    ]
    samples = [sample(number, scores=scores) for number in range(3)]
    file = tmp_path / "report.html"
    told = {"tasks": {"t": task("T", results, 3)}}
    file.write_text(make_html_report({}, told, lambda name: samples, lambda name: None), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    places = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("#detail .scores > div")].map((one) =>
            [one.querySelector("dt").textContent, one.querySelector(".needle")?.getAttribute("d") ?? null]))"""
    )
    assert places == {"declared": "M22.6 0v8", "rating": "M3.2 0v8", "unknown": None}
    page.close()


def test_audio_can_be_played_and_a_video_is_shown_as_its_frames(browser, tmp_path):
    sound = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\0\0\0\0"
    frames = {"width": 64, "height": 48, "duration_s": 2.5, "source": "clip.mp4", "file": "strip.png"}
    asked = exchange(None, "What is heard, and what is seen?", "rain")
    asked["request"]["messages"][0]["parts"][:0] = [
        {"audio": {"source": "rain.wav", "file": "rain.wav"}},
        {"video": frames},
    ]
    samples = [sample(0, exchanges=[asked]), sample(1, exchanges=[exchange(None, "Text alone?", "yes")])]
    media = {"rain.wav": (sound, "audio/wav"), "strip.png": (receipt(1)[0], "image/png")}
    told = {"tasks": {"t": task("T", [result("exact_match", 1.0, 2)], 2)}}
    file = tmp_path / "report.html"
    file.write_text(make_html_report({}, told, lambda name: samples, media.get), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.get_by_label("Order").select_option("dataset")
    assert page.locator("#detail .images audio").evaluate("audio => audio.src").startswith("data:audio/wav")
    caption = page.locator("#detail .images figcaption", has_text="frames of a video").inner_text()
    assert "64 × 48 px" in caption
    assert "2.5 s" in caption
    assert violations(page) == []
    page.close()


def test_many_samples_are_drawn_as_they_are_needed(browser, tmp_path):
    samples = [sample(number) for number in range(5000)]
    told = {"tasks": {"t": task("T", [result("exact_match", 1.0, 5000, bounds=[0, 1])], 5000)}}
    file = tmp_path / "report.html"
    file.write_text(make_html_report({}, told, lambda name: samples, lambda name: None), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    assert page.locator("#count").text_content() == "5,000 samples"
    assert page.locator("#list li").count() == 100
    page.locator("#more").scroll_into_view_if_needed()
    page.locator("#list li").nth(199).wait_for()
    page.get_by_label("Search").fill("row-4999")
    page.get_by_text("1 of 5,000 samples").wait_for()
    page.close()


def test_an_image_opens_at_full_size_and_closes(page):
    page.get_by_label("Task").select_option("1")
    open_row(page, 0)
    page.get_by_title("Show at full size").first.click()
    assert page.locator("#zoom").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#zoom").is_visible()
