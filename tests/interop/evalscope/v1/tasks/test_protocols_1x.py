"""The protocol of an adapter of EvalScope 1.x: known without running it, and part of the task's name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.run.plan.selection import build_catalog, select
from tests.helpers.fake_modelscope import ModelScope, fake_modelscope

STATED = '{"name": "official", "version": 2, "judge": "none", "expected_rows": 2, "mirrors": "there/tones"}'
ADAPTER = """\
from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import Sample
from evalscope.api.registry import register_benchmark


class Base(DefaultDataAdapter):
    def record_to_sample(self, record):
        assert self.name == "tones"
        return Sample(input=record["q"], target=record["a"])


@register_benchmark(BenchmarkMeta(
    name="tones", dataset_id="made/tones", metric_list=["exact_match"], eval_split="test",
    prompt_template="{{question}}", extra_params={{"own": 1, "protocol": {stated}}},
))
class Tones(Base):
    pass
"""
SHORT = """

@register_benchmark(BenchmarkMeta(
    name="tones", dataset_id="made/tones", metric_list=["exact_match"], eval_split="test",
    prompt_template="{question}", extra_params={"protocol": {"name": "short", "default": True, "expected_rows": 9}},
))
class Short(Base):
    pass
"""
ROWS = "".join(json.dumps({"q": f"{name}?", "a": name}) + "\n" for name in "ab")


def written(folder: Path, stated: str = STATED, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "tones_adapter.py"
    file.write_text(ADAPTER.format(stated=stated) + more)
    (folder / "test.jsonl").write_text(ROWS)
    return file


def test_it_is_listed_selected_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    written(folder)
    spec = select(["tones"], build_catalog([folder], None)).tasks[0]
    assert (spec.name, spec.benchmark) == ("tones@official", "tones")
    assert spec.protocol is not None
    assert spec.protocol.expected_rows == 2
    data = {"there/tones": str(folder / "test.jsonl")}
    run = polymeter.evaluate("mock", ["tones@official"], include_paths=[folder], data=data, output=tmp_path / "run")
    (task,) = json.loads((run.folder.path / "run.json").read_text())["tasks"]
    assert (run.results["tasks"]["tones@official"]["n_samples"], task["protocol"]["name"]) == (2, "official")


def test_two_registrations_are_two_protocols_of_one_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    written(folder, more=SHORT)
    catalog = build_catalog([folder], None)
    assert [select([name], catalog).tasks[0].name for name in ("tones", "tones@official")] == [
        "tones@short",
        "tones@official",
    ]
    data = {"made/tones": str(folder / "test.jsonl")}
    run = polymeter.evaluate(
        "mock", ["tones@official", "tones@short"], include_paths=[folder], data=data, output=tmp_path / "run"
    )
    assert set(run.results["tasks"]) == {"tones@official", "tones@short"}
    assert [note for note in run.results["notes"] if "tones@short" in note and "9" in note]


def test_a_wrong_one_is_refused_where_it_is_written(tmp_path: Path) -> None:
    written(tmp_path / "mine", '{"name": "official", "expectd_rows": 2}')
    with pytest.raises(PlanError, match="expectd_rows") as error:
        select(["tones"], build_catalog([tmp_path / "mine"], None))
    assert "tones_adapter.py:14" in str(error.value)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelScope]:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("modelscope_hub._legacy_api.API_MAX_RETRIES", 1)
    with fake_modelscope() as hub:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", hub.url)
        yield hub


def test_a_dataset_that_moved_is_found_by_its_mirrors(hub: ModelScope, tmp_path: Path) -> None:
    hub.add("there/tones", {"test.jsonl": ROWS.encode()})
    written(tmp_path / "mine")
    run = polymeter.evaluate(
        "mock", ["tones"], include_paths=[tmp_path / "mine"], cache_dir=tmp_path / "cache", output=tmp_path / "run"
    )
    assert run.results["tasks"]["tones@official"]["n_samples"] == 2
    assert [note for note in run.results["notes"] if "read from the mirror there/tones" in note]
