"""A run at parity with another system: where it is said, and what goes on with what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polymeter import evaluate, resume, score
from polymeter.api import rerun, verify
from polymeter.api.settings import read_settings
from polymeter.catalog.trying import first_prompts
from polymeter.core.errors import PlanError
from polymeter.report import to_text
from polymeter.report.run.provenance import headline, provenance

pytestmark = pytest.mark.needs_system("lmms_eval")
TASK = """\
task: t
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
description: About.
doc_to_text: "{{q}}"
doc_to_target: a
"""


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"q": "x", "a": "1"}\n{"q": "y", "a": "2"}\n')
    (tmp_path / "t.yaml").write_text(TASK)
    return str(tmp_path / "t.yaml")


def samples(folder: Path) -> str:
    return (folder / "samples" / "t.jsonl").read_text()


def test_the_run_says_whose_values_it_takes(task: str, tmp_path: Path) -> None:
    result = evaluate("mock", task, output=tmp_path / "run", parity="lmms_eval")
    manifest = result.folder.read_manifest()
    assert manifest["options"]["identity"]["parity"] == "lmms-eval"
    assert {name: manifest["parity"][name] for name in ("system", "version")} == {
        "system": "lmms-eval",
        "version": "0.7.2",
    }
    assert "chat-prompt" in manifest["parity"]["switched"]
    assert result.results["parity"] == "lmms-eval 0.7.2"
    assert "parity: lmms-eval 0.7.2" in to_text(result.results)
    assert ("Parity", "lmms-eval 0.7.2") in headline(manifest, result.results).facts
    assert any("chat-prompt" in text for section in provenance(manifest) for _, text in section.pairs)
    assert "About." not in samples(tmp_path / "run")


def test_without_it_nothing_says_so_and_the_identity_is_what_it_was(task: str, tmp_path: Path) -> None:
    result = evaluate("mock", task, output=tmp_path / "run")
    manifest = result.folder.read_manifest()
    assert "parity" not in json.dumps(manifest["options"]) + json.dumps(manifest["identity"])
    assert "parity" not in manifest
    assert "parity" not in result.results
    assert "About." in samples(tmp_path / "run")


def test_a_run_goes_on_with_the_parity_that_it_began_with(task: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    evaluate("mock", task, output=run, parity="lmms-eval")
    with pytest.raises(PlanError, match="another run: parity differs"):
        evaluate("mock", task, output=run)
    assert resume(run).results["parity"] == "lmms-eval 0.7.2"
    again = rerun(run)
    assert again.difference is None
    assert again.result.results["parity"] == "lmms-eval 0.7.2"


def test_scoring_again_can_change_it(task: str, tmp_path: Path) -> None:
    evaluate("mock", task, output=tmp_path / "run", parity="lmms-eval")
    assert score(tmp_path / "run", output=tmp_path / "kept").results["parity"] == "lmms-eval 0.7.2"
    changed = score(tmp_path / "run", output=tmp_path / "changed", parity="none")
    assert "parity" not in changed.results
    assert changed.n_failed == 2  # the description makes another prompt, which the model has not answered


def test_settings_ask_for_it_and_none_turns_it_off(task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "polymeter.yaml").write_text("parity: lmms-eval\n")
    assert evaluate("mock", task, output=tmp_path / "a").results["parity"] == "lmms-eval 0.7.2"
    assert "parity" not in evaluate("mock", task, output=tmp_path / "b", parity="none").results
    monkeypatch.setenv("POLYMETER_PARITY", "none")
    assert read_settings().parity == ""
    monkeypatch.setenv("POLYMETER_PARITY", "lmms")
    with pytest.raises(PlanError, match="no system 'lmms'"):
        read_settings()


def test_an_unknown_system_is_refused_before_anything_else(task: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no system 'lmms-evil'"):
        evaluate("no such model", "no such task", output=tmp_path / "run", parity="lmms-evil")


def test_prompts_are_shown_at_parity(task: str) -> None:
    shown = {
        parity: next(first_prompts(Path(task), 1, parity=parity)).requests[0].text for parity in ("none", "lmms-eval")
    }
    assert shown == {"none": "About.x", "lmms-eval": "x"}


def test_a_run_at_parity_is_verified_by_the_same_numbers(task: str, tmp_path: Path) -> None:
    code = "from lmms_eval.api.metrics import median\n\n\ndef middle(values):\n    return median(values)\n"
    (tmp_path / "own.py").write_text(code)
    metrics = "metric_list:\n- {metric: exact_match, aggregation: !function own.middle}\n"
    (tmp_path / "t.yaml").write_text(TASK + metrics)
    rows = "".join(f'{{"q": "{i}", "a": "{answer}"}}\n' for i, answer in enumerate("100"))
    (tmp_path / "rows.jsonl").write_text(rows.replace('"a": "1"', '"a": "9"'))
    made = {"model_args": {"answer": 0}, "parity": "lmms-eval"}
    result = evaluate("mock", task, output=tmp_path / "run", **made)  # type: ignore[arg-type]
    assert result.value("t", "exact_match") == 1.0
    assert verify(tmp_path / "run").problems == ()
