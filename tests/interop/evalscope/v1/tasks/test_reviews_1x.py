"""Predictions and reviews of EvalScope 1.x's adapters: what their lines hold, and how their files are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import PlanError
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.helpers.adapters_1x import CAPITALS, write_adapter, write_rows

JUDGED = """
scoring_policy = __import__("evalscope.constants", fromlist=["ScoringPolicy"]).ScoringPolicy.JUDGE_ONLY
"""
LED = """
def run_inference(self, model, sample, output_dir, **kwargs):
    from evalscope.api.evaluator import TaskState
    from evalscope.api.messages import ChatMessageAssistant
    first = model.generate(input="Name a country.")
    second = model.generate(input=sample.input)
    messages = [ChatMessageUser(content="Name a country."), first.message, *sample.input, second.message]
    state = TaskState(model=model.name, sample=sample, messages=messages, output=second, completed=True)
    state.agent_trace = {"asked": 2}
    return state
"""
BATCH = """
def __init__(self, **kwargs):
    super().__init__(**kwargs)
    self.use_batch_scoring = True

def batch_match_score(self, original_predictions, filtered_predictions, references, task_states):
    return [Score(value={"length": len(text)}) for text in original_predictions]
"""


def model(compute: Any = lambda request: "Paris") -> MockBatch:
    return MockBatch(compute, identity={"backend": "mock"})


def lines(adapter: Path, tmp_path: Path, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The records of predictions and reviews, in the order of their files."""
    polymeter.evaluate(options.pop("model", model()), [str(adapter)], output=tmp_path / "run", **options)
    folder = Path(polymeter.export(tmp_path / "run", "evalscope-1", output=tmp_path / "files").folder)
    return {
        kind: [
            json.loads(line)
            for file in sorted(folder.glob(f"{kind}/**/*.jsonl"))
            for line in file.open(encoding="utf-8")
        ]
        for kind in ("predictions", "reviews")
    }


def test_a_sample_without_a_verdict_has_its_target_its_place_and_the_judges_replies(tmp_path: Path) -> None:
    def judge(request: Request) -> str:
        return '{"reasoning": "", "verdict": "A"}' if "Italy" in request.text else "I cannot tell."

    rows = [{**CAPITALS[0], "answer": " Paris "}, CAPITALS[1]]
    reviews = lines(
        write_adapter(tmp_path, JUDGED, rows, metric_list=["acc"]),
        tmp_path,
        roles={"judge": MockBatch(judge, identity={"backend": "judge"})},
        dialect_options={"adapter_1x": {"repeats": 2}},
    )["reviews"]
    assert [review["target"] for review in reviews] == [["Paris"], ["Paris"], ["Rome"], ["Rome"]]
    places = [(one["sample_id"], one["group_id"], one["generation_index"]) for one in map(sample_score, reviews)]
    assert places == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
    score = reviews[0]["sample_score"]["score"]
    assert (score["status"], score["value"], score["prediction"]) == ("excluded", {}, "Paris")
    (attempt,) = score["metadata"]["judge_attempts"]
    assert attempt["raw_response"] == "I cannot tell."
    assert "the capital of France" in json.dumps(attempt["messages"])
    assert score["judge_summary"]["status"] == "excluded"
    assert "no verdict" in score["judge_summary"]["error"]
    assert reviews[2]["sample_score"]["score"]["status"] == "success"


def sample_score(review: dict[str, Any]) -> Any:
    return review["sample_score"]


def test_the_conversation_that_an_adapter_led_is_shown_whole(tmp_path: Path) -> None:
    found = lines(write_adapter(tmp_path, LED), tmp_path, limit=1)
    for record in (found["predictions"][0], found["reviews"][0]):
        assert [(one["role"], one["content"]) for one in record["messages"]] == [
            ("user", "Name a country."),
            ("assistant", "Paris"),
            ("user", "What is the capital of France?"),
            ("assistant", "Paris"),
        ]
        assert record["agent_trace"] == {"asked": 2}


def test_scores_of_many_samples_at_once_are_in_the_reviews(tmp_path: Path) -> None:
    reviews = lines(write_adapter(tmp_path, BATCH, primary_metric="exact_match"), tmp_path)["reviews"]
    values = [review["sample_score"]["score"]["value"] for review in reviews]
    assert values == [{"exact_match": 1, "length": 5}, {"exact_match": 0, "length": 5}, {"exact_match": 0, "length": 5}]


def test_a_slash_in_a_subsets_name_makes_a_folder(tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path, subset_list=["default", "a/b"])
    write_rows(tmp_path / "data/capitals/a/b_test.jsonl", CAPITALS[:1])
    lines(adapter, tmp_path)
    names = sorted(file.relative_to(tmp_path / "files").as_posix() for file in (tmp_path / "files").rglob("*.jsonl"))
    assert [name.split("/", 2)[2] for name in names] == ["capitals_a/b.jsonl", "capitals_default.jsonl"] * 2
    polymeter.import_log(tmp_path / "files", output=tmp_path / "imported")
    samples = (tmp_path / "imported/samples/capitals.jsonl").read_text().splitlines()
    assert {"/".join(json.loads(line)["subset"]) for line in samples} == {"default", "a/b"}


@pytest.mark.parametrize(
    "value",
    ['{"acc": 1.0, "exact_match": 0.0}', "dict(acc=1.0, exact_match=0.0)", "{name: 1.0 for name in self.metric_list}"],
)
def test_an_own_score_with_several_metrics_needs_a_primary_one(value: str, tmp_path: Path) -> None:
    body = f"""
    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        return Score(value={value})
    """
    asked: list[Any] = []
    adapter = write_adapter(tmp_path, body, metric_list=["acc", "exact_match"])
    with pytest.raises(PlanError, match="several metrics and no primary one"):
        polymeter.evaluate(model(asked.append), [str(adapter)], output=tmp_path / "run")
    assert not asked


def test_an_own_score_with_one_of_the_metrics_needs_none(tmp_path: Path) -> None:
    body = """
    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        return Score(value={"acc": 1.0})
    """
    adapter = write_adapter(tmp_path, body, metric_list=["acc", "exact_match"])
    assert polymeter.evaluate(model(), [str(adapter)], output=tmp_path / "run").exit_code == 0
