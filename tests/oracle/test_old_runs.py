"""Run folders that an earlier version wrote go on, are scored again and shown, to the byte, and nothing that they hold
is asked again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.oracle.old_runs import INPUTS, KINDS, STEPS, answers, carry_out, differences, unpack


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One working directory, whose inputs are those that the runs were made of."""
    folder = tmp_path_factory.mktemp("oracle").resolve()
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_an_old_run_goes_on_and_is_scored_again(kind: str, here: Path) -> None:
    try:
        expected = unpack(here, kind)
    except LookupError as other:
        pytest.skip(str(other))
    before = answers(here / kind / "journal.db")
    differing = {}
    for step in STEPS:
        found = carry_out(here, kind, step)
        differing |= {f"{step}: {label}": pair for label, pair in differences(expected[step], found).items()}
        assert before <= answers(here / kind / "journal.db"), f"{step} asked again what was answered"
    assert differing == {}
