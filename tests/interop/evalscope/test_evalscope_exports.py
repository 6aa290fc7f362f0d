"""A run as the files of EvalScope 0.17 and 1.x: the shape of their own, our numbers, subsets, images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import polymeter
from polymeter.interop.evalscope.export_parts import adjacent, metrics_of
from tests.helpers.export_kit import departures, lines, make_run, one

pytestmark = pytest.mark.needs_system("evalscope")
SHAPES = json.loads(Path(__file__).with_name("export_shapes.json").read_text(encoding="utf-8"))
TO = {"0.17": "evalscope", "1.x": "evalscope-1"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    run = make_run(tmp_path_factory.mktemp("es"))
    return {which: polymeter.export(run, to, output=run.parent / to).folder for which, to in TO.items()}


@pytest.mark.parametrize("which", TO)
def test_the_files_have_the_shape_of_its_own(exported: dict[str, Path], which: str) -> None:
    folder, shapes = exported[which], SHAPES[which]
    for kind in ("prediction", "review"):
        files = [*(folder / f"{kind}s").rglob("*.jsonl")]
        assert len(files) == 3
        assert [found for file in files for line in lines(file) for found in departures(line, shapes[kind])] == []
    for file in (folder / "reports").rglob("*.json"):
        assert [*departures(json.loads(file.read_text(encoding="utf-8")), shapes["report"])] == []
    config = yaml.safe_load(one(folder / "configs", "*.yaml").read_text(encoding="utf-8"))
    assert config["datasets"] == ["capitals", "choice", "demo_signs"]


def report(folder: Path, task: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one(folder / "reports", f"{task}.json").read_text(encoding="utf-8"))
    return found


def test_numbers_of_0_17(exported: dict[str, Path]) -> None:
    capitals = report(exported["0.17"], "capitals")
    assert (capitals["score"], capitals["metrics"][0]["num"]) == (0.6667, 3)
    (first, second, last) = lines(one(exported["0.17"] / "reviews", "capitals_default.jsonl"))
    assert first["choices"][0]["review"] == {"gold": "Paris", "pred": "Paris", "result": 1.0}
    assert second["choices"][0]["review"] == {"gold": "Tokyo", "pred": "Kyoto", "result": 0.0}
    assert last["index"] == 3
    (choice, *_) = lines(one(exported["0.17"] / "reviews", "choice_default.jsonl"))
    assert choice["choices"][0]["message"]["content"] == "Asia"
    assert choice["choices"][0]["review"]["result"] == {"acc": 0.0, "acc_norm": 0.0}


def test_numbers_of_1_x(exported: dict[str, Path]) -> None:
    capitals = report(exported["1.x"], "capitals")
    assert capitals["metrics"][0]["score"] == 0.6667
    assert capitals["primary_metric_identity"] == {"name": "exact_match", "aggregation": "mean", "dimensions": {}}
    assert capitals["execution_summary"] | {"subsets": 0} == {
        "requested": 4,
        "succeeded": 3,
        "errored": 1,
        "incomplete": True,
        "subsets": 0,
    }
    wrong = lines(one(exported["1.x"] / "reviews", "capitals_default.jsonl"))[1]
    assert wrong["sample_score"]["score"]["value"] == {"exact_match": 0.0}
    assert (wrong["target"], wrong["messages"][-1]["content"]) == (["Tokyo"], "Kyoto")


def result(metric: str, value: Any, n: int, *subset: str) -> dict[str, Any]:
    return {"metric": metric, "filter": "none", "value": value, "n": n, "subset": list(subset)}


def test_subsets_stand_where_their_mean_is_the_number_of_the_whole() -> None:
    mean = [result("acc", 0.75, 4), result("acc", 1.0, 2, "a"), result("acc", 0.5, 2, "b")]
    other = [result("f1", 0.9, 4), result("f1", 1.0, 2, "a"), result("f1", 0.5, 2, "b")]
    nothing = [result("text", "long", 4), result("nan", float("nan"), 4)]
    task = {"results": [*mean, *other, *nothing]}
    found = {metric: parts for metric, _, _, parts in metrics_of(task, ("a", "b"))}
    assert found == {"acc": [("a", 1.0, 2), ("b", 0.5, 2)], "f1": [("default", 0.9, 4)]}
    found = {metric: parts for metric, _, _, parts in metrics_of(task, ("c",))}
    assert found == {"acc": [("c", 0.75, 4)], "f1": [("c", 0.9, 4)]}


def test_records_of_a_subset_stand_together() -> None:
    mixed: list[tuple[str, dict[str, Any]]] = [("b", {"n": 1}), ("a", {"n": 2}), ("b", {"n": 3})]
    assert [*adjacent(lambda: iter(mixed))] == [("a", {"n": 2}), ("b", {"n": 1}), ("b", {"n": 3})]
    apart = mixed[:2]
    assert [*adjacent(lambda: iter(apart))] == apart


def test_an_adapters_own_report_and_reviews_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from polymeter.cli.main import main

    monkeypatch.chdir(tmp_path)
    assert main(["init", "mine", "--kind", "adapter"]) == 0
    words = "run --model mock --model-args mode=gold --tasks mine/mine_adapter.py -q --output run"
    assert main(words.split()) == 0
    folder = polymeter.export("run", "evalscope").folder
    own = one(Path("run/artifacts/reports"), "mine.json")
    assert one(folder / "reports", "mine.json").read_bytes() == own.read_bytes()
    assert {path.name for path in folder.rglob("mine_*.jsonl")} == {"mine_near.jsonl", "mine_far.jsonl"}
    review = lines(one(folder / "reviews", "mine_near.jsonl"))[0]["choices"][0]["review"]
    assert review == {"gold": "Paris", "pred": "Paris", "result": 1}
    later = polymeter.export("run", "evalscope-1").folder
    (metric,) = report(later, "mine")["metrics"]
    assert (metric["identity"]["name"], metric["legacy_name"]) == ("average_accuracy", "AverageAccuracy")
    assert [subset["name"] for subset in metric["categories"][0]["subsets"]] == ["near", "far"]
