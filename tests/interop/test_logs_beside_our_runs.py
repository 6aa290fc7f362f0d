"""The logs of lmms-eval and lm-eval beside this file, which these tools wrote about the tasks of ``conformance/logs``,
and runs of the same tasks with the same model here; and that of EvalScope 1.x, whose benchmarks are written again for
0.17: no number differs. The tests of each other tool's logs have the same for it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import polymeter
from conformance.logs.checking import differences_in
from conformance.logs.tasks import copy_tasks

HERE = Path(__file__).parent
OLD_FORM = HERE / "evalscope" / "made_for_1x.py"
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


@pytest.mark.needs_system("evalscope")
def test_evalscope_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # In a process of its own: a script registers its benchmarks for the rest of a process.
    subprocess.run([sys.executable, "-m", "polymeter", "python", str(OLD_FORM), "ours"], check=False)
    runs = {next((run / "samples").glob("*.jsonl")).stem: run for run in tmp_path.glob("ours/*/run_*")}
    for log, task, metrics, n in (
        ("repeats", "capitals", {"exact_match", "accuracy"}, 8),
        ("choices", "general_mcq", {"accuracy"}, 3),
    ):
        polymeter.import_log(HERE / "evalscope" / "logs" / "1.14" / log, output=log)
        document = polymeter.compare(log, runs[task]).document()
        assert differences_in("evalscope", document)
        scores = {score["metric"]: score for score in document["others"][0]["scores"]}
        assert scores.keys() == metrics
        for score in scores.values():
            assert (score["n"], score["n_only_first"], score["n_only_second"]) == (n, 0, 0)
