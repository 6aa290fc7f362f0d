"""The viewer in headless Chromium, served by ``polymeter view``: what people do in it, at every width."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from polymeter.viewer.indexes import SMALL
from tests.helpers.accessibility import SCHEMES, WIDTHS, expand, overflowing, violations
from tests.helpers.browsing import expect, opened, settle
from tests.helpers.viewed_runs import TASK, sample, write_run
from tests.helpers.viewing import SECOND, serving, write_viewed_runs

pytestmark = pytest.mark.browser
PAIR = f"run=first&run={SECOND}"
PAGES = {
    "runs": "/",
    "summary": "/run/first",
    "failing": "/run/failing",
    "images": "/run/drawn",
    "samples": "/run/first/samples",
    "filtered": f"/run/first/samples?state=wrong&category=continent:Asia&q=capital&flipped={SECOND}&metric=f1&min=0",
    "sample": "/run/first/sample?index=5",
    "edit": "/run/drawn/sample?index=1&task=demo_edit",
    "hostile sample": "/run/hostile/sample?index=1",
    "hostile samples": "/run/hostile/samples",
    "dense samples": "/run/first/samples?view=dense&sort=worst:f1",
    "dense hostile samples": "/run/hostile/samples?view=dense",
    "tiles": "/run/drawn/samples?view=grid",
    "tiles of texts": "/run/hostile/samples?view=grid",
    "search": "/search",
    "found": "/search?q=capital",
    "hostile words": "/search?q=script",
    "failed sample": "/run/failing/sample?index=1",
    "plots": "/run/first/plots",
    "manifest": f"/run/first/manifest?against={SECOND}",
    "progress": "/run/going/progress",
    "going": "/run/going",
    "compare": f"/compare?{PAIR}",
    "compared sample": f"/compare/sample?{PAIR}&index=4",
    "choose": "/compare",
    "leaderboard": "/leaderboard",
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    return write_viewed_runs(tmp_path_factory.mktemp("viewed") / "runs")


@pytest.fixture(scope="module")
def address(runs) -> Iterator[str]:
    with serving(runs) as found:
        yield found


@pytest.fixture
def page(browser, address):
    with opened(browser, base_url=address) as page:
        yield page


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_accessible_and_nothing_sticks_out(browser, address, width, scheme):
    found: dict[str, list[str]] = {}
    with opened(browser, base_url=address, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
        for name, path in PAGES.items():
            page.goto(path)
            if "/compare?" in path:
                expect(page.get_by_text("McNemar").first).to_be_attached()
            expand(page)
            troubles = [*violations(page), *overflowing(page)]
            if troubles:
                found[name] = troubles
    assert found == {}


def test_every_page_is_whole_without_scripts(browser, address):
    with opened(browser, base_url=address, java_script_enabled=False) as page:
        for path in PAGES.values():
            assert page.goto(path).status == 200
            expect(page.locator("h1")).to_have_count(1)
        page.goto("/run/first/samples")
        page.get_by_label("wrong").check()
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".found strong")).to_have_text("30 samples")
        page.locator(".row").first.click()
        page.wait_for_url("**/sample?**")
        page.get_by_label("Note", exact=True).fill("left without a script")
        page.get_by_role("button", name="Leave note").click()
        expect(page.locator(".note-text")).to_have_text("left without a script")
        with page.expect_navigation():
            page.get_by_role("button", name="Delete").click()
        expect(page.locator(".note-text")).to_have_count(0)


def test_runs_are_searched_and_opened(page):
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("large")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=large")
    page.get_by_role("link", name=SECOND).click()
    expect(page.locator("h1")).to_have_text("Capitals with large")
    expect(page.locator(".crumb")).to_have_text(SECOND)
    page.get_by_role("link", name="Samples", exact=True).click()
    expect(page.locator(".found strong")).to_have_text("120 samples")


def test_filters_combine_and_their_link_says_the_same(browser, page):
    page.goto("/run/first/samples")
    page.get_by_label("wrong").check()
    page.wait_for_url("**state=wrong**")
    page.get_by_text("More filters").click()
    page.get_by_label("continent").select_option("continent:Asia")
    page.wait_for_url("**category=continent**")
    page.get_by_role("searchbox", name="Text").fill("country 4")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=country**")
    expect(page.locator(".row-id")).to_have_text(["row-0004", "row-0040"])
    expect(page).not_to_have_url(re.compile("min="))
    expect(page.get_by_role("searchbox", name="Text")).to_be_focused()
    with opened(browser) as another:
        another.goto(page.url)
        expect(another.locator(".row")).to_have_count(2)
        expect(another.get_by_label("wrong")).to_be_checked()
    page.get_by_role("link", name=re.compile("Remove: wrong")).click()
    expect(page.locator(".row").nth(2)).to_be_visible()


def test_the_view_is_kept_by_filters_and_by_the_way_back_from_a_sample(page):
    page.goto("/run/first/samples")
    page.get_by_role("link", name="Dense").click()
    page.wait_for_url("**view=dense**")
    page.get_by_label("wrong").check()
    page.wait_for_url("**state=wrong**")
    expect(page).to_have_url(re.compile("view=dense"))
    expect(page.locator(".dense tbody tr")).to_have_count(30)
    page.locator(".dense tbody tr").nth(1).click(position={"x": 20, "y": 10})
    page.wait_for_url("**/sample?**index=4**")
    page.keyboard.press("u")
    page.wait_for_url("**/samples?**view=dense**")


def test_a_page_that_waited_for_its_samples_is_the_one_that_was_asked_for(browser, tmp_path):
    right = [sample(n) for n in range(SMALL + 1)]
    wrong = [sample(n, right=False) for n in range(SMALL + 1)]
    for run, samples in (("plots", right), ("sample", right), ("compared", wrong)):
        write_run(tmp_path / "runs" / run, samples)
    with serving(tmp_path / "runs") as address, opened(browser, base_url=address) as page:
        page.goto("/run/plots/plots")
        expect(page.get_by_role("heading", name="Reading the samples")).to_be_visible()
        expect(page.locator("[data-p-chart] canvas").first).to_be_visible()
        page.goto("/run/sample/sample?index=7")
        expect(page.locator("h2.is-question")).to_have_text("What is the capital of country 7?")
        page.goto("/compare/sample?run=plots&run=compared&index=7")
        expect(page.locator(".column")).to_have_count(2)
        expect(page.locator("link[href='/static/content.css']")).to_have_count(1)


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_rows_are_as_high_as_their_view_promises(browser, address, width):
    with opened(browser, base_url=address, viewport={"width": width, "height": 900}) as page:
        heights = "(rows) => rows.map((row) => row.getBoundingClientRect().height)"
        page.goto("/run/first/samples?view=dense")
        settle(page)
        dense = page.locator(".dense tbody tr").evaluate_all(heights)
        assert len(dense) == 50
        assert all(24 <= height <= 32 for height in dense)
        if width > 700:
            page.goto("/run/first/samples")
            settle(page)
            assert all(48 <= height <= 56 for height in page.locator(".row").evaluate_all(heights))


def test_filters_leave_most_of_a_phone_to_the_samples(browser, address):
    with opened(browser, base_url=address, viewport={"width": 390, "height": 844}) as page:
        page.goto("/run/failing/samples?status=error&category=continent:Asia")
        settle(page)
        assert page.locator("form.filters").bounding_box()["height"] < 844 / 3
        assert page.locator(".row").first.bounding_box()["y"] < 844 * 0.7


def test_a_header_of_the_dense_table_sorts_by_its_metric(page):
    page.goto("/run/first/samples?view=dense")
    page.get_by_role("link", name="f1").click()
    page.wait_for_url("**sort=worst**")
    expect(page.locator("th[aria-sort=ascending]")).to_have_text(re.compile(r"^\s*f1"))
    page.get_by_role("link", name="f1").click()
    page.wait_for_url("**sort=best**")
    expect(page.locator("th[aria-sort=descending]")).to_have_text(re.compile(r"^\s*f1"))
    expect(page.locator(".dense tbody tr").first.locator(".v4")).to_have_count(2)


def test_all_runs_are_searched_part_by_part(browser, runs, tmp_path):
    with serving(runs) as found, opened(browser, base_url=found) as page:
        page.goto("/search")
        page.keyboard.press("/")
        page.keyboard.type("capital country 7?")
        page.keyboard.press("Enter")
        page.wait_for_url("**q=capital**")
        expect(page.get_by_text("All runs are searched.")).to_be_visible()
        for name in ("first", SECOND, "failing"):
            expect(page.locator(".search-head h2").get_by_text(name, exact=True)).to_be_visible()
        page.locator(".search-group", has=page.get_by_role("link", name="first", exact=True)).locator(
            ".row"
        ).first.click()
        page.wait_for_url("**/run/first/sample?**index=7**")


def test_what_is_shown_is_exported(page):
    page.goto("/run/first/samples?state=wrong&q=country+4")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert "row-0004" in text
    assert "row-0005" not in text


def test_keys_lead_through_samples(page):
    page.goto("/run/first/samples?state=wrong")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(":focus")).to_contain_text("row-0004")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sample?**")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**index=8**")
    page.keyboard.press("k")
    page.wait_for_url("**index=4**")
    page.keyboard.press("n")
    page.keyboard.type("j k / ?")
    expect(page.get_by_label("Note", exact=True)).to_have_value("j k / ?")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("u")
    page.wait_for_url("**/samples?**state=wrong**")


def test_two_viewers_see_one_anothers_notes(browser, runs, address):
    with serving(runs) as second, opened(browser) as mine, opened(browser) as theirs:
        place = f"/run/first/sample?task={TASK}&index=7"
        mine.goto(address + place)
        theirs.goto(second + place)
        for page, text in ((mine, "mine"), (theirs, "theirs")):
            page.get_by_label("Note", exact=True).fill(text)
            page.get_by_label("Tags").fill("seen twice")
            page.get_by_role("button", name="Leave note").click()
            expect(page.locator(".note-text").get_by_text(text, exact=True)).to_be_visible()
        mine.reload()
        expect(mine.locator(".note-text")).to_have_text(["mine", "theirs"])
        mine.goto(f"{address}/run/first/samples?tag=seen+twice")
        expect(mine.locator(".row")).to_have_count(1)
        mine.locator(".row").click()
        expect(mine.locator(".note-text")).to_have_count(2)
        for left in (1, 0):
            with mine.expect_navigation():
                mine.get_by_role("button", name="Delete").first.click()
            expect(mine.locator(".note-text")).to_have_count(left)


def test_runs_are_sorted_and_folded(page):
    page.goto("/")
    page.get_by_role("link", name="Value", exact=True).click()
    page.wait_for_url("**sort=-value**")
    expect(page.locator("th[aria-sort=descending]")).to_have_text(re.compile("^Value"))
    page.get_by_label("Group by").select_option("model")
    page.wait_for_url("**group=model**")
    expect(page).to_have_url(re.compile("sort=-value"))
    page.locator(".group-head", has_text="small").get_by_role("checkbox").uncheck()
    expect(page.get_by_role("link", name="first", exact=True)).to_be_hidden()
    expect(page.get_by_role("link", name=SECOND)).to_be_visible()


def test_buttons_are_enabled_when_they_can_work(page):
    page.goto("/")
    compare = page.get_by_role("button", name="Compare selected")
    expect(compare).to_be_disabled()
    page.get_by_label("Choose first").check()
    expect(page.locator("#choice")).to_contain_text("1 selected")
    expect(compare).to_be_disabled()
    page.get_by_label("Choose drawn").check()
    expect(page.locator("#choice")).to_contain_text("no task in common")
    expect(compare).to_be_disabled()
    page.get_by_label("Choose drawn").uncheck()
    page.get_by_label(f"Choose {SECOND}").check()
    expect(compare).to_be_enabled()
    for name in ("failing", "hostile"):
        page.get_by_label(f"Choose {name}").check()
    expect(compare).to_be_disabled()
    expect(page.get_by_role("button", name="Rank selected")).to_be_enabled()


def test_rows_of_the_list_are_one_line_on_a_wide_screen(browser, address):
    with opened(browser, base_url=address, viewport={"width": 1400, "height": 900}) as page:
        page.goto("/")
        settle(page)
        heights = [row.bounding_box()["height"] for row in page.locator(".runs tbody .run").all()]
        assert max(heights) <= 34


def test_metrics_and_states_of_the_list_are_whole_on_a_tablet(browser, address):
    with opened(browser, base_url=address, viewport={"width": 768, "height": 900}) as page:
        page.goto("/")
        settle(page)
        cut = page.evaluate("""() => [...document.querySelectorAll(".runs .metric, .runs .run-state")]
            .filter((node) => node.getBoundingClientRect().right > node.closest("td, th").getBoundingClientRect().right
                || node.scrollWidth > node.clientWidth + 1)
            .map((node) => node.innerText)""")
        assert cut == []


def test_runs_are_chosen_and_compared(page):
    page.goto("/")
    page.get_by_label("Choose first").check()
    page.get_by_label(f"Choose {SECOND}").check()
    page.get_by_role("button", name="Compare selected").click()
    expect(page.locator(".lead-text")).to_have_text(re.compile("^No difference between second and first is shown"))
    # A card that is not on the screen is not laid out, so it has no inner text.
    expect(page.locator(".card").first.get_by_role("link")).to_have_text("What is the capital of country 3?")
    page.get_by_role("link", name=f"better in {SECOND} 20").click()
    page.wait_for_url("**won**")
    page.locator(".card h3 a").first.click()
    page.wait_for_url("**/compare/sample?**index=4**")
    expect(page.locator(".column")).to_have_count(2)
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**index=8**")


def test_a_run_that_goes_on_is_watched_until_its_end(browser, runs, address, tmp_path):
    output = runs / "live"
    words = ["run", "--model", "mock", "--model-args", "mode=gold,delay_ms=400,is_async=true", "--tasks", "demo_signs"]
    environment = {**os.environ, "POLYMETER_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "polymeter", *words, "--concurrency", "1", "--output", str(output), "--quiet"]
    process = subprocess.Popen(command, env=environment)
    try:
        with opened(browser, base_url=address) as page:
            page.goto("/?q=live")
            for _ in range(100):
                if page.get_by_role("link", name="live").count():
                    break
                page.wait_for_timeout(100)
                page.reload()
            expect(page.locator(".run-state").get_by_text("ended")).to_be_visible()
            page.get_by_role("link", name="live").click()
            expect(page.get_by_text("last written")).to_be_visible()
            first = int(page.locator("progress").get_attribute("value"))
            more = page.locator(", ".join(f"progress[value='{first + n}']" for n in range(1, 47)))
            expect(more).to_be_visible()
            page.goto("/run/live/samples")
            expect(page.locator(".row").first).to_be_visible()
            page.goto("/run/live")
            expect(page.get_by_text("This run is complete.")).to_be_visible(timeout=60_000)
            page.get_by_role("link", name="Show its results").click()
            expect(page.locator(".results")).to_contain_text("1.0000")
            expect(page.locator("progress")).to_have_count(0)
    finally:
        process.kill()
        process.wait()


def test_images_are_shown_at_their_true_size(page):
    page.goto(PAGES["edit"])
    expect(page.locator("main img").first).to_be_visible()
    page.wait_for_function("[...document.querySelectorAll('main img')].every((image) => image.naturalWidth > 0)")


def test_a_viewer_for_others_asks_for_a_token(browser, runs):
    with serving(runs, "--token", "sesame") as found, opened(browser) as page:
        plain = found.partition("?")[0].rstrip("/")
        assert page.request.get(plain).status == 401
        page.goto(found)
        expect(page).to_have_url(f"{plain}/")
        page.goto(f"{plain}/run/first")
        expect(page.locator(".crumb")).to_have_text("first")
