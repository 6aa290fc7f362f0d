"""Runs of EvalScope 1.x's classes of adapters: images shown and drawn, conversations, entities, programs in walls."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.request import Request
from polymeter.interop.evalscope.models.custom import CustomBackend, DummyCustomModel
from polymeter.models.mock import MockBatch
from tests.helpers.adapters_1x import write_rows

HEAD = """\
from evalscope.api.benchmark import (
    BenchmarkMeta, DefaultDataAdapter, MultiChoiceAdapter, MultiTurnAdapter, NERAdapter, Text2ImageAdapter,
    VisionLanguageAdapter,
)
from evalscope.api.dataset import Sample
from evalscope.api.messages import ChatMessageUser
from evalscope.api.metric import Metric, Score
from evalscope.api.mixin import CodeExecutionSandboxMixin
from evalscope.api.registry import register_benchmark, register_metric
from evalscope.utils.multi_choices import MultipleChoiceTemplate, prompt


class Local:
    def load_from_disk(self, **kwargs):
        return super().load_from_disk(use_local_loader=True)


"""


def _evaluate(
    folder: Path, body: str, rows: list[dict[str, Any]], answer: str = "", **options: Any
) -> tuple[dict[str, Any], list[dict[str, Any]], list[Request]]:
    """Run one adapter over rows; return its values, its samples, and what was asked."""
    write_rows(folder / "data" / "default_test.jsonl", rows)
    file = folder / "made_adapter.py"
    file.write_text(HEAD + body.replace("DATA", str(folder / "data")), encoding="utf-8")
    asked: list[Request] = []

    def answered(request: Request) -> str:
        asked.append(request)
        return answer

    model = options.pop("model", None) or MockBatch(answered, identity={"backend": "mock"})
    polymeter.evaluate(model, [str(file)], output=folder / "run", **options)
    (task,) = json.loads((folder / "run" / "results.json").read_text())["tasks"].values()
    lines = next((folder / "run" / "samples").glob("*.jsonl")).read_text().splitlines()
    values = {result["metric"]: result["value"] for result in task["results"] if not result.get("subset")}
    return values, [json.loads(line) for line in lines], asked


def _data_uri() -> str:
    written = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(written, "PNG")
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()


def test_a_quiz_shows_its_image(tmp_path: Path) -> None:
    values, _, asked = _evaluate(
        tmp_path,
        """
@register_benchmark(BenchmarkMeta(
    name="seen", dataset_id="DATA", eval_split="test", metric_list=["acc"],
    prompt_template=MultipleChoiceTemplate.SINGLE_ANSWER,
))
class Seen(Local, VisionLanguageAdapter, MultiChoiceAdapter):
    def record_to_sample(self, record):
        text = prompt(question=record["q"], choices=record["choices"], template=self.prompt_template)
        parts = self._parse_text_with_images("<image 1>" + text, self._extract_media(record, "image"))
        return Sample(input=[ChatMessageUser(content=parts)], choices=record["choices"], target=record["a"])
""",
        [{"q": "Which colour?", "choices": ["red", "blue"], "a": "A", "image_1": _data_uri()}],
        "It is red.\nANSWER: A",
    )
    assert values == {"accuracy": 1.0}
    assert len(list(asked[0].images())) == 1
    assert "Which colour?\n\nA) red\nB) blue" in asked[0].text


def test_a_conversation_is_led_by_its_adapter(tmp_path: Path) -> None:
    values, samples, asked = _evaluate(
        tmp_path,
        """
@register_benchmark(BenchmarkMeta(name="talk", dataset_id="DATA", eval_split="test", metric_list=["exact_match"]))
class Talk(Local, MultiTurnAdapter):
    max_turns = 2

    def record_to_sample(self, record):
        return Sample(input=[ChatMessageUser(content=record["q"])], target=record["a"])

    def build_turn_prompt(self, sample, history, turn_index):
        return [sample.input[0], "Are you sure?"][turn_index]
""",
        [{"q": "2 + 2?", "a": "4"}],
        "4",
    )
    assert values == {"exact_match": 1.0}
    assert [message.text for message in asked[-1].messages] == ["2 + 2?", "4", "Are you sure?"]
    assert len(samples[0]["exchanges"]) == 2


def test_entities_are_scored_over_the_subset(tmp_path: Path) -> None:
    values, _, _ = _evaluate(
        tmp_path,
        """
@register_benchmark(BenchmarkMeta(
    name="names", dataset_id="DATA", eval_split="test", prompt_template="{entities} {entity_list} {text}",
    metric_list=["precision", "recall", "f1_score", "accuracy"], primary_metric="f1_score",
))
class Names(Local, NERAdapter):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.entity_type_map = {"PER": "person"}
        self.entity_descriptions = {"PER": "names of people"}
        self.setup_entity_mappings()
""",
        [
            {"tokens": ["Ann", "sings"], "ner_tags": ["B-PER", "O"]},
            {"tokens": ["Bob", "and", "Ann"], "ner_tags": ["B-PER", "O", "B-PER"]},
        ],
        "<response><person>Ann</person></response>",
    )
    assert values == pytest.approx({"f1": 0.8, "precision": 1.0, "recall": 2 / 3, "accuracy": 0.8})
    assert next(iter(values)) == "f1", "the primary metric comes first"


DRAWN = """
import os


@register_metric("has_bytes")
class HasBytes(Metric):
    def apply(self, images, texts, **kwargs):
        return [float(os.path.getsize(image) > 0) for image in images]

    def __call__(self, image, text, **kwargs):
        return self.apply([image], [text])


@register_benchmark(BenchmarkMeta(name="drawn", dataset_id="DATA", eval_split="test", metric_list=["has_bytes"]))
class Drawn(Text2ImageAdapter):
    pass
"""


def test_a_drawn_image_is_a_file_for_its_metrics(tmp_path: Path) -> None:
    values, samples, _ = _evaluate(
        tmp_path,
        DRAWN,
        [{"prompt": "a cat", "id": 1, "category": "Animals"}, {"prompt": "a hat", "id": 2}],
        model="mock",
    )
    assert values == {'has_bytes:mean[scope="overall"]': 1.0, 'has_bytes:mean[category="animals"]': 1.0}
    assert "generate_image" in json.dumps(samples[0]["exchanges"][0]["request"])


def test_images_that_records_name_are_scored_without_a_model(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4), "red").save(tmp_path / "cat.png")
    rows = [{"prompt": "a cat", "id": 1, "image_path": str(tmp_path / "cat.png")}, {"prompt": "a hat", "id": 2}]
    values, samples, _ = _evaluate(
        tmp_path, DRAWN.replace("has_bytes", "has_some"), rows, model=CustomBackend(DummyCustomModel())
    )
    assert values == {'has_some:mean[scope="overall"]': 1.0}
    assert [sample["status"] for sample in samples] == ["ok", "error"]
    assert "There is no image to score" in samples[1]["error"]["message"]


CODE = """
@register_benchmark(BenchmarkMeta(name="coded", dataset_id="DATA", eval_split="test", metric_list=["acc"]))
class Coded(CodeExecutionSandboxMixin, Local, DefaultDataAdapter):
    def record_to_sample(self, record):
        return Sample(input=[ChatMessageUser(content=record["q"])], target=record["a"])

    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        result = self.execute_code_in_sandbox(code=filtered_prediction, timeout=2)
        passed = result["status"] == "success" and result["output"].strip() == reference
        return Score(value={"acc": passed}, prediction=original_prediction, metadata={"result": result})
"""


def test_programs_need_the_flag_and_run_in_walls(tmp_path: Path) -> None:
    rows = [{"q": "print four", "a": "4"}, {"q": "print five", "a": "5"}]
    with pytest.raises(PlanError, match="runs the code that the model writes"):
        _evaluate(tmp_path, CODE, rows, "print(4)")
    values, samples, _ = _evaluate(tmp_path, CODE, rows, "print(2 + 2)", allow_generated_code=True)
    assert values == {"accuracy": 0.5}
    assert samples[0]["log"]["sample_score"]["metadata"]["result"]["output"] == "4\n"
