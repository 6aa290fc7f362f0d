"""What the viewer shows of a sample and of a task, driven in headless Chromium under the viewer's own policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.accessibility import SCHEMES, WIDTHS, expand, overflowing, violations
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
def opened(browser, address):
    troubles: list[str] = []
    contexts = []

    def open_page(name: str, width: int = 1440, scheme: str = "light", **more):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(f"{address}/{name}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not troubles


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*PAGES, "plots"])
def test_axe_finds_nothing_and_nothing_sticks_out(opened, name, scheme):
    page = opened(name, scheme=scheme)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        expand(page)
        assert overflowing(page) == []
        assert violations(page) == []
    assert page.evaluate("window.hacked") is None


def test_an_image_opens_at_its_true_size_and_escape_closes_it(opened):
    page = opened("grounding")
    link = page.locator(".c-marked [data-c-zoom]")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog.c-dialog")
    assert dialog.is_visible()
    assert dialog.locator("img").evaluate("image => image.getBoundingClientRect().width") == 400
    assert "400 × 300 px" in dialog.text_content()
    # What is drawn over the image is drawn there, too, on the same place.
    shapes, image = (dialog.locator(one).bounding_box() for one in (".c-shapes", "img"))
    assert [round(shapes[key]) for key in ("x", "y", "width", "height")] == [
        round(image[key]) for key in ("x", "y", "width", "height")
    ]
    assert dialog.locator(".c-shapes rect.c-line:visible").count() == 2
    page.keyboard.press("f")
    assert dialog.locator(".c-fit").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert page.url.endswith("/grounding")
    assert link.evaluate("link => link === document.activeElement")


def test_a_preview_is_shown_at_the_size_of_its_image(opened):
    page = opened("grounding", width=360)
    page.evaluate(
        """() => { const link = document.querySelector("[data-c-zoom]");
        link.dataset.width = 2000; link.dataset.height = 1500; link.dataset.kept = "400 × 300"; }"""
    )
    page.locator("[data-c-zoom]").first.click()
    dialog = page.locator("dialog.c-dialog")
    assert dialog.locator("img").evaluate("image => image.getBoundingClientRect().width") == 2000
    assert "preview of 400 × 300 px" in dialog.text_content()
    assert dialog.locator(".c-at-size").evaluate("box => box.scrollWidth > box.clientWidth")
    dialog.get_by_role("button", name="Fit to window").click()
    assert dialog.locator("img").evaluate("image => image.getBoundingClientRect().width") <= 360
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()


def test_layers_can_be_hidden_and_read_on_another_scale(opened):
    page = opened("grounding")
    answers = page.locator(".c-shapes > .c-answer rect.c-line:visible")
    assert [answers.count(), page.locator(".c-shapes > .c-target rect.c-line:visible").count()] == [1, 1]
    before = answers.first.bounding_box()["width"]
    page.locator(".c-of-answer").get_by_label("0–1000").check()
    assert answers.first.bounding_box()["width"] < before / 2
    assert page.locator(".c-shapes > .c-target rect.c-line:visible").count() == 1
    page.locator(".c-of-target .c-show").uncheck()
    assert page.locator(".c-shapes > .c-target rect.c-line:visible").count() == 0
    page.locator(".c-marked [data-c-zoom]").click()
    assert page.locator("dialog .c-shapes rect.c-line:visible").count() == 1


def test_target_and_answer_differ_in_colour_and_in_dash(opened):
    page = opened("grounding")
    looks = [
        page.locator(f".c-shapes > .{owner} rect.c-line:visible").first.evaluate(
            "node => [getComputedStyle(node).stroke, getComputedStyle(node).strokeDasharray]"
        )
        for owner in ("c-target", "c-answer")
    ]
    assert looks[0][0] != looks[1][0]
    assert looks[0][1] != looks[1][1] == "none"


def test_the_slider_moves_by_keyboard_and_says_where_it_is(opened):
    page = opened("editing")
    slider = page.locator("[data-c-compare] input[type=range]")
    over = page.locator(".c-over")
    assert over.evaluate("image => getComputedStyle(image).clipPath") == "inset(0px 0px 0px 50%)"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert over.evaluate("image => getComputedStyle(image).clipPath") == "inset(0px 0px 0px 51%)"
    assert slider.get_attribute("aria-valuetext") == "51 % Input, 49 % Output"
    page.keyboard.press("Home")
    assert over.evaluate("image => getComputedStyle(image).clipPath") in ("inset(0px 0px 0px 0%)", "inset(0px)")
    page.locator("[data-c-side=left]").select_option("Reference")
    assert slider.get_attribute("aria-valuetext") == "0 % Reference, 100 % Output"
    assert page.locator(".c-under").get_attribute("alt") == "Reference"
    under, top = page.locator(".c-under").bounding_box(), over.bounding_box()
    assert (round(under["width"]), round(under["height"])) == (round(top["width"]), round(top["height"]))


def test_without_a_script_images_stand_side_by_side_and_open_as_links(opened):
    page = opened("editing", java_script_enabled=False)
    assert page.locator(".c-compare").is_hidden()
    boxes = [one.bounding_box() for one in page.locator(".c-gallery figure").all()]
    assert len(boxes) == 3
    assert len({round(box["y"]) for box in boxes}) == 1
    assert page.locator(".c-gallery a").first.get_attribute("href").startswith("/media/editing/")


def test_a_recording_is_playable_and_silent_until_asked(opened):
    page = opened("audio")
    player = page.locator("audio")
    assert player.count() == 1
    page.wait_for_function("document.querySelector('audio').readyState > 0")
    assert player.evaluate("one => [one.paused, one.autoplay, one.controls, Math.round(one.duration)]") == [
        True,
        False,
        True,
        1,
    ]
    assert "1.0 s" in page.locator(".c-players figcaption").first.text_content()


def test_a_video_shows_its_frames_and_plays(opened):
    page = opened("video")
    strip = page.locator(".c-players .c-strip img")
    assert strip.evaluate("image => image.decode().then(() => image.naturalWidth > image.naturalHeight)")
    player = page.locator("video")
    assert player.count() == 1
    page.wait_for_function("document.querySelector('video').readyState > 0")
    assert player.evaluate(
        "one => [one.paused, one.autoplay, one.controls, one.videoWidth, Math.round(one.duration)]"
    ) == [
        *(True, False, True),
        *(320, 3),
    ]


def test_verdicts_are_read_without_unfolding_prompts(opened):
    page = opened("judged")
    judges = page.locator(".c-judge")
    assert judges.count() == 3
    assert "No verdict: The judge's answer does not show a verdict" in judges.nth(2).text_content()
    assert judges.nth(0).locator(".c-answer pre").is_visible()
    prompt = judges.nth(0).locator("details pre")
    assert not prompt.is_visible()
    judges.nth(0).get_by_text("Prompt of the judge").click()
    assert prompt.is_visible()


def test_odd_text_is_copied_as_it_was_written(opened):
    page = opened("odd")
    answer = page.locator(".c-turn.c-answer pre")
    assert answer.text_content().startswith(" \t<script>window.hacked = 1</script>RLO")
    assert answer.locator(".c-name").first.get_attribute("title") == "U+202E right-to-left override"


def test_plots_are_drawn_and_follow_width_and_scheme(opened):
    page = opened("plots")
    charts = page.locator("[data-p-chart]:visible canvas")
    assert charts.count() == 3
    pixels = "[...one.getContext('2d').getImageData(0, 0, one.width, one.height).data]"
    assert charts.first.evaluate(f"one => {pixels}.filter(Boolean).length") > 1000
    wide = charts.first.bounding_box()["width"]
    page.set_viewport_size({"width": 360, "height": 800})
    page.wait_for_function(f"before => {FIRST}.getBoundingClientRect().width < before", arg=wide)
    before = charts.first.evaluate("canvas => canvas.toDataURL()")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"before => {FIRST}.toDataURL() !== before", arg=before)
    reading = page.locator(".p-reading").first.text_content()
    assert reading in page.locator("[data-p-chart]").first.get_attribute("aria-label")


def test_plots_without_a_script_are_tables(opened):
    page = opened("plots", java_script_enabled=False)
    assert page.locator("[data-p-chart]:visible").count() == 0
    table = page.get_by_text("How often each answer was given").locator("xpath=..").locator("table")
    assert table.is_visible()
