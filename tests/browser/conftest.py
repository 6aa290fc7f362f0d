"""Headless Chromium, started once for each file of tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.viewing import serving, write_viewed_runs


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or "/usr/bin/chromium"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def viewed_runs(tmp_path_factory) -> Path:
    """The runs of ``write_viewed_runs``, and one whose task shows images."""
    import polymeter

    folder = write_viewed_runs(tmp_path_factory.mktemp("questions") / "runs")
    polymeter.evaluate("mock", "demo_signs", model_args={"answer": "EXIT"}, output=folder / "signs", limit=12)
    return folder


@pytest.fixture(scope="session")
def viewer_address(viewed_runs) -> Iterator[str]:
    """The address of a viewer over these runs."""
    with serving(viewed_runs) as found:
        yield found
