"""What the viewer shows of a sample and of a task, driven in headless Chromium under the viewer's own policy."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.helpers.accessibility import SCHEMES, WIDTHS, expand, overflowing, violations
from tests.helpers.browsing import expect, opened, settle
from tests.helpers.content_app import page_of_plots, page_of_sample, served
from tests.helpers.run_kinds import make

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PAGES = {
    "grounding": ("grounding", "grounding", 3),
    "judged": ("judged", "facts", 2),
    "tools": ("tools", "talk", 0),
    "odd": ("tools", "talk", 2),
    "editing": ("editing", "demo_edit", 1),
    "audio": ("audio", "tones", 0),
    "video": ("video", "clips", 0),
    "weighed": ("weighed", "weighed", 3),
    "failed": ("failed", "sums", 0),
}
FIRST = "document.querySelector('[data-p-chart] canvas')"


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for kind in {kind for kind, _, _ in PAGES.values()}:
        make(kind, folder)
    return folder


@pytest.fixture(scope="module")
def address(runs):
    pages = {
        name: page_of_sample(runs / kind, task, number, f"/{kind}") for name, (kind, task, number) in PAGES.items()
    }
    pages["plots"] = page_of_plots(runs / "weighed", "weighed")
    with served(pages, runs) as url:
        yield url


@pytest.fixture
def open_page(browser, address):
    with ExitStack() as stack:

        def open_one(name: str, width: int = 1440, scheme: str = "light", **more):
            view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
            page = stack.enter_context(opened(browser, **view, **more))
            page.goto(f"{address}/{name}")
            return page

        yield open_one


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*PAGES, "plots"])
def test_axe_finds_nothing_and_nothing_sticks_out(open_page, name, scheme):
    page = open_page(name, scheme=scheme)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        expand(page)
        assert overflowing(page) == []
        assert violations(page) == []


def test_an_image_opens_at_its_true_size_and_escape_closes_it(open_page):
    page = open_page("grounding")
    link = page.locator(".c-marked [data-c-zoom]")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog.c-dialog")
    expect(dialog).to_be_visible()
    settle(page)
    assert dialog.locator("img").evaluate("image => image.getBoundingClientRect().width") == 400
    expect(dialog).to_contain_text("400 × 300 px")
    # What is drawn over the image is drawn there, too, on the same place.
    shapes, image = (dialog.locator(one).bounding_box() for one in (".c-shapes", "img"))
    assert [round(shapes[key]) for key in ("x", "y", "width", "height")] == [
        round(image[key]) for key in ("x", "y", "width", "height")
    ]
    expect(dialog.locator(".c-shapes rect.c-line:visible")).to_have_count(2)
    page.keyboard.press("f")
    expect(dialog.locator(".c-fit")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page).to_have_url(re.compile("/grounding$"))
    expect(link).to_be_focused()


def test_a_preview_is_shown_at_the_size_of_its_image(open_page):
    page = open_page("grounding", width=360)
    page.evaluate(
        """() => { const link = document.querySelector("[data-c-zoom]");
        link.dataset.width = 2000; link.dataset.height = 1500; link.dataset.kept = "400 × 300"; }"""
    )
    page.locator("[data-c-zoom]").first.click()
    dialog = page.locator("dialog.c-dialog")
    expect(dialog).to_be_visible()
    settle(page)
    assert dialog.locator("img").evaluate("image => image.getBoundingClientRect().width") == 2000
    expect(dialog).to_contain_text("preview of 400 × 300 px")
    assert dialog.locator(".c-at-size").evaluate("box => box.scrollWidth > box.clientWidth")
    dialog.get_by_role("button", name="Fit to window").click()
    expect(dialog.locator(".c-fit")).to_have_attribute("aria-pressed", "true")
    assert dialog.locator("img").evaluate("image => image.getBoundingClientRect().width") <= 360
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_layers_can_be_hidden_and_read_on_another_scale(open_page):
    page = open_page("grounding")
    answers = page.locator(".c-shapes > .c-answer rect.c-line:visible")
    expect(answers).to_have_count(1)
    expect(page.locator(".c-shapes > .c-target rect.c-line:visible")).to_have_count(1)
    settle(page)
    before = answers.first.bounding_box()["width"]
    page.locator(".c-of-answer summary").click()
    page.locator(".c-of-answer").get_by_label("0–1000").check()
    settle(page)
    assert answers.first.bounding_box()["width"] < before / 2
    expect(page.locator(".c-shapes > .c-target rect.c-line:visible")).to_have_count(1)
    page.locator(".c-of-target .c-show").uncheck()
    expect(page.locator(".c-shapes > .c-target rect.c-line:visible")).to_have_count(0)
    page.locator(".c-marked [data-c-zoom]").click()
    expect(page.locator("dialog .c-shapes rect.c-line:visible")).to_have_count(1)


def test_target_and_answer_differ_in_colour_and_in_dash(open_page):
    page = open_page("grounding")
    looks = [
        page.locator(f".c-shapes > .{owner} rect.c-line:visible").first.evaluate(
            "node => [getComputedStyle(node).stroke, getComputedStyle(node).strokeDasharray]"
        )
        for owner in ("c-target", "c-answer")
    ]
    assert looks[0][0] != looks[1][0]
    assert looks[0][1] != looks[1][1] == "none"


def test_the_slider_moves_by_keyboard_and_says_where_it_is(open_page):
    page = open_page("editing")
    slider = page.locator("[data-c-compare] input[type=range]")
    over = page.locator(".c-over")
    expect(over).to_have_css("clip-path", "inset(0px 0px 0px 50%)")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(over).to_have_css("clip-path", "inset(0px 0px 0px 51%)")
    expect(slider).to_have_attribute("aria-valuetext", "51 % Input, 49 % Output")
    page.keyboard.press("Home")
    expect(over).to_have_css("clip-path", re.compile(r"^inset\(0px( 0px 0px 0%)?\)$"))
    page.locator("[data-c-side=left]").select_option("Reference")
    expect(slider).to_have_attribute("aria-valuetext", "0 % Reference, 100 % Output")
    expect(page.locator(".c-under")).to_have_attribute("alt", "Reference")
    settle(page)
    under, top = page.locator(".c-under").bounding_box(), over.bounding_box()
    assert (round(under["width"]), round(under["height"])) == (round(top["width"]), round(top["height"]))


def test_without_a_script_images_stand_side_by_side_and_open_as_links(open_page):
    page = open_page("editing", java_script_enabled=False)
    expect(page.locator(".c-compare")).to_be_hidden()
    expect(page.locator(".c-gallery figure")).to_have_count(3)
    boxes = [one.bounding_box() for one in page.locator(".c-gallery figure").all()]
    assert len({round(box["y"]) for box in boxes}) == 1
    expect(page.locator(".c-gallery a").first).to_have_attribute("href", re.compile("^/media/editing/"))


def test_a_recording_is_playable_and_silent_until_asked(open_page):
    page = open_page("audio")
    player = page.locator("audio")
    expect(player).to_have_count(1)
    page.wait_for_function("document.querySelector('audio').readyState > 0")
    assert player.evaluate("one => [one.paused, one.autoplay, one.controls, Math.round(one.duration)]") == [
        True,
        False,
        True,
        1,
    ]
    expect(page.locator(".c-players figcaption").first).to_contain_text("1.0 s")


def test_a_video_shows_its_frames_and_plays(open_page):
    page = open_page("video")
    strip = page.locator(".c-players .c-strip img")
    assert strip.evaluate("image => image.decode().then(() => image.naturalWidth > image.naturalHeight)")
    player = page.locator("video")
    expect(player).to_have_count(1)
    page.wait_for_function("document.querySelector('video').readyState > 0")
    assert player.evaluate(
        "one => [one.paused, one.autoplay, one.controls, one.videoWidth, Math.round(one.duration)]"
    ) == [
        *(True, False, True),
        *(320, 3),
    ]


def test_verdicts_are_read_without_unfolding_prompts(open_page):
    page = open_page("judged")
    judges = page.locator(".c-judge")
    expect(judges).to_have_count(3)
    expect(page.locator(".c-judges > details > summary")).to_contain_text("judge 1.0000")
    expect(judges.first).to_be_hidden()
    page.locator(".c-judges > details > summary").click()
    expect(judges.nth(2)).to_contain_text("No verdict: The judge's answer does not show a verdict")
    expect(judges.nth(0).locator(".c-answer pre")).to_be_visible()
    prompt = judges.nth(0).locator("details pre")
    expect(prompt).to_be_hidden()
    judges.nth(0).get_by_text("Prompt of the judge").click()
    expect(prompt).to_be_visible()


def test_odd_text_is_copied_as_it_was_written(open_page):
    page = open_page("odd")
    page.get_by_text("Conversation", exact=True).click()
    answer = page.locator(".c-turn.c-answer pre")
    expect(answer).to_have_text(re.compile("^ \t<script>window.hacked = 1</script>RLO"))
    expect(answer.locator(".c-name").first).to_have_attribute("title", "U+202E right-to-left override")


def test_plots_are_drawn_and_follow_width_and_scheme(open_page):
    page = open_page("plots")
    charts = page.locator("[data-p-chart]:visible canvas")
    expect(charts).to_have_count(1)
    expect(page.locator(".p-stack svg[role=img]")).to_have_count(2)
    pixels = f"{FIRST}.getContext('2d').getImageData(0, 0, {FIRST}.width, {FIRST}.height).data"
    page.wait_for_function(f"{pixels}.filter(Boolean).length > 1000")
    settle(page)
    wide = charts.first.bounding_box()["width"]
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(f"before => {FIRST}.getBoundingClientRect().width < before", arg=wide)
    before = charts.first.evaluate("canvas => canvas.toDataURL()")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => {FIRST}.toDataURL() !== before", arg=before)
    reading = page.locator(".p-plot:has([data-p-chart]) .p-reading").first.text_content()
    expect(page.locator("[data-p-chart]").first).to_have_attribute("aria-label", re.compile(re.escape(reading)))


def test_plots_without_a_script_are_tables(open_page):
    page = open_page("plots", java_script_enabled=False)
    expect(page.locator("[data-p-chart]:visible")).to_have_count(0)
    table = page.get_by_text("How often each answer was given").locator("xpath=..").locator("table")
    expect(table).to_be_visible()
