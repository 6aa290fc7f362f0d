"""With ``--parity evalscope`` several answers to a prompt are asked for as EvalScope 0.17 does: in one request.

Everything here goes through the command line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import vllm_stub
from tests.helpers.openai_stub import OpenAIStub, Received, failure
from tests.regressions.copies import command

ADAPTER = """
from evalscope.benchmarks import Benchmark, DataAdapter


@Benchmark.register(
    name="quiz", dataset_id="quiz", metric_list=["AverageAccuracy"], eval_split="test", prompt_template="{query}"
)
class QuizAdapter(DataAdapter):
    def load(self, **kwargs):
        return {"default": {"test": [{"q": "one", "a": "1"}, {"q": "two", "a": "2"}]}}

    def gen_prompt(self, input_d, subset_name, few_shot_list, **kwargs):
        return self.gen_prompt_data(input_d["q"])

    def get_gold_answer(self, input_d):
        return input_d["a"]

    def parse_pred_result(self, result, raw_input_d=None, eval_type="checkpoint"):
        return result

    def match(self, gold, pred):
        return float(gold == pred)
"""
N = 3
SUM = """
task: sum
dataset_path: json
dataset_kwargs: {data_files: {test: sum.jsonl}}
test_split: test
doc_to_text: "What is {{a}} + {{b}}?"
doc_to_target: "{{a + b}}"
repeats: 3
generation_kwargs: {temperature: 0.7, do_sample: true}
metric_list: [{metric: exact_match}]
"""


class Server:
    """An endpoint whose answers to a prompt are ``1``, ``2``, ``3``. ``refused``: a prompt that it declines."""

    def __init__(self) -> None:
        self.refused = ""
        self.asked: list[dict[str, Any]] = []

    def __call__(self, received: Received) -> Any:
        body = received.body
        prompt = body["messages"][-1]["content"]
        if prompt in ("one", "two"):
            self.asked.append(body)
        if prompt == self.refused:
            return failure("no", 400)
        choices = [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": str(i + 1)}}
            for i in range(body.get("n", 1))
        ]
        return {"object": "chat.completion", "choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}

    def told(self) -> list[tuple[str, Any, bool]]:
        """Of each request its prompt, its ``n``, and whether it has a seed; then they are forgotten."""
        asked, self.asked = self.asked, []
        return sorted((body["messages"][-1]["content"], body.get("n"), "seed" in body) for body in asked)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    with OpenAIStub(server) as stub:
        yield stub.base_url


def evaluate(here: Path, url: str, *more: str) -> int:
    (here / "quiz").mkdir(exist_ok=True)
    (here / "quiz" / "quiz_adapter.py").write_text(ADAPTER)
    settings = {"n": N, "temperature": 0.7, "max_tokens": 9}
    words = ["--model", "m", "--eval-type", "service", "--api-url", url, "--datasets", "quiz", "--include-path", "quiz"]
    words += ["--generation-config", json.dumps(settings), "--use-cache", "work", *more]
    return command("evalscope", "eval", *words, cwd=here).returncode


def report(here: Path) -> dict[str, Any]:
    (file,) = here.glob("work/reports/*/quiz.json")
    return json.loads(file.read_text())  # type: ignore[no-any-return]


@pytest.mark.needs_system("evalscope")
def test_one_request_asks_for_all_answers_to_a_prompt_and_each_is_scored(
    tmp_path: Path, server: Server, url: str
) -> None:
    assert evaluate(tmp_path, url, "--parity", "evalscope") == 0
    assert server.told() == [("one", N, False), ("two", N, False)]
    assert report(tmp_path)["score"] == pytest.approx(1 / N, abs=1e-4)
    (reviews,) = tmp_path.glob("work/reviews/*/quiz_default.jsonl")
    choices = [json.loads(line)["choices"] for line in reviews.read_text().splitlines()]
    assert [[one["review"]["pred"] for one in row] for row in choices] == [["1", "2", "3"]] * 2


@pytest.mark.needs_system("evalscope")
def test_a_run_that_goes_on_asks_for_the_answers_that_are_owed(tmp_path: Path, server: Server, url: str) -> None:
    server.refused = "two"
    assert evaluate(tmp_path, url, "--parity", "evalscope") == 1
    assert [one for one in server.told() if one[0] == "one"] == [("one", N, False)]
    server.refused = ""
    assert evaluate(tmp_path, url, "--parity", "evalscope") == 0
    assert server.told() == [("two", N, False)]
    assert report(tmp_path)["score"] == pytest.approx(1 / N, abs=1e-4)


@pytest.mark.needs_system("evalscope")
def test_a_server_that_the_run_starts_is_asked_so_too(tmp_path: Path) -> None:
    program = vllm_stub.install(tmp_path / "bin")
    (tmp_path / "sum.yaml").write_text(SUM)
    (tmp_path / "sum.jsonl").write_text('{"a": 1, "b": 2}\n')
    for parity, n in (("evalscope", ["3"]), ("none", ["1"] * N)):
        asked = tmp_path / f"{parity}.txt"
        model = f"executable={program},replicas=2"
        words = ["--model", "vllm:toy", "--model-args", model, "--output", parity, "--parity", parity]
        done = command("run", "--tasks", "sum.yaml", *words, cwd=tmp_path, VLLM_STUB=f"asked:{asked}")
        assert done.returncode == 0, done.stderr
        assert asked.read_text().split()[-len(n) :] == n
        assert len(asked.read_text().split()) == 2 + len(n), "each server is asked for one token first"


@pytest.mark.needs_system("evalscope")
@pytest.mark.control
def test_without_parity_each_answer_is_asked_for_by_itself(tmp_path: Path, server: Server, url: str) -> None:
    assert evaluate(tmp_path, url) == 0
    assert server.told() == [(prompt, None, True) for prompt in ("one", "two") for _ in range(N)]
