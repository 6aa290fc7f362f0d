"""Headless Chromium, started once for each file of tests."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or "/usr/bin/chromium"
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=["--no-sandbox"])
        yield browser
        browser.close()
