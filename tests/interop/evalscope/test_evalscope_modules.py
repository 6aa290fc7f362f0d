"""Modules of EvalScope that published adapters import: text-to-image benchmarks, and what does not come along."""

from __future__ import annotations

import importlib

import pytest

from polymeter.guests.shims.finder import switch_on_shims
from polymeter.interop.evalscope.tasks.scoring.metrics import Metric, metric_registry

switch_on_shims()


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("evalscope.backend.opencompass", "other backends"),
        ("evalscope.third_party.thinkbench", "other projects"),
    ],
)
def test_what_does_not_come_along_says_what_to_do(module, hint):
    with pytest.raises(ModuleNotFoundError, match=hint):
        importlib.import_module(module)


def test_a_text_to_image_adapter_scores_each_image_with_each_scorer(monkeypatch):
    base = importlib.import_module("evalscope.benchmarks.aigc.t2i.base").T2IBaseAdapter
    monkeypatch.setitem(metric_registry.metrics, "One", Metric("One", lambda: lambda images, texts: [[len(images[0])]]))
    two = Metric("Two", lambda: lambda images, texts: [[{"a": len(texts[0]), "b": 0}]])
    monkeypatch.setitem(metric_registry.metrics, "Two", two)
    adapter = base(
        name="t", dataset_id="d", model_adapter="image_generation", subset_list=["default"], metric_list=["One", "Two"]
    )
    row = {"prompt": "a cat", "id": 3, "image_path": "x.png"}
    assert adapter.gen_prompt(row, "default", [])["data"] == ["a cat"]
    assert adapter.get_gold_answer(row) == "a cat"
    assert adapter.parse_pred_result(None, row) == "x.png"
    assert adapter.parse_pred_result("y.png", row) == "y.png"
    scores = adapter.match("a cat", "x.png")
    assert scores == {"One": 5.0, "Two_a": 5.0, "Two_b": 0.0}
    assert adapter.compute_metric([scores, {"One": 1.0}]) == [
        {"metric_name": "One", "score": 3.0, "num": 2},
        {"metric_name": "Two_a", "score": 5.0, "num": 1},
        {"metric_name": "Two_b", "score": 0.0, "num": 1},
    ]
