"""A bundle in headless Chromium, from a folder and from a plain web server: nothing but its own files is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from polymeter.api.viewing import bundle
from tests.helpers.accessibility import expand, overflowing, violations
from tests.helpers.browsing import expect, opened, settle
from tests.helpers.viewed_runs import sample, write_run
from tests.helpers.viewing import write_viewed_runs

pytestmark = pytest.mark.browser
PAGES = (
    "index.html",
    "leaderboard.html",
    "compare.html",
    "compare/first--second/capitals/index.html",
    "compare/first--second/capitals/sample-3.html",
    "compare/first--second--third/capitals/index.html",
    "compare/first--second--third/capitals/sample-3.html",
    "run/first/index.html",
    "run/first/manifest.html",
    "run/first/capitals/index.html",
    "run/first/capitals/sample-5.html",
    "run/first/capitals/plots.html",
    "run/failing/index.html",
    "run/going/index.html",
    "run/drawn/demo_edit/sample-1.html",
    "run/hostile/capitals/index.html",
    "run/hostile/capitals/sample-1.html",
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("POLYMETER_CACHE_DIR", str(folder / "cache"))
        runs = write_viewed_runs(folder / "runs")
        third = [sample(n, right=n % 5 != 0) for n in range(120)]
        write_run(runs / "third", third, model="medium", started="2026-05-05T10:00:00+00:00")
        bundle([runs], folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def served(site) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=["file", "http"])
def root(request, site) -> str:
    """The address of the bundle."""
    return site.as_uri() if request.param == "file" else request.getfixturevalue("served")


def test_a_reader_goes_from_runs_to_samples_and_comparisons(browser, root):
    with opened(browser, own=(root, "data:"), viewport={"width": 1400, "height": 900}) as page:
        page.goto(f"{root}/index.html")
        page.get_by_role("link", name="first", exact=True).click()
        page.get_by_role("link", name="Samples", exact=True).click()
        page.get_by_label("Search all pages").fill("country 41")
        expect(page.locator("[data-row]:visible")).to_have_count(1)
        page.locator("[data-row]:visible").click()
        page.wait_for_url(f"{root}/run/first/capitals/sample-41.html")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/sample-42.html")
        page.keyboard.press("k")
        page.wait_for_url("**/sample-41.html")
        page.keyboard.press("u")
        page.wait_for_url("**/run/first/capitals/index.html")
        page.keyboard.press("g")
        page.wait_for_url(f"{root}/index.html")
        page.get_by_role("link", name="Compare", exact=True).click()
        page.wait_for_url(f"{root}/compare.html")
        page.get_by_role("link", name="Capitals of first and second", exact=True).click()
        expect(page.get_by_text("McNemar").first).to_be_attached()
        page.locator("[data-row]").first.click()
        page.wait_for_url("**/compare/first--second/capitals/sample-3.html")
        page.keyboard.press("ArrowRight")
        page.wait_for_url("**/compare/first--second/capitals/sample-4.html")
        page.keyboard.press("u")
        page.get_by_role("link", name="first, second and third").click()
        page.wait_for_url("**/compare/first--second--third/capitals/index.html")
        page.locator("[data-row]").first.click()
        expect(page.get_by_role("region", name="third", exact=True)).to_be_visible()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1400, "dark")])
def test_every_page_is_accessible_and_nothing_sticks_out(browser, site, width, scheme):
    root = site.as_uri()  # a web server serves the same files
    found: dict[str, list[str]] = {}
    view = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(browser, own=(root, "data:"), is_examined=True, **view) as page:
        for name in PAGES:
            page.goto(f"{root}/{name}")
            expand(page)
            if troubles := [*violations(page), *overflowing(page)]:
                found[name] = troubles
    assert found == {}


def test_three_answers_stand_side_by_side_on_a_tablet(browser, site):
    with opened(browser, own=(site.as_uri(), "data:"), viewport={"width": 768, "height": 900}) as page:
        for name, parts in (("index", ".card:first-child .side"), ("sample-3", ".column")):
            page.goto(f"{site.as_uri()}/compare/first--second--third/capitals/{name}.html")
            settle(page)
            tops = [part.bounding_box()["y"] for part in page.locator(parts).all()]
            assert len(tops) == 3
            assert len(set(tops)) == 1


def test_images_are_shown_and_the_leaderboard_sorts(browser, root):
    with opened(browser, own=(root, "data:")) as page:
        page.goto(f"{root}/run/drawn/demo_edit/sample-1.html")
        expect(page.locator("main img").first).to_be_visible()
        page.wait_for_function("[...document.querySelectorAll('main img')].every((image) => image.naturalWidth > 0)")
        page.goto(f"{root}/leaderboard.html")
        page.locator("input[type=search]").first.fill("small")
        expect(page.get_by_text("1 of 6 models")).to_be_visible()


def test_every_page_is_whole_without_scripts(browser, root):
    with opened(browser, own=(root, "data:"), java_script_enabled=False) as page:
        for name in PAGES:
            page.goto(f"{root}/{name}")
            expect(page.locator("h1"), name).to_have_count(1)
