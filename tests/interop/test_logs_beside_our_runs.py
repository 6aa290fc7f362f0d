"""The logs of lmms-eval and lm-eval beside this file, which these tools wrote about the tasks of ``conformance/logs``,
and runs of the same tasks with the same model here: no number differs. The other tools' own tests do the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import polymeter
from conformance.logs.checking import differences_in
from conformance.logs.tasks import copy_tasks

HERE = Path(__file__).parent
SCRIPTED = HERE.parents[1] / "conformance" / "logs" / "scripted.py"


def compared(tool: str, log: str, tasks: str, model: str, **more: Any) -> list[Any]:
    polymeter.import_log(HERE / log, output="theirs")
    polymeter.evaluate(model, tasks.split(","), include_paths=["."], output="ours", **more)
    document = polymeter.compare("theirs", "ours").document()
    assert differences_in(tool, document)
    found: list[Any] = document["others"][0]["scores"]
    assert all(not (score["n_only_first"] or score["n_only_second"] or score["n_neither"]) for score in found)
    return found


@pytest.mark.needs_system("lmms_eval")
def test_lmms_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_tasks(tmp_path, has_pictures=True)
    monkeypatch.chdir(tmp_path)
    found = compared(
        "lmms-eval",
        "lmms_eval/logs",
        "shapes,nature,sums",
        "lmms:scripted",
        model_path=SCRIPTED,
        model_args={"seed": "1"},
    )
    assert {score["name"] for score in found} == {"shapes", "nature", "animals", "plants", "sums"}


@pytest.mark.slow
@pytest.mark.needs_system("lm_eval")
def test_lm_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a checkpoint of random weights, which the same seed makes again."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.helpers.checkpoints import make_checkpoint

    make_checkpoint("qwen2", tmp_path / "tiny", has_template=False)
    copy_tasks(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = compared(
        "lm-eval",
        "lm_eval/logs",
        "nature,sums,cloze",
        "hf:./tiny",
        model_args={"dtype": "float32", "device": "cpu"},
    )
    assert {score["name"] for score in found} == {"nature", "animals", "plants", "sums", "cloze"}
