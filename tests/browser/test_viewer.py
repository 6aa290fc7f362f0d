"""The viewer in headless Chromium, served by ``polymeter view``: what people do in it, at every width."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from polymeter.core.request import Output, Request, Response
from tests.helpers.accessibility import SCHEMES, WIDTHS, expand, overflowing, violations
from tests.helpers.viewed_runs import TASK, hostile_sample, sample, write_run

pytestmark = pytest.mark.browser
SECOND = "second"
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


def paint(request: Request) -> Response:
    """An image of one colour."""
    from PIL import Image

    return Response((Output(images=(Image.new("RGB", (256, 256), "teal"),)),))


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    import polymeter
    from polymeter.models.mock import MockBatch

    folder = tmp_path_factory.mktemp("viewed") / "runs"
    write_run(folder / "first", [sample(n, right=n % 4 != 0) for n in range(120)], model="small")
    write_run(folder / SECOND, [sample(n, right=n % 3 != 0) for n in range(120)], model="large")
    failing = [sample(n, right=bool(n % 2), status=("ok", "error", "unscored")[min(n % 7, 2)]) for n in range(30)]
    write_run(folder / "failing", failing, model="broken")
    write_run(folder / "hostile", [hostile_sample(n) for n in range(3)], model="<script>window.hacked=9</script>")
    write_run(folder / "going", [sample(n) for n in range(10)], status="running", n_planned=40)
    painter = MockBatch(paint, identity={"backend": "mock", "name": "painter"})
    polymeter.evaluate(painter, ["demo_edit"], output=folder / "drawn", limit=4)
    return folder


@contextmanager
def serving(*words: str | Path) -> Iterator[str]:
    """The address of a viewer in a process of its own."""
    command = [sys.executable, "-m", "polymeter", "view", *map(str, words), "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield re.search(r"http://\S+", line)[0].rstrip("/")
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        process.stdout.close()


@pytest.fixture(scope="module")
def address(runs) -> Iterator[str]:
    with serving(runs) as found:
        yield found


@contextmanager
def opened(browser, **options):
    """A page in a context of its own; nothing may be hacked, reported, or fetched from elsewhere."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda asked: None if re.match(r"http://127\.0\.0\.1:|data:", asked.url) else troubles.append(asked.url),
    )
    yield page
    assert page.evaluate("window.hacked") is None
    assert not troubles
    context.close()


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
                page.get_by_text("McNemar").first.wait_for(state="attached")
            expand(page)
            troubles = [*violations(page), *overflowing(page)]
            if troubles:
                found[name] = troubles
    assert found == {}


def test_every_page_is_whole_without_scripts(browser, address):
    context = browser.new_context(base_url=address, java_script_enabled=False)
    page = context.new_page()
    for path in PAGES.values():
        assert page.goto(path).status == 200
        assert page.locator("h1").count() == 1
    page.goto("/run/first/samples")
    page.get_by_label("wrong").check()
    page.get_by_role("button", name="Show").click()
    assert page.locator(".found strong").inner_text() == "30 samples"
    page.locator(".row").first.click()
    page.get_by_label("Note", exact=True).fill("left without a script")
    page.get_by_role("button", name="Leave note").click()
    assert page.get_by_text("left without a script").is_visible()
    page.get_by_role("button", name="Delete").click()
    assert page.get_by_text("left without a script").count() == 0
    context.close()


def test_runs_are_searched_and_opened(page):
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("large")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=large")
    page.get_by_role("link", name=SECOND).click()
    assert page.locator("h1").inner_text() == SECOND
    page.get_by_role("link", name="Samples", exact=True).click()
    assert page.locator(".found strong").inner_text() == "120 samples"


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
    names = [row.inner_text().split()[0] for row in page.locator(".row-id").all()]
    assert names == ["row-0004", "row-0040"]
    assert "min=" not in page.url
    with opened(browser) as another:
        another.goto(page.url)
        assert another.locator(".row").count() == 2
        assert another.get_by_label("wrong").is_checked()
    page.get_by_role("link", name=re.compile("Remove: wrong")).click()
    assert page.locator(".row").count() > 2


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
    assert "row-0004" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sample?**")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**index=8**")
    page.keyboard.press("k")
    page.wait_for_url("**index=4**")
    page.keyboard.press("n")
    page.keyboard.type("j k / ?")
    assert page.get_by_label("Note", exact=True).input_value() == "j k / ?"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.get_by_role("dialog").is_visible()
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
            page.get_by_text(text, exact=True).wait_for()
        mine.reload()
        assert [note.inner_text() for note in mine.locator(".note-text").all()] == ["mine", "theirs"]
        mine.goto(f"{address}/run/first/samples?tag=seen+twice")
        assert mine.locator(".row").count() == 1
        mine.locator(".row").click()
        for _ in range(2):
            mine.get_by_role("button", name="Delete").first.click()
            mine.wait_for_load_state()
        assert mine.locator(".note-text").count() == 0


def test_runs_are_chosen_and_compared(page):
    page.goto("/")
    page.get_by_label("Choose first").check()
    page.get_by_label(f"Choose {SECOND}").check()
    page.get_by_role("button", name="Compare selected").click()
    page.get_by_text("McNemar").first.wait_for(state="attached")
    assert page.locator(".card").first.get_by_role("link").inner_text() == "row-0003"
    page.locator("select[name=show]").select_option(f"won:{SECOND}")
    page.wait_for_url("**won**")
    page.locator(".card a").first.click()
    page.wait_for_url("**/compare/sample?**index=4**")
    assert page.locator(".column").count() == 2
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**index=8**")


def test_a_run_that_goes_on_is_watched_until_its_end(browser, runs, address, tmp_path):
    output = runs / "live"
    words = ["run", "--model", "mock", "--model-args", "mode=gold,delay_ms=150,is_async=true", "--tasks", "demo_signs"]
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
            page.locator(".run-state").get_by_text("ended").wait_for()
            page.get_by_role("link", name="live").click()
            page.get_by_text("last written").wait_for()
            first = int(page.locator("progress").get_attribute("value"))
            more = page.locator(", ".join(f"progress[value='{first + n}']" for n in range(1, 25)))
            more.wait_for()
            page.goto("/run/live/samples")
            assert page.locator(".row").count() > 0
            page.goto("/run/live")
            page.get_by_text("This run is complete.").wait_for(timeout=60_000)
            page.get_by_role("link", name="Show its results").click()
            assert "1.0000" in page.locator(".results").inner_text()
            assert page.locator("progress").count() == 0
    finally:
        process.kill()
        process.wait()


def test_images_are_shown_at_their_true_size(page):
    page.goto(PAGES["edit"])
    shown = page.locator("main img").first
    shown.wait_for()
    assert page.evaluate("[...document.querySelectorAll('main img')].every((image) => image.naturalWidth > 0)")


def test_a_viewer_for_others_asks_for_a_token(browser, runs):
    with serving(runs, "--token", "sesame") as found, opened(browser) as page:
        plain = found.partition("?")[0].rstrip("/")
        assert page.request.get(plain).status == 401
        page.goto(found)
        assert page.url == f"{plain}/"
        page.goto(f"{plain}/run/first")
        assert page.locator("h1").inner_text() == "first"
