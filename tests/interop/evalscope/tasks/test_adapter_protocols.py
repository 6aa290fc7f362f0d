"""The protocol of a data adapter: known without running it, part of the task's name, and unknown to its code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import polymeter
from polymeter.cli.main import main
from polymeter.core.errors import PlanError
from polymeter.core.format import OpenContext
from polymeter.interop.evalscope.tasks.registration import BENCHMARK_MAPPINGS, Benchmark
from polymeter.run.plan.selection import build_catalog, format_of, select
from tests.helpers.fake_modelscope import ModelScope, fake_modelscope

STATED = '{"name": "official", "version": 2, "judge": "none", "expected_rows": 2, "mirrors": "there/tones"}'
ADAPTER = """\
from evalscope.benchmarks import Benchmark, DataAdapter

COUNT = 1 + 1


class Base(DataAdapter):
{load}
    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        assert self.name == "tones"
        return self.gen_prompt_data(input_d["q"])

    def get_gold_answer(self, input_d):
        return input_d["a"]

    def match(self, gold, pred):
        return float(gold == pred)


@Benchmark.register(
    name="tones", dataset_id="made/tones", metric_list=["AverageAccuracy"], eval_split="test",
    extra_params={{"image": object, "protocol": {stated}}},
)
class Tones(Base):
    pass
"""
LOAD = """\
    def load(self, **kwargs):
        return {"default": {"test": [{"q": "a?", "a": "a"}, {"q": "b?", "a": "b"}]}}
"""
SHORT = """

@Benchmark.register(
    name="tones", dataset_id="made/tones", metric_list=["AverageAccuracy"], eval_split="test",
    extra_params={"protocol": {"name": "short", "default": True, "expected_rows": 9}},
)
class Short(Base):
    pass
"""


def written(folder: Path, stated: str = STATED, load: str = LOAD, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "tones_adapter.py"
    file.write_text(ADAPTER.format(stated=stated, load=load) + more)
    return file


def test_it_is_listed_selected_run_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mine"
    file = written(folder)
    assert main(["check", str(file), "--rows", "0"]) == 0
    capsys.readouterr()
    assert main(["tasks", "--include-path", str(folder), "tones"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("tones@official ")
    assert "protocol official 2" in said
    assert "expected rows: 2" in said
    answers = {"answer": "a"}
    run = polymeter.evaluate("mock", ["tones"], model_args=answers, include_paths=[folder], output=tmp_path / "run")
    task = run.results["tasks"]["tones@official"]
    assert task["protocol"]["judge"] == "none"
    assert task["results"][0]["value"] == 0.5
    assert "there/tones" in (tmp_path / "run/report.html").read_text()
    assert not [note for note in run.results["notes"] if "states" in note]


def test_two_registrations_are_two_protocols_of_one_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    written(folder, more=SHORT)
    catalog = build_catalog([folder], None)
    assert select(["tones"], catalog).tasks[0].name == "tones@short"
    for name in ("official", "short"):
        run = polymeter.evaluate("mock", [f"tones@{name}"], include_paths=[folder], output=tmp_path / name)
        assert bool([note for note in run.results["notes"] if "states 9" in note]) == (name == "short")
    limited = polymeter.evaluate("mock", ["tones@short"], include_paths=[folder], limit=1, output=tmp_path / "limited")
    assert not [note for note in limited.results["notes"] if "states 9" in note]
    with pytest.raises(PlanError, match=r"tones: the protocols differ \(official in official, short in short\)"):
        polymeter.compare(tmp_path / "official", tmp_path / "short")


def test_values_that_are_computed_are_known_when_the_file_has_run(tmp_path: Path) -> None:
    written(tmp_path, '{"name": "official", "expected_rows": COUNT}')
    spec = select(["tones@official"], build_catalog([tmp_path], None)).tasks[0]
    assert spec.protocol is not None
    assert spec.protocol.expected_rows is None
    run = polymeter.evaluate("mock", ["tones"], include_paths=[tmp_path], output=tmp_path / "run")
    assert run.results["tasks"]["tones@official"]["protocol"]["expected_rows"] == 2


def test_a_name_that_is_computed_is_refused(tmp_path: Path) -> None:
    written(tmp_path, 'dict([("name", "official")])')
    with pytest.raises(PlanError, match="states the protocol 'official' once it is loaded, and its file ''"):
        polymeter.evaluate("mock", ["tones"], include_paths=[tmp_path], output=tmp_path / "run")


def test_a_setting_of_the_adapters_own_is_no_protocol(tmp_path: Path) -> None:
    written(tmp_path, '"strict"')
    run = polymeter.evaluate("mock", ["tones"], include_paths=[tmp_path], output=tmp_path / "run")
    assert "protocol" not in run.results["tasks"]["tones"]


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ('{"name": "a", "licens": "MIT"}', "there is no key 'licens'. Did you mean 'licence'?"),
        ('{"name": "a", "expected_rows": "many"}', "protocol.expected_rows"),
        ('{"version": 1}', "protocol.name"),
    ],
)
def test_a_wrong_one_is_refused_where_it_is_written(
    tmp_path: Path, stated: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, stated)
    with pytest.raises(PlanError) as refused:
        polymeter.evaluate("mock", ["tones"], include_paths=[tmp_path], output=tmp_path / "run")
    assert what in refused.value.what
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "protocol" in text)
    assert refused.value.where == f"{file}:{line}"
    assert main(["check", str(file), "--rows", "0"]) == 2
    assert f"{file}:{line}: " in capsys.readouterr().out


def test_a_registration_of_the_users_own_code_has_one(tmp_path: Path) -> None:
    stated = {"name": "official", "expected_rows": 1}
    try:
        registered = Benchmark.register("scripted_tones", "made/tones", extra_params={"protocol": stated})
        registered(type("Scripted", (), {}))
        assert [*BENCHMARK_MAPPINGS.by_users()] == ["scripted_tones@official"]
        assert Benchmark.get("scripted_tones").task_name == "scripted_tones@official"
        spec = select(["scripted_tones"], build_catalog([], None)).tasks[0]
        assert (spec.name, spec.benchmark) == ("scripted_tones@official", "scripted_tones")
        assert spec.protocol is not None
        assert spec.protocol.expected_rows == 1
    finally:
        BENCHMARK_MAPPINGS.forget("scripted_tones@official")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelScope]:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("modelscope_hub._legacy_api.API_MAX_RETRIES", 1)
    with fake_modelscope() as hub:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", hub.url)
        yield hub


def test_a_dataset_that_moved_is_found_by_its_mirrors(hub: ModelScope, tmp_path: Path) -> None:
    rows = "".join(json.dumps({"q": f"{name}?", "a": name}) + "\n" for name in "ab").encode()
    hub.add("there/tones", {"test.jsonl": rows})
    written(tmp_path / "mine", load="")
    catalog = build_catalog([tmp_path / "mine"], None)
    spec = select(["tones"], catalog).tasks[0]
    sources = format_of(spec).sources
    assert sources is not None
    assert [one.mirrors for one in sources(spec, OpenContext(cache_dir=tmp_path / "cache")) or ()] == [("there/tones",)]
    run = polymeter.evaluate(
        "mock", ["tones"], include_paths=[tmp_path / "mine"], cache_dir=tmp_path / "cache", output=tmp_path / "run"
    )
    assert run.results["tasks"]["tones@official"]["n_samples"] == 2
    assert [note for note in run.results["notes"] if "read from the mirror there/tones" in note]


def test_data_named_for_a_mirror_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    written(folder, load="")
    data = tmp_path / "test.jsonl"
    data.write_text('{"q": "a?", "a": "a"}\n{"q": "b?", "a": "b"}\n')
    run = polymeter.evaluate(
        "mock", ["tones"], include_paths=[folder], data={"there/tones": str(data)}, output=tmp_path / "run"
    )
    assert run.results["tasks"]["tones@official"]["n_samples"] == 2
