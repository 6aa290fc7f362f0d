"""Every page and message installs Polymeter from where the one setting says that it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polymeter.core.names.installing import IS_RELEASED
from scripts.docs_site import ROOT
from scripts.install_commands import user_pages, with_commands

BY_NAME = re.compile(r"pip3? install (?:-\S+ )*['\"]?polymeter\b|\bpolymeter\[[a-z]")
SHOWN = ("*.py", "*.md", "*.html", "*.js", "*.txt", "*.yaml")
"""The kinds of files that hold messages, help and what ``init`` writes."""


@pytest.mark.parametrize("path", user_pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_follows_the_setting(path: Path) -> None:
    text = path.read_text("utf-8")
    assert with_commands(text, is_released=IS_RELEASED) == text, "Run: python -m scripts.install_commands"


@pytest.mark.skipif(IS_RELEASED, reason="a package index has Polymeter")
def test_nothing_installs_polymeter_by_its_name() -> None:
    shown = [path for kind in SHOWN for path in (ROOT / "src").rglob(kind)]
    written = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in [*shown, *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
        if path.name != "CHANGELOG.md"
        for found in BY_NAME.finditer(path.read_text("utf-8", errors="replace"))
    ]
    assert written == []


@pytest.mark.parametrize(
    ("clone", "index"),
    [
        ("pip install -e '.[viewer,hf]'", "pip install 'polymeter[viewer,hf]'"),
        ("  - run: pip install ./polymeter\n", "  - run: pip install polymeter\n"),
        ("`pip install -e '.[ray]'` brings Ray.", "`pip install 'polymeter[ray]'` brings Ray."),
        ("pip install vllm", "pip install vllm"),
        ("pip install polymeter_toy ./polymeter_toy .venv/x", "pip install polymeter_toy ./polymeter_toy .venv/x"),
    ],
)
def test_the_commands_of_a_page_are_made_both_ways(clone: str, index: str) -> None:
    assert with_commands(clone, is_released=True) == index
    assert with_commands(index, is_released=False) == clone
    assert with_commands(clone, is_released=False) == clone
    assert with_commands(index, is_released=True) == index


def test_pins_belong_to_a_clone() -> None:
    command = "pip install -e '.[ocr]' -c constraints.txt"
    assert with_commands(command, is_released=False) == command
    assert with_commands(command, is_released=True) == "pip install 'polymeter[ocr]'"
