"""The search, the filters and the orders over all pages of a list of samples in a bundle, without a server."""

from __future__ import annotations

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

from polymeter.api.viewing import bundle
from tests.helpers.accessibility import SCHEMES, WIDTHS, overflowing, violations
from tests.helpers.browsing import expect, opened
from tests.helpers.viewed_runs import TASK, hostile_sample, sample, write_run

pytestmark = pytest.mark.browser
LIST = f"run/one/{TASK}/index.html"


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("filters")
    samples = [sample(n, right=n % 4 != 0, status="error" if n == 7 else "ok") for n in range(119)]
    write_run(folder / "runs" / "one", [*samples, hostile_sample(119)])
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("POLYMETER_CACHE_DIR", str(folder / "cache"))
        bundle([folder / "runs"], folder / "site")
    return (folder / "site").as_uri()


def test_they_cover_all_pages_and_stay_in_the_link(browser, root) -> None:
    with opened(browser, own=(root, "data:"), viewport={"width": 1400, "height": 900}) as page:
        page.goto(f"{root}/{LIST}")
        rows, found = page.locator("[data-row]:visible"), page.locator("main [role=search] [role=status]")
        expect(rows).to_have_count(50)
        page.get_by_label("Search all pages").fill("COUNTRY 11")
        expect(found).to_have_text("10 of 120")  # 11 and 110 to 118
        expect(rows).to_have_count(10)
        page.get_by_label("wrong").check()
        expect(found).to_have_text("2 of 120")
        page.get_by_label("Search all pages").fill("")
        page.get_by_label("Subset").select_option("north")
        expect(found).to_have_text("0 of 120")
        page.get_by_label("Subset").select_option("")
        page.get_by_label("wrong").uncheck()
        expect(page.locator(".pager")).to_be_visible()
        page.get_by_label("Order").select_option("worst:f1")
        expect(rows.first).to_contain_text("row-0000")
        page.get_by_role("button", name="Show more").click()
        expect(rows).to_have_count(100)
        page.get_by_label("failed").check()
        expect(rows).to_have_count(1)
        rows.first.click()
        page.wait_for_url(f"{root}/run/one/{TASK}/sample-7.html")
        page.go_back()
        expect(page.get_by_label("Order")).to_have_value("worst:f1")
        expect(rows).to_have_count(1)


def test_hostile_rows_stay_text(browser, root) -> None:
    with opened(browser, own=(root, "data:")) as page:
        page.goto(f"{root}/{LIST}#q=window.hacked")
        expect(page.locator("[data-row]:visible")).to_have_count(1)


def test_they_fit_and_can_be_used_by_everyone(browser, root) -> None:
    for width in WIDTHS:
        for scheme in SCHEMES:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.goto(f"{root}/{LIST}#state=wrong")
            expect(page.locator("main [role=search] [role=status]")).to_contain_text("of 120")
            assert overflowing(page) == []
            assert violations(page) == []
            page.close()
