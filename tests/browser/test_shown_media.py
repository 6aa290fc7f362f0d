"""What a model was shown, on a report's page of a sample in headless Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from polymeter.report import make_html_report
from polymeter.store.exports.export import read_samples
from polymeter.store.folder import RunFolder
from tests.helpers.accessibility import overflowing, violations
from tests.helpers.browsing import expect, opened
from tests.helpers.showing import media_task, showing_model
from tests.helpers.tasks import run_tasks

pytestmark = pytest.mark.browser
VIDEO = "Video shown as 8 of 240 frames (rule cut, 64 were asked for, the header says 250)"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: RunFolder = run_tasks(
        [media_task(1)], showing_model(8, wanted=64), tmp_path_factory.mktemp("shown") / "run"
    ).folder
    file = folder.path / "shown.html"
    page = make_html_report(
        folder.read_manifest(), folder.read_results(), lambda task: [*read_samples(folder, task)], lambda name: None
    )
    file.write_text(page, encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("width", [390, 1400])
def test_a_report_folds_the_facts_under_the_media(browser: Any, address: str, width: int) -> None:
    with opened(browser, viewport={"width": width, "height": 900}) as page:
        page.goto(f"{address}#media/0")
        folds = page.locator("#detail details.shown")
        expect(folds).to_have_count(3)
        first = folds.first
        expect(first.locator("summary")).to_contain_text(VIDEO)
        expect(first.get_by_text("0, 30, 60, 90, 120, 150, 180, 210")).to_be_hidden()
        first.locator("summary").click()
        expect(first.get_by_text("0, 30, 60, 90, 120, 150, 180, 210")).to_be_visible()
        expect(page.locator("main")).to_contain_text("1 of 1 video was shown with fewer frames than asked for.")
        assert overflowing(page) == []
        assert violations(page) == []
