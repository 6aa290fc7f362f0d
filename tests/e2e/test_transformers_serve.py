"""Transformers' own server, started for real on the small checkpoint of the library.

Its command line and endpoints are those of the installed version: ``transformers serve MODEL --host --port``, and
``/health``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError

for package in ("torch", "transformers", "fastapi", "uvicorn", "openai"):
    pytest.importorskip(package)
pytestmark = pytest.mark.slow

TINY_VLM = Path(polymeter.__file__).parent / "library" / "tiny_vlm"
TASKS = ["demo_vlm_generate", "demo_vlm_rounds"]


def answers(folder: Path, task: str) -> dict[str, Any]:
    """What was answered to each sample, round by round."""
    rows = map(json.loads, (folder / "samples" / f"{task}.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["id"]: [one["response"]["outputs"][0]["text"] for one in row["exchanges"]] for row in rows}


def test_its_answers_are_those_of_the_same_model_in_this_process(tmp_path: Path) -> None:
    options: dict[str, Any] = {"limit": 5}
    here = polymeter.evaluate(
        f"hf:{TINY_VLM}", TASKS, output=tmp_path / "hf", model_args={"dtype": "float32"}, **options
    )
    served = polymeter.evaluate(
        f"transformers-serve:{TINY_VLM}",
        TASKS,
        output=tmp_path / "served",
        model_args={"server_args": "--dtype float32 --device cpu"},
        **options,
    )
    assert (served.status, served.n_failed) == ("complete", 0), served.reason
    for task in TASKS:
        found = answers(tmp_path / "served", task)
        assert found == answers(tmp_path / "hf", task)
        assert all(texts for texts in found.values())
    assert served.results["tasks"].keys() == here.results["tasks"].keys()
    (server,) = served.folder.read_manifest()["sessions"][-1]["lanes"]["model"]["servers"]
    assert f"serve {TINY_VLM} --host 127.0.0.1 --port" in server["command"]
    assert any(version.startswith("transformers ") for version in server["versions"])


def test_it_has_no_log_probabilities(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="asks for 'loglikelihood'"):
        polymeter.evaluate(f"transformers-serve:{TINY_VLM}", "demo_vlm_loglikelihood", output=tmp_path / "run")
