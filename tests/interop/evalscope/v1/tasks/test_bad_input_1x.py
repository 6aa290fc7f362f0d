"""Bad input from the command line: the error comes before anything is sent to an endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polymeter.cli.main import main
from tests.helpers.adapters_1x import CAPITALS, write_adapter, write_rows
from tests.helpers.openai_stub import OpenAIStub, Received, chat

OWN_SCORE = """
def match_score(self, original_prediction, filtered_prediction, reference, task_state):
    return Score(value={"acc": 1.0, "exact_match": 0.0})
"""
JUDGED = """
scoring_policy = __import__("evalscope.constants", fromlist=["ScoringPolicy"]).ScoringPolicy.JUDGE_ONLY
"""
SECOND = """

@register_benchmark(BenchmarkMeta(name="capitals", dataset_id="x", metric_list=["acc"]))
class Again(DefaultDataAdapter):
    pass
"""


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    """An endpoint that counts what it is sent."""
    with OpenAIStub(lambda received: chat("Paris")) as opened:
        yield opened


def questions(stub: OpenAIStub) -> list[Any]:
    """The requests beside the one by which a run finds out whether the endpoint answers."""
    return [body for body in stub.bodies if body["messages"] != [{"role": "user", "content": "ping"}]]


def run(stub: OpenAIStub, adapter: Path, *more: str) -> int:
    address = ["--model", "openai:m", "--base-url", stub.base_url]
    return main(["run", *address, "--tasks", str(adapter), "--output", str(adapter.parent / "run"), *more])


def eval_1x(stub: OpenAIStub, adapter: Path, args: dict[str, Any]) -> int:
    address = ["--model", "m", "--api-url", stub.base_url, "--api-key", "none", "--eval-type", "openai_api"]
    arguments = ["--dataset-args", json.dumps({"capitals": args}), "--work-dir", str(adapter.parent / "out")]
    return main(
        ["evalscope", "eval", "--include-path", str(adapter.parent), *address, "--datasets", "capitals", *arguments]
    )


@pytest.mark.parametrize(
    ("meta", "body", "says"),
    [
        ({"metric_list": ["acc", "wer"]}, "", "several metrics and no primary one"),
        ({"metric_list": ["acc", "exact_match"]}, OWN_SCORE, "several metrics and no primary one"),
        ({"few_shot_num": 2}, "", "does not support few-shot evaluation; set few_shot_num=0"),
        ({"subset_list": ["empty"]}, "", "no records of subset 'empty'"),
    ],
)
def test_a_registration_that_cannot_be(
    meta: dict[str, Any], body: str, says: str, stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(stub, write_adapter(tmp_path, body, **meta)) == 2
    assert says in " ".join(capsys.readouterr().err.split())
    assert not questions(stub)


def test_a_name_registered_twice(stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapter = write_adapter(tmp_path)
    adapter.write_text(adapter.read_text() + SECOND)
    assert run(stub, adapter) == 2
    assert "capitals" in (said := " ".join(capsys.readouterr().err.split()))
    assert "twice" in said or "2 times" in said or "two" in said
    assert not questions(stub)


def test_a_name_in_two_files(stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write_adapter(tmp_path / "a"), write_adapter(tmp_path / "b")
    include = ["--include-path", str(first.parent), "--include-path", str(second.parent), "--tasks", "capitals"]
    assert main(["run", "--model", "openai:m", "--base-url", stub.base_url, *include]) == 2
    said = "".join(capsys.readouterr().err.split())
    assert str(first) in said
    assert str(second) in said
    assert not questions(stub)


@pytest.mark.parametrize("rows", [[], [{"question": "a"}, {"question": "b"}]])
def test_an_empty_subset_and_samples_without_a_target(
    rows: list[Any], stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(stub, write_adapter(tmp_path, rows=rows)) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert ("has a target" if rows else "no records") in said
    assert not questions(stub)


def test_one_sample_without_a_target_is_left_out_of_the_mean(
    stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter = write_adapter(tmp_path, rows=[*CAPITALS[:1], {"question": "b"}])
    assert run(stub, adapter) == 1
    assert "1 sample of benchmark 'capitals' has no target" in " ".join("".join(capsys.readouterr()).split())
    (own,) = json.loads((tmp_path / "run/results.json").read_text())["tasks"]["capitals"]["results"]
    assert (own["value"], own["n"]) == (1.0, 1)


def test_an_argument_that_no_benchmark_has(
    stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert eval_1x(stub, write_adapter(tmp_path), {"few_shot_nun": 0}) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "No benchmark has a setting 'few_shot_nun'." in said
    assert "Did you mean 'few_shot_num'" in said
    assert not questions(stub)


def test_examples_for_a_benchmark_without_a_train_split(
    stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert eval_1x(stub, write_adapter(tmp_path), {"few_shot_num": 1}) == 2
    assert "does not support few-shot evaluation" in " ".join(capsys.readouterr().err.split())
    assert not questions(stub)


def test_a_subset_without_examples(stub: OpenAIStub, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "def sample_to_fewshot(self, sample):\n    return sample.input"
    meta = {"few_shot_num": 2, "train_split": "train", "few_shot_prompt_template": "{fewshot} {question}"}
    adapter = write_adapter(tmp_path, body, **meta)
    write_rows(tmp_path / "data/capitals/default_train.jsonl", CAPITALS[:1])
    assert run(stub, adapter) == 2
    assert "capitals" in capsys.readouterr().err
    assert not questions(stub)


def test_a_judges_answer_outside_its_contract_leaves_the_sample_without_a_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def respond(received: Received) -> Any:
        return chat('{"reasoning": "", "verdict": "Z"}' if received.body["model"] == "judge" else "Paris")

    with OpenAIStub(respond) as stub:
        adapter = write_adapter(tmp_path, JUDGED, CAPITALS[:1], metric_list=["acc"])
        assert run(stub, adapter, "--judge", "openai:judge", "--judge-args", f"base_url={stub.base_url}") == 1
    (sample,) = map(json.loads, (tmp_path / "run/samples/capitals.jsonl").read_text().splitlines())
    assert sample["status"] == "unscored"
    assert "no verdict" in sample["error"]["message"]


def test_an_aggregation_of_the_author_s_gets_no_score_without_a_value(tmp_path: Path) -> None:
    aggregates = """
def aggregate_scores(self, sample_scores):
    from evalscope.api.metric import AggScore
    total = sum(score.score.main_value for score in sample_scores)
    return [AggScore(metric_name="acc", score=total / len(sample_scores), num=len(sample_scores))]
"""

    def respond(received: Received) -> Any:
        verdict = "Z" if "Paris" in str(received.body["messages"]) else "A"
        return chat(json.dumps({"reasoning": "", "verdict": verdict}) if received.body["model"] == "judge" else "Rome")

    with OpenAIStub(respond) as stub:
        adapter = write_adapter(tmp_path, JUDGED + aggregates, metric_list=["acc"])
        assert run(stub, adapter, "--judge", "openai:judge", "--judge-args", f"base_url={stub.base_url}") == 1
    results = json.loads((tmp_path / "run/results.json").read_text())["tasks"]["capitals"]["results"]
    assert [(one["metric"], one["value"], one["n"]) for one in results if not one["subset"]] == [("accuracy", 1.0, 2)]
