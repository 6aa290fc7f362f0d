"""Metrics with arguments in ``metric_list`` of a task YAML, and as scorers of a task in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.api.partial import partial_results
from polymeter.core.errors import PlanError, ScoreError
from polymeter.store.folder import open_folder
from tests.tasks.yaml.kit import opened, results, score

BOXES = [{"q": "dog?", "a": [10, 20, 30, 40]}, {"q": "cat?", "a": [0, 0, 50, 50]}]
BILLS = [{"q": "bill", "a": json.dumps({"total": 5})}, {"q": "note", "a": json.dumps({"total": 7})}]
CHINESE = [{"q": "q", "a": "我昨天在北京的图书馆里看了三本新书。"}]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("{metric: point_in_box}", r"has no scale.*t\.yaml:8.*pixels, unit, thousand"),
        ("{metric: numeric, where: lst}", r"no where 'lst'.*t\.yaml:8.*'last'"),
        ("{metric: bleu, tokenize: zn}", r"no tokenize 'zn'.*t\.yaml:8.*Known: .*zh"),
        ("{metric: bleu, tokenise: zh}", r"'tokenise'.*t\.yaml:8.*'tokenize'"),
        ("{metric: bleu, tokenize: zh, aggregation: chrf}", r"only in its aggregation 'bleu'.*t\.yaml:8"),
        ("{metric: bleu, tokenize: flores200}", r"t\.yaml:8.*pip install sentencepiece"),
        ("{metric: iou@0.6}", r"'iou@0.6'.*t\.yaml:8.*'iou@0.5'"),
    ],
)
def test_bad_arguments_are_plan_errors_with_the_place(
    tmp_path: Path, item: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    monkeypatch.delitem(sys.modules, "sacrebleu.tokenizers.tokenizer_spm", raising=False)
    with pytest.raises(PlanError, match=message):
        opened(tmp_path, f"metric_list: [{item}]\n")


def test_a_box_in_a_column_is_one_reference(tmp_path: Path) -> None:
    task = opened(
        tmp_path, "metric_list: [iou, {metric: iou@0.5}, {metric: point_in_box, scale: pixels}]\n", rows=BOXES
    )
    assert score(task, 0, "[10, 20, 30, 30]").values == {
        ("iou", "none"): 0.5,
        ("iou@0.5", "none"): 1.0,
        ("point_in_box", "none"): 1.0,
    }


def test_the_size_is_that_of_the_image_in_the_row(tmp_path: Path) -> None:
    from datasets import Dataset

    images = [Image.new("RGB", size) for size in ((100, 200), (50, 50))]
    table = Dataset.from_dict(
        {"image": images, "q": ["dog?", "cat?"], "a": ["[10, 20, 30, 40]", "[0, 0, 10, 10]"]},
    )
    table.to_parquet(str(tmp_path / "rows.parquet"))
    (tmp_path / "t.yaml").write_text(
        "task: t\ndataset_path: parquet\ndataset_kwargs: {data_files: rows.parquet}\ntest_split: train\n"
        'doc_to_text: "{{q}}"\ndoc_to_visual: image\ndoc_to_target: a\n'
        "metric_list: [{metric: point_in_box, scale: thousand, reference_scale: pixels}]\n"
    )
    from tests.tasks.yaml.kit import open_in

    task = open_in(tmp_path)
    for answer, expected in (("[200, 150]", 1.0), ("[20, 30]", 0.0)):
        assert score(task, 0, answer).values == {("point_in_box", "none"): expected}
    assert score(task, 1, "[200, 150]").values == {("point_in_box", "none"): 1.0}


def test_a_row_without_an_image_has_no_size(tmp_path: Path) -> None:
    task = opened(tmp_path, "metric_list: [{metric: point_in_box, scale: unit, reference_scale: pixels}]\n", rows=BOXES)
    with pytest.raises(ScoreError, match="the row has 0 images"):
        score(task, 0, "[0.5, 0.5]")


def test_json_is_compared_by_value(tmp_path: Path) -> None:
    task = opened(tmp_path, "metric_list: [{metric: json_equal, keys: [total]}]\n", rows=BILLS)
    found = results(task, ['{"total": 5.0, "currency": "EUR"}', "7"])
    assert found["json_equal", "none"].value == 0.5


def test_arguments_of_a_corpus_metric_reach_its_aggregation(tmp_path: Path) -> None:
    answer = ["我昨天在北京图书馆里看了三本新书。"]
    plain = results(opened(tmp_path, "metric_list: [bleu]\n", rows=CHINESE), answer)
    chinese = results(opened(tmp_path, "metric_list: [{metric: bleu, tokenize: zh}]\n", rows=CHINESE), answer)
    assert plain["bleu", "none"].value < 1
    assert chinese["bleu", "none"].value > 80


def test_corpus_rates_add_up_edits(tmp_path: Path) -> None:
    rows = [{"q": "q", "a": "a b c d e f g h"}, {"q": "q", "a": "a b"}]
    task = opened(tmp_path, "metric_list: [corpus_wer, wer, corpus_cer, cider]\n", rows=rows)
    found = results(task, ["a b c d e f g x", "a x"])
    assert found["corpus_wer", "none"].value == pytest.approx(0.2)
    assert found["corpus_wer", "none"].higher_is_better is False
    assert found["corpus_wer", "none"].stderr is not None
    assert found["wer", "none"].value == pytest.approx((1 / 8 + 1 / 2) / 2)
    assert 0 <= found["cider", "none"].value <= 10


def test_a_tasks_own_values_of_the_same_name_are_means(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("def process(doc, results):\n    return {'cider': 120.0, 'teds': 87.5}\n")
    task = opened(tmp_path, "process_results: !function utils.process\nmetric_list: [cider, teds]\n")
    found = results(task, ["x"] * 4)
    assert (found["cider", "none"].value, found["teds", "none"].value) == (120.0, 87.5)


def test_an_unreadable_reference_names_the_row(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "a", "a": "5"}\n{"q": "b", "a": "many"}\n')
    (tmp_path / "t.yaml").write_text(
        "task: t\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
        'doc_to_text: "{{q}}"\ndoc_to_target: a\nmetric_list: [numeric]\n'
    )
    run = polymeter.evaluate("mock", ["t"], include_paths=[tmp_path], output=tmp_path / "run")
    lines = [json.loads(line) for line in (run.folder.path / "samples" / "t.jsonl").read_text().splitlines()]
    (failed,) = [line for line in lines if line["status"] != "ok"]
    assert failed["id"] == "1"
    assert "'many' is not a number" in json.dumps(failed, ensure_ascii=False)


def test_partial_results_have_the_same_arguments(tmp_path: Path) -> None:
    task = "task: t\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\ntest_split: train\n"
    task += 'doc_to_text: "{{q}}"\ndoc_to_target: a\nmetric_list: [{metric: bleu, tokenize: zh}]\n'
    (tmp_path / "t.yaml").write_text(task)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CHINESE))
    run = polymeter.evaluate(
        "mock",
        ["t"],
        include_paths=[tmp_path],
        output=tmp_path / "run",
        model_args={"answer": "我昨天在北京图书馆里看了三本新书。"},
    )
    value = run.results["tasks"]["t"]["results"][0]["value"]
    so_far = partial_results(open_folder(run.folder.path))
    assert so_far["tasks"]["t"]["results"][0]["value"] == pytest.approx(value)
    assert value > 80


def test_a_python_task_names_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows: list[dict[str, Any]] = [{"q": "dog?", "image": Image.new("RGB", (100, 200)), "box": [10, 20, 30, 40]}]
    task = polymeter.PythonTask(
        "{q}",
        name="t",
        rows=rows,
        reference="box",
        scorers=[
            {"metric": "point_in_box", "scale": "thousand", "reference_scale": "pixels"},
            {"metric": "iou", "scale": "thousand", "reference_scale": "pixels"},
        ],
    )
    run = polymeter.evaluate("mock", tasks=task, model_args={"answer": "[100, 100, 300, 200]"})
    found = {result["metric"]: result["value"] for result in run.results["tasks"]["t"]["results"]}
    assert found == {"point_in_box": 1.0, "iou": pytest.approx(1.0)}
