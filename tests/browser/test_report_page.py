"""The report page in headless Chromium, opened from a file."""

from __future__ import annotations

import re

import pytest

from polymeter.report import make_html_report
from tests.helpers.accessibility import overflowing, violations
from tests.helpers.browsing import expect, opened, settle
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
    with opened(browser, viewport={"width": width, "height": height}) as page:
        page.goto(address)
        yield page
        assert overflowing(page) == []


def is_narrow(page) -> bool:
    return page.viewport_size["width"] < 500


def expect_opened(page, name: str) -> None:
    expect(page.locator("#detail .titles .aside")).to_have_text(re.compile(f" · {name} · [^·]+$"))


def open_row(page, number: int) -> None:
    if is_narrow(page) and page.locator("#panes.is-open").count():
        page.get_by_role("button", name="All samples").click()
    page.locator("#list button").nth(number).click()


def test_all_samples_are_listed_the_failed_first(page):
    expect(page.locator("#count")).to_have_text("75 samples")
    expect(page.locator("#list li")).to_have_count(75)
    expect(page.locator("#list .mark-failed")).to_have_text(["error", "refused", "error"])
    expect(page.locator("#list li").nth(2).locator(".mark-failed")).to_have_count(1)


def test_filters_narrow_the_list(page):
    page.get_by_label("Task").select_option(label="Signs (24)")
    expect(page.locator("#count")).to_have_text("24 of 75 samples")
    page.get_by_label("Task").select_option(label="All tasks")
    page.get_by_label("Status").select_option("refused")
    expect(page.locator("#list li")).to_have_count(1)
    page.get_by_label("Status").select_option("")
    page.get_by_label("Search").fill("mind THE gap")
    expect(page.locator("#count")).to_have_text("4 of 75 samples")
    page.get_by_label("Search").fill("no such thing anywhere")
    expect(page.locator("#list li")).to_have_count(0)
    if not is_narrow(page):
        expect(page.locator("#detail")).to_contain_text("No sample matches")


def test_orders(page):
    page.get_by_label("Task").select_option("0")
    page.get_by_label("Order").select_option("dataset")
    expect(page.locator("#list li").first).to_contain_text("row-000")
    page.get_by_label("Order").select_option("best")
    expect(page.locator("#list .mark-value").first).to_have_text("1.0000")
    expect(page.locator("#list li").last.locator(".mark-failed")).to_have_count(1)


def test_an_open_sample_shows_image_prompt_texts_and_differences(page):
    page.get_by_label("Task").select_option("0")
    open_row(page, 2)
    detail = page.locator("#detail")
    expect_opened(page, "row-020")
    asked = "Transcribe all text of this receipt, line by line from top to bottom."
    expect(page.locator("#detail-title")).to_have_text(asked)
    assert detail.locator("img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 300
    expect(detail.locator(".prompt"), "the heading is the question").to_have_count(0)
    expect(detail.locator(".texts .text del")).to_have_text(["1 x ", "l", "l"])
    expect(detail.locator(".texts .text del").first).to_have_js_property("textContent", "1 x ")
    expect(detail.locator(".texts .text ins")).to_have_text(["1", "1"])
    page.get_by_label("Mark differences").uncheck()
    expect(detail.locator(".texts .text del")).to_have_count(0)
    detail.locator("summary", has_text="Conversation").click()
    expect(detail.locator(".exchange h4")).to_contain_text("max new tokens 64")


def test_answers_that_differ_in_white_space_alone_say_so(page):
    page.get_by_label("Task").select_option("0")
    page.get_by_label("Order").select_option("dataset")
    open_row(page, 0)
    expect(page.locator("#detail")).to_contain_text("equal but for white space")


def test_failures_and_judges_are_told(page):
    open_row(page, 0)
    expect(page.locator("#detail .failure")).to_contain_text("image file is truncated")
    page.get_by_label("Task").select_option("1")
    open_row(page, 0)
    page.locator("#detail summary", has_text="1 judge call").click()
    expect(page.locator("#detail .exchange h4").last).to_contain_text("judge")


def test_choices_show_their_log_probabilities(page):
    page.get_by_label("Task").select_option("2")
    open_row(page, 0)
    expect(page.locator("#detail .outcome .logprobs .best th")).to_have_js_property("textContent", " A")
    page.locator("#detail summary", has_text="Conversation").click()
    expect(page.locator("#detail .exchange")).to_contain_text("system")


def test_keys_and_buttons_go_to_the_next_and_back(page):
    page.get_by_label("Task").select_option("0")
    page.get_by_label("Order").select_option("dataset")
    open_row(page, 0)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    expect_opened(page, "row-002")
    page.get_by_role("button", name="Previous").click()
    expect_opened(page, "row-001")
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect_opened(page, "row-000")
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.keyboard.press("/")
    page.keyboard.type("k bread")
    expect(page.get_by_label("Search")).to_have_value("k bread")
    expect(page.locator("#count")).to_have_text("0 of 75 samples")
    expect(page.locator("#detail-title")).to_have_count(0)


def test_the_address_opens_a_sample(page, address):
    page.goto("about:blank")
    page.goto(f"{address}#demo_signs/row-005")
    expect_opened(page, "row-005")
    expect(page.locator("#detail .titles")).to_contain_text("Signs · cjk")


def test_hostile_strings_are_only_text(page):
    page.get_by_label("Task").select_option("3")
    for number in range(5):
        open_row(page, number)
        expect(page.locator("#list button").nth(number)).to_have_attribute("aria-current", "true")
        for summary in page.locator("#detail summary").all():
            summary.click()
        expect(page.locator("#detail")).to_contain_text("window.hacked")
    expect(page.locator("#detail script, #detail svg[onload]")).to_have_count(0)


def test_escape_empties_the_search_and_lists_all_again(page):
    search = page.get_by_label("Search")
    search.fill("no such thing anywhere")
    expect(page.locator("#list li")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(search).to_have_value("")
    expect(page.locator("#count")).to_have_text("75 samples")
    expect(page.locator("#list li")).to_have_count(75)
    page.keyboard.press("Escape")
    expect(page.locator("#by-text")).not_to_be_focused()


def test_a_subset_and_a_range_of_a_metric_narrow_the_list_together(page):
    page.get_by_label("Subset").select_option("cjk")
    expect(page.locator("#count")).not_to_have_text("75 samples")
    in_subset = page.locator("#list li").count()
    expect(page.locator("#count")).to_have_text(f"{in_subset} of 75 samples")
    assert 0 < in_subset < 24
    page.get_by_role("combobox", name="Metric").select_option("exact_match")
    page.get_by_role("spinbutton", name="to").fill("0.5")
    expect(page.locator("#count")).not_to_have_text(f"{in_subset} of 75 samples")
    wrong = page.locator("#list li").count()
    assert 0 < wrong < in_subset
    assert violations(page) == []
    assert overflowing(page) == []
    expect(page.locator("#list .mark-value")).to_have_text([re.compile(r"^0\.0+$")] * wrong)
    page.get_by_label("Subset").select_option("")
    page.get_by_label("Task").select_option("0")
    expect(page.locator("#of-range"), "receipts have no exact match").to_be_hidden()
    expect(page.locator("#of-subset")).to_be_hidden()
    page.get_by_role("combobox", name="Metric").select_option("anls")
    page.get_by_role("spinbutton", name="from").fill("0.9")
    page.get_by_label("Search").fill("harbour")
    high = re.compile(r"^(0\.9|1\.)")
    expect(page.locator("#list .mark-value", has_not_text=high)).to_have_count(0)
    expect(page.locator("#list .mark-value", has_text=high)).not_to_have_count(0)
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Task").select_option("0")
    page.get_by_role("combobox", name="Metric").select_option("cer")
    expect(page.locator("#list .mark-value").first, "what is filtered by is shown").to_have_attribute("title", "cer")
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator("#count")).to_have_text("75 samples")
    expect(page.get_by_role("button", name="Clear filters")).to_have_count(0)


def test_filters_are_usable_by_keyboard_alone(page):
    page.get_by_label("Task").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#by-subset")).to_be_focused()
    page.keyboard.type("cjk")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#by-metric")).to_be_focused()
    page.keyboard.type("exact")
    page.keyboard.press("Tab")
    page.keyboard.type("0.5")
    expect(page.locator("#least")).to_be_focused()
    expect(page.locator("#count")).not_to_have_text("75 samples")
    right = page.locator("#list li").count()
    assert right > 0
    page.keyboard.press("Escape")
    expect(page.get_by_role("spinbutton", name="from")).to_have_value("")
    expect(page.locator("#list li").nth(right)).to_be_attached()


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
    expect(page.locator("#zoom p")).to_contain_text("420 × 150 px")
    settle(page)
    in_page, *_, opened = natural_and_shown(page)
    assert opened == [420, 420]
    assert in_page[1] <= opened[1] + 2, "the page shows it no larger than full size"
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("#zoom p")).to_have_text(re.compile("200 % of 420 × 150 px$"))
    page.keyboard.press("Escape")
    expect(page.locator("#zoom")).to_be_hidden()


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
    with opened(browser) as page:
        page.goto(file.as_uri())
        page.get_by_label("Task").select_option("0")
        open_row(page, 5)
        page.get_by_title("Show at full size").first.click()
        page.locator("#zoom p", has_text="preview of 300 × 190 px; the image has 3000 × 1900 px").wait_for()


def test_a_value_has_a_colour_only_on_a_scale_that_its_metric_declares(browser, tmp_path):
    names = ("declared", "rating", "lower", "neither", "unknown")
    scores = [{"metric": name, "filter": "none", "value": 0.5} for name in names]
    results = [
        result("declared", 0.5, 3, bounds=[0, 1]),
        result("rating", 0.5, 3, bounds=[0, 10]),
        result("lower", 0.5, 3, bounds=[0, 10], higher_is_better=False),
        result("neither", 0.5, 3, bounds=[0, 1], higher_is_better=None),
        result("unknown", 0.5, 3),
    ]
    samples = [sample(number, scores=scores) for number in range(3)]
    file = tmp_path / "report.html"
    told = {"tasks": {"t": task("T", results, 3)}}
    file.write_text(make_html_report({}, told, lambda name: samples, lambda name: None), encoding="utf-8")
    with opened(browser) as page:
        page.goto(file.as_uri())
        colours = page.evaluate(
            """() => Object.fromEntries([...document.querySelectorAll("#detail .scores > div")].map((one) =>
                [one.querySelector("dt").textContent, one.querySelector(".value").className]))"""
        )
        assert colours == {
            "declared": "value v2", "rating": "value v0", "lower": "value v4", "neither": "value", "unknown": "value",
        }  # fmt: skip
        expect(page.locator("#list .mark-value").first).to_have_attribute("class", "mark-value value v2")


def rounds() -> list[dict]:
    first, second = exchange(None, "Which shape?", "square"), exchange(None, "Which shape?", "orange")
    second["request"]["messages"] += [
        {"role": "assistant", "parts": [{"text": "square"}]},
        {"role": "user", "parts": [{"text": "Which colour?"}]},
    ]
    return [first, second]


def test_a_sample_has_its_question_once_rounds_unfolded_and_what_was_read_from_an_answer(browser, tmp_path):
    named = exchange("a.png", "What is\nshown " + "here " * 60, "I choose B.")
    named["request"]["messages"][0]["parts"][0]["image"]["name"] = "photos/ball.png"
    samples = [
        sample(0, exchanges=rounds(), target="orange", answer="orange"),
        sample(1, exchanges=[named], target="B", answer="B"),
        sample(2, exchanges=[], doc={"question": "Why?"}, status="error", scores=[], answer=None),
    ]
    told = {"tasks": {"t": task("T", [result("exact_match", 1.0, 3, bounds=[0, 1])], 3)}}
    file = tmp_path / "report.html"
    file.write_text(make_html_report({}, told, lambda name: samples, lambda name: None), encoding="utf-8")
    with opened(browser) as page:
        page.goto(file.as_uri())
        page.get_by_label("Order").select_option("dataset")
        open_row(page, 0)
        expect_opened(page, "row-000")
        seen = page.locator("#detail").inner_text()
        assert [seen.count(text) for text in ("Which shape?", "Which colour?", "orange", "The answer above.")] == [
            1,
            1,
            2,
            1,
        ]
        open_row(page, 1)
        first = page.locator("#list li").nth(1)
        expect(first.locator(".first")).to_have_text(re.compile("^ball.png What is shown here"))
        expect(first.locator(".second")).to_have_text("B")
        expect(page.locator("#detail-title")).to_have_text("ball.png")
        titles = ["Question", "Expected", "Answer", "Scored"]
        expect(page.locator("#detail .block h4:visible")).to_have_text([re.compile(f"^{title}") for title in titles])
        expect(page.locator("#detail .exchange").first).to_be_hidden()
        open_row(page, 2)
        expect(page.locator("#detail-title")).to_have_text("Why?")
        assert violations(page) == []


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
    with opened(browser) as page:
        page.goto(file.as_uri())
        page.get_by_label("Order").select_option("dataset")
        expect(page.locator("#detail .images audio")).to_have_attribute("src", re.compile("^data:audio/wav"))
        caption = page.locator("#detail .images figcaption", has_text="frames of a video")
        expect(caption).to_contain_text("64 × 48 px")
        expect(caption).to_contain_text("2.5 s")
        assert violations(page) == []


def test_many_samples_are_drawn_as_they_are_needed(browser, tmp_path):
    samples = [sample(number) for number in range(5000)]
    told = {"tasks": {"t": task("T", [result("exact_match", 1.0, 5000, bounds=[0, 1])], 5000)}}
    file = tmp_path / "report.html"
    file.write_text(make_html_report({}, told, lambda name: samples, lambda name: None), encoding="utf-8")
    with opened(browser) as page:
        page.goto(file.as_uri())
        expect(page.locator("#count")).to_have_text("5,000 samples")
        expect(page.locator("#list li")).to_have_count(100)
        page.locator("#more").scroll_into_view_if_needed()
        page.locator("#list li").nth(199).wait_for()
        page.get_by_label("Search").fill("row-4999")
        page.get_by_text("1 of 5,000 samples").wait_for()


def test_an_image_opens_at_full_size_and_closes(page):
    page.get_by_label("Task").select_option("1")
    open_row(page, 0)
    page.get_by_title("Show at full size").first.click()
    expect(page.locator("#zoom")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#zoom")).to_be_hidden()
