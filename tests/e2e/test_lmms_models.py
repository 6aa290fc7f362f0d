"""Wrappers of lmms-eval on the command line, in processes of their own: as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.kit import guests_of
from tests.e2e.kit import polymeter
from tests.helpers.colours import folder_of_colours, wrapper_file

pytestmark = pytest.mark.needs_system("lmms_eval")

IDIOMS = guests_of("lmms_eval") / "model_idioms"
CODE = """\
def __init__(self, pretrained="x", scale=1, extra=None):
    self.told = repr((pretrained, scale, extra))

def generate_until(self, requests):
    return [request.args[0] + " " + self.told for request in requests]
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A working directory with tasks in ``tasks`` and a wrapper in ``mine.py``."""
    folder_of_colours(tmp_path / "tasks")
    wrapper_file(tmp_path, CODE)
    return tmp_path


def first_text(run: Path, task: str = "colours") -> str:
    with (run / "samples" / f"{task}.jsonl").open() as file:
        return str(json.loads(file.readline())["exchanges"][0]["response"]["outputs"][0]["text"])


def test_run_and_resume_from_another_folder(here: Path) -> None:
    words = ["--tasks", "colours", "--include-path", "tasks", "--output", "run", "--model-path", "mine.py"]
    ended = polymeter("run", "--model", "lmms:Mine", "--model-args", "scale=-1,extra=[1,2]", *words, cwd=here)
    assert ended.returncode == 0, ended.stderr
    assert first_text(here / "run") == "Which colour? ('x', -1.0, '[1,2]')", "values as lmms-eval reads them"
    again = polymeter("resume", str(here / "run"), cwd=here.parent)
    assert again.returncode == 0, again.stderr


def test_the_prompt_is_cut_off_on_demand(here: Path) -> None:
    words = ["--tasks", "colours", "--include-path", "tasks", "--output", "run", "--model-path", "mine.py"]
    ended = polymeter("run", "--model", "lmms", "--strip-prompt", *words, cwd=here)
    assert ended.returncode == 0, ended.stderr
    assert first_text(here / "run") == " ('x', 1, None)"


@pytest.mark.parametrize(
    "before",
    [
        ["python", "-m", "lmms_eval", "--model_path", "WRAPPER", "--include_path", "tasks"],
        ["python", "--model-path", "WRAPPER", "--include-path=tasks", "-m", "lmms_eval"],
    ],
)
def test_lmms_evals_own_command_lines_find_a_wrapper(here: Path, before: list[str]) -> None:
    words = [str(IDIOMS / "idiomatic.py") if word == "WRAPPER" else word for word in before]
    told = ["--model", "idiomatisch", "--model_args", "pretrained=org/x", "--tasks", "colours", "--batch_size", "4"]
    ended = polymeter(*words, *told, "--output_path", "out", "--log_samples", cwd=here)
    assert ended.returncode == 0, ended.stderr
    (results,) = (here / "out").rglob("*_results.json")
    assert json.loads(results.read_text())["results"]["colours"]["exact_match,none"] == 1.0
    assert "Model Responding" not in ended.stderr
