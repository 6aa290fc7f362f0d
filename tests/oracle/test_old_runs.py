"""Run folders that an earlier version wrote go on, are scored again and shown, to the byte, and nothing that they hold
is asked again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.oracle.old_runs import INPUTS, KINDS, STEPS, answers, carry_out, command, differences, digest, unpack

_BY_REASON = json.loads(Path(__file__).with_name("expected_differences.json").read_text(encoding="utf-8"))
EXPECTED = {name for names in _BY_REASON.values() for name in names}
pytestmark = pytest.mark.needs_system("evalscope", "lmms_eval", "ulmeval")


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
        differing |= {
            f"{step}: {label}": pair
            for label, pair in differences(expected[step], found).items()
            if f"test_old_runs.py::{kind} | {label}" not in EXPECTED
        }
        assert before <= answers(here / kind / "journal.db"), f"{step} asked again what was answered"
    assert differing == {}


def test_two_old_runs_are_compared(here: Path) -> None:
    unpack(here, "unscored")
    carry_out(here, "unscored", "score")
    code, said = command(here, ["agree", "unscored", "unscored-scored", "--json"])
    assert code == 0
    assert json.loads(said)["compared"][0]["agreement"]["value"] == 0.0
    assert digest(said.encode()) == "22daf480fd570529"


def test_an_old_prediction_file_is_scored(here: Path) -> None:
    """It is a pickle that names a module of Polymeter, which stands for the images in it."""
    unpack(here, "own_prompts")
    file = "own_prompts/artifacts/shades/OracleUlm_shades.pkl"
    assert b"polymeter.core.stored_image" in (here / file).read_bytes()
    words = ["--data", "shades", "--model", "OracleUlm", "--model-path", "ulm_wrapper.py", "--include-path", "tables"]
    code, said = command(here, ["ulmeval", "evaluate", *words, "--result-file", file, "--work-dir", "out"])
    assert code == 0
    assert '"shade": 50.0' in said
    written = min(here.glob("out/OracleUlm/*/OracleUlm_shades.pkl"))
    assert b"polymeter.core.stored_image" in written.read_bytes(), "what is written now is read by what was"
