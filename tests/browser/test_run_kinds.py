"""A run of each kind in the viewer, in its report and in a bundle: nothing sticks out, and axe finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

from polymeter.api.viewing import bundle
from tests.helpers.accessibility import SCHEMES, WIDTHS, expand, overflowing, violations
from tests.helpers.browsing import expect
from tests.helpers.run_kinds import KINDS, make
from tests.helpers.viewing import serving
from tests.report.test_content_kinds import PACKAGES, SYSTEMS

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("kinds")


@pytest.fixture(scope="module")
def address(folder):
    make("partial", folder)  # a viewer refuses a folder without runs
    with serving(folder) as found:
        yield found


def made(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if kind in PACKAGES:
        pytest.importorskip(PACKAGES[kind])
    monkeypatch.setenv("LMUData", str(folder))  # restores what making a run sets
    return folder / kind if (folder / kind).is_dir() else make(kind, folder)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.needs_system(SYSTEMS[kind])) if kind in SYSTEMS else kind for kind in KINDS],
)
def test_every_page_of_it_fits_and_can_be_used_by_everyone(
    kind, browser, folder, address, tmp_path, monkeypatch
) -> None:
    run = made(kind, folder, monkeypatch)
    bundle([run], tmp_path / "site")
    page = browser.new_page()
    page.goto(f"{address}/run/{kind}/samples")
    sample = page.locator("[data-row]").first  # the page of samples loads again when they are indexed
    expect(sample).to_be_visible()
    places = [
        *(page.url, f"{address}{sample.get_attribute('href')}", f"{address}/run/{kind}"),
        *((run / "report.html").as_uri(), min((tmp_path / "site/run").rglob("sample-*.html")).as_uri()),
    ]
    page.close()
    found: dict[str, list[str]] = {}
    for scheme in SCHEMES:
        page = browser.new_page(color_scheme=scheme)
        for place in places if scheme == "light" else (places[1], places[3]):
            page.set_viewport_size({"width": WIDTHS[0], "height": 900})
            page.goto(place)
            expand(page)
            troubles = violations(page)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                troubles += overflowing(page)
            if troubles:
                found[f"{place} ({scheme})"] = troubles
        assert page.evaluate("window.hacked") is None
        page.close()
    assert found == {}


def test_a_report_plays_the_videos_that_it_has_room_for(browser, folder, monkeypatch) -> None:
    run = made("video", folder, monkeypatch)
    page = browser.new_page()
    page.goto((run / "report.html").as_uri())
    player = page.get_by_label("Video of the prompt")
    expect(player).to_be_visible()
    page.wait_for_function("document.querySelector('video').readyState > 0")
    assert player.evaluate("one => [one.paused, one.autoplay, one.videoWidth]") == [True, False, 320]
    # The name of the file, not its place on the machine that the run was made on.
    expect(page.locator("figcaption", has_text="Video").first).to_have_text("Videoclip0.mp4320 × 240 px3.0 s")
    page.close()


def test_a_report_names_characters_that_cannot_be_seen(browser, folder, monkeypatch) -> None:
    run = made("tools", folder, monkeypatch)
    page = browser.new_page()
    page.goto((run / "report.html").as_uri())
    page.get_by_role("button", name="Say something odd.").click()
    answer = page.locator(".pair .block", has_text="Answer").locator("pre")
    expect(answer).to_contain_text("U+202Egnp.exe")
    page.close()
