"""The form for a person's verdict in headless Chromium: with the mouse, the keyboard, and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from polymeter.store.verdicts import read_verdicts
from tests.helpers.accessibility import SCHEMES, WIDTHS, overflowing, violations
from tests.helpers.browsing import expect, opened
from tests.helpers.viewed_runs import TASK, sample, write_run
from tests.helpers.viewing import serving

pytestmark = pytest.mark.browser
PATH = f"/run/one/sample?task={TASK}&index=0"
CHOICES = {"choices": ["Lyon", "Paris"]}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    write_run(folder / "one", [sample(n, right=bool(n % 2), doc=CHOICES) for n in range(4)])
    return folder


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_reader_scores_labels_excludes_and_undoes(browser, runs: Path, has_scripts: bool) -> None:
    with serving(runs) as address, opened(browser, java_script_enabled=has_scripts) as page:
        page.goto(f"{address}{PATH}")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_label("Your name").press("Enter")  # no verdict is given by accident
        assert [*read_verdicts(runs / "one").verdicts] == []
        given = page.locator(".verdict-history li")
        page.get_by_role("button", name="Right").click()
        expect(given).to_have_count(1)
        page.get_by_label("Your score for f1").fill("0.25")
        page.get_by_role("button", name="Set").click()
        expect(given).to_have_count(2)
        page.get_by_label("Label", exact=True).select_option("B. Paris")
        page.get_by_role("button", name="Label", exact=True).click()
        expect(given).to_have_count(3)
        page.get_by_role("button", name="Exclude").click()  # a reason is missing: the browser asks for it
        assert len(read_verdicts(runs / "one").verdicts) == 3
        page.get_by_label("Reason").fill("the sign is blurred")
        page.get_by_label("Your name").fill("Ada")
        page.get_by_role("button", name="Exclude").click()
        expect(given).to_have_count(4)
        expect(given.first.get_by_text("Excluded: the sign is blurred", exact=True)).to_be_visible()
        given.first.get_by_role("button", name="Undo").click()
        expect(given.first.get_by_text("undone")).to_be_visible()
        expect(page.get_by_role("button", name="Right")).to_have_attribute("aria-pressed", "true")
    found = read_verdicts(runs / "one")
    assert [one.kind for one in found.valid] == ["score", "score", "label"]
    assert [one.by for one in found.verdicts] == ["Ada", "", "", "Ada"]
    assert found.scores()[TASK].values["row-0000"] == {"exact_match": 1.0, "f1": 0.25}


def test_it_fits_and_can_be_used_by_everyone(browser, runs: Path) -> None:
    with serving(runs) as address:
        for width in WIDTHS:
            for scheme in SCHEMES:
                with opened(browser, viewport={"width": width, "height": 900}, color_scheme=scheme) as page:
                    page.goto(f"{address}{PATH}")
                    if not read_verdicts(runs / "one").verdicts:
                        page.get_by_label("Reason").fill("unreadable " * 20)
                        page.get_by_role("button", name="Exclude").click()
                        expect(page.locator(".verdict-history li")).to_be_visible()
                    assert overflowing(page) == []
                    assert violations(page) == []
