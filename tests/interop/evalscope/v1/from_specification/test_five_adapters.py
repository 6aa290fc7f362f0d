"""Five adapters that were written before Polymeter could run any: by ``run_task``, and scored by another judge. The
numbers are those of EvalScope 1.14.1 for the same answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.request import Request
from polymeter.interop.evalscope.config import TaskConfig
from polymeter.interop.evalscope.evaluation import evaluate_evalscope
from polymeter.models.mock import MockBatch
from tests.helpers.openai_stub import OpenAIStub, Received, chat

HERE = Path(__file__).parent
SAID = {
    "rivers": ["The answer is Danube", "answer: rhine", "Po", "Answer: Chao", "ganges"],
    "planets": ["ANSWER: D", "ANSWER: A", "It is C.", "ANSWER: B"],
    "colours": ["ANSWER: A", "ANSWER: B"],
    "tones": ["A four", "c"],
    "essays": ["Rain on the Danube", "ANSWER: A", "?"],
}
SEEN: dict[str, dict[str, dict[str, float]]] = {
    "rivers": {
        "accuracy": {"": 0.8, "europe": 0.6667, "asia": 1.0},
        "exact_match": {"": 0.4, "europe": 0.3333, "asia": 0.5},
    },
    "planets": {"accuracy": {"": 0.25, "inner": 0.5, "outer": 0.0}},
    "colours": {"accuracy": {"": 0.5, "default": 0.5}},
    "tones": {"wer": {"": 0.25, "default": 0.25}, "accuracy": {"": 0.5, "default": 0.5}},
    "essays": {"quality": {"": 0.5, "short": 0.75, "long": 0.0}},
}


def verdict(text: str) -> str:
    """What the judge says of an essay."""
    said = "good" if "Danube" in text else "fair" if "ANSWER: A" in text else "poor"
    return json.dumps({"reasoning": "so", "verdict": said})


def data_of(*names: str) -> dict[str, str]:
    return {f"made/{name}": str(HERE / "data" / name) for name in names}


@pytest.mark.parametrize("name", SEEN)
def test_run_task_gives_the_numbers_of_evalscope(name: str, tmp_path: Path) -> None:
    def respond(received: Received) -> Any:
        return chat(verdict(json.dumps(received.body["messages"])))

    with OpenAIStub(respond) as judge:
        evaluated = evaluate_evalscope(
            TaskConfig(
                model="mock",
                eval_type="mock_llm",
                model_args={"custom_outputs": SAID[name]},
                datasets=[name],
                dataset_args={name: {"local_path": str(HERE / "data" / name)}},
                eval_batch_size=1,
                work_dir=str(tmp_path),
                no_timestamp=True,
                judge={"models": [{"model_id": "judge", "api_url": judge.base_url, "api_key": "none"}]},
            ),
            include_paths=(HERE,),
        )
    report = json.loads((tmp_path / "reports/mock" / f"{name}.json").read_text())
    written = {
        metric["identity"]["name"]: {
            "": metric["score"],
            **{part["name"]: part["score"] for group in metric["categories"] for part in group["subsets"]},
        }
        for metric in report["metrics"]
    }
    assert written == SEEN[name]
    assert evaluated.exit_code == 0
    assert report["dataset_pretty_name"] in evaluated.table
    for kind in ("predictions", "reviews"):
        lines = [line for file in tmp_path.glob(f"{kind}/mock/*.jsonl") for line in file.read_text().splitlines()]
        assert len(lines) == len(SAID[name])


def test_a_rescored_run_of_all_asks_only_another_judge(tmp_path: Path) -> None:
    asked: list[str] = []

    def judge(request: Request) -> str:
        asked.append(request.text)
        return '{"reasoning": "so", "verdict": "good"}'

    def answered(request: Request) -> str:
        return "ANSWER: A"

    def fair(request: Request) -> str:
        return '{"reasoning": "so", "verdict": "fair"}'

    polymeter.evaluate(
        MockBatch(answered, identity={"backend": "mock"}),
        [str(HERE)],
        roles={"judge": MockBatch(fair, identity={"backend": "mock"})},
        data=data_of(*SEEN),
        output=tmp_path / "run",
    )
    polymeter.score(
        tmp_path / "run",
        roles={"judge": MockBatch(judge, identity={"backend": "mock", "name": "another"})},
        output=tmp_path / "again",
    )
    first, again = (values_of(tmp_path / name) for name in ("run", "again"))
    assert {task for task in first if first[task] != again[task]} == {"essays"}
    assert (first["essays"]["quality"], again["essays"]["quality"]) == (0.5, 1.0)
    assert len(asked) == 3


def values_of(run: Path) -> dict[str, dict[str, float]]:
    tasks = json.loads((run / "results.json").read_text())["tasks"]
    return {
        name: {one["metric"]: one["value"] for one in task["results"] if not one["subset"]}
        for name, task in tasks.items()
    }
