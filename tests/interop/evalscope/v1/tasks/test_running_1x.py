"""Runs of EvalScope 1.x's adapters: what is asked, scored, aggregated, stored and asked again."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import polymeter
from polymeter.core.errors import DataError, PlanError
from polymeter.core.request import Request
from polymeter.models.mock import MockBatch
from tests.helpers.adapters_1x import CAPITALS, write_adapter, write_rows
from tests.helpers.differences import difference
from tests.helpers.openai_stub import OpenAIStub, chat

FIVE = Path(__file__).parents[1] / "from_specification"
GOLD = {"the capital of France": "Paris", "the capital of Italy": "Rome", "the capital of Spain": "Madrid"}


def knowing(request: Request) -> str:
    """The right answer of the question that stands in a prompt."""
    return next((answer for question, answer in GOLD.items() if question in request.text), "?")


def model(compute: Any = knowing) -> MockBatch:
    return MockBatch(compute, identity={"backend": "mock"})


def evaluate(tasks: Any, tmp_path: Path, compute: Any = knowing, **options: Any) -> dict[str, Any]:
    """The values of all results, by metric and subset."""
    tasks = [str(tasks)] if isinstance(tasks, Path) else tasks
    output = options.pop("output", tmp_path / "run")
    polymeter.evaluate(model(compute), tasks, output=output, **options)
    return values_of(output)


def values_of(run: Path) -> dict[str, Any]:
    tasks = json.loads((Path(run) / "results.json").read_text())["tasks"]
    return {
        "/".join([one["metric"], *one.get("subset", [])]): one["value"]
        for task in tasks.values()
        for one in task["results"]
    }


def samples_of(run: Path, task: str = "capitals") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "samples" / f"{task}.jsonl").read_text().splitlines()]


def prompts_of(run: Path, task: str = "capitals") -> list[str]:
    return [
        exchange["request"]["messages"][-1]["parts"][0]["text"]
        for sample in samples_of(run, task)
        for exchange in sample["exchanges"]
    ]


@pytest.mark.parametrize("name", ["rivers", "planets", "colours", "tones"])
def test_adapters_written_from_the_specification_score_full_marks_by_file(name: str, tmp_path: Path) -> None:
    polymeter.evaluate(
        "mock",
        [str(FIVE / f"{name}_adapter.py")],
        model_args={"mode": "gold"},
        data={f"made/{name}": str(FIVE / "data" / name)},
        output=tmp_path / "run",
    )
    values = values_of(tmp_path / "run")
    assert values["accuracy"] == 1
    assert values.get("wer", 0) == 0


def test_a_folder_of_them_runs_with_a_judge(tmp_path: Path) -> None:
    names = ["rivers", "planets", "colours", "tones", "essays"]
    polymeter.evaluate(
        "mock",
        [str(FIVE)],
        model_args={"mode": "gold"},
        roles={"judge": model(lambda request: '{"reasoning": "so", "verdict": "fair"}')},
        data={f"made/{name}": str(FIVE / "data" / name) for name in names},
        output=tmp_path / "run",
    )
    assert values_of(tmp_path / "run")["quality"] == 0.5


def test_a_prompt_is_made_of_template_system_prompt_and_examples(tmp_path: Path) -> None:
    path = write_adapter(
        tmp_path,
        'def sample_to_fewshot(self, sample):\n    return f"{sample.input}: {sample.target}"',
        few_shot_num=1,
        train_split="train",
        few_shot_prompt_template="{fewshot}\n\n{question}:",
    )
    write_rows(tmp_path / "data/capitals/default_train.jsonl", [{"question": "the capital of Peru", "answer": "Lima"}])
    evaluate(path, tmp_path, system_prompt="Be short.", limit=1)
    (sample,) = samples_of(tmp_path / "run")
    messages = sample["exchanges"][0]["request"]["messages"]
    assert [(one["role"], one["parts"][0]["text"]) for one in messages] == [
        ("system", "Be short."),
        ("user", "the capital of Peru: Lima\n\nthe capital of France:"),
    ]
    evaluate(path, tmp_path, output=tmp_path / "none", num_fewshot=0, limit=1)
    assert prompts_of(tmp_path / "none") == ["What is the capital of France?"]


def test_texts_of_a_list_go_out_as_the_author_wrote_them(tmp_path: Path) -> None:
    body = """
    def record_to_sample(self, record):
        from evalscope.api.messages import ContentText
        parts = [ContentText(text=record["question"]), ContentText(text="One word.")]
        return Sample(input=[ChatMessageUser(content=parts)], target=record["answer"])
    """
    adapter = write_adapter(tmp_path, body)
    with OpenAIStub(lambda received: chat("Paris")) as stub:
        model_args = {"base_url": stub.base_url}
        polymeter.evaluate("openai:m", [str(adapter)], model_args=model_args, limit=1, output=tmp_path / "run")
    texts = ("the capital of France", "One word.")
    assert stub.bodies[-1]["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}
    ]


def test_the_limit_counts_rows_of_each_subset_before_they_are_filtered(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, 'def sample_filter(self, sample):\n    return "Italy" not in sample.input')
    evaluate(path, tmp_path, limit=2)
    assert prompts_of(tmp_path / "run") == ["What is the capital of France?"]
    evaluate(path, tmp_path, output=tmp_path / "share", limit=0.7)
    assert prompts_of(tmp_path / "share") == ["What is the capital of France?"]


def test_repeats_have_places_of_their_own_and_count_for_pass_at_k(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, aggregation="mean_and_pass_at_k")
    asked: list[Any] = []

    def sometimes(request: Request) -> str:
        asked.append(request.parameters.seed)
        return knowing(request) if request.parameters.repeat or "France" in request.text else "?"

    values = evaluate(path, tmp_path, sometimes, dialect_options={"adapter_1x": {"repeats": 3}})
    assert values["exact_match"] == pytest.approx(7 / 9)
    assert values["exact_match:pass_at_k[k=1]"] == pytest.approx(7 / 9)
    assert values["exact_match:pass_at_k[k=2]"] == 1
    assert len(set(asked)) == 9
    rows = samples_of(tmp_path / "run")
    assert [row["id"] for row in rows[:4]] == ["default/0", "default/1", "default/2", "default/3"]
    assert [row["cluster"] for row in rows[:4]] == ["default/0"] * 3 + ["default/1"]


TALK = """
def _on_inference(self, model, sample):
    lucky = random.randrange(1000)
    messages = list(sample.input)
    for turn in range(2):
        output = model.generate(input=messages)
        messages += [output.message, ChatMessageUser(content=f"Are you sure? {lucky} {turn}")]
    last = model.generate(input=messages)
    sample.metadata["turns"] = 3
    return InferenceResult(output=last, messages=[*messages, last.message], trace={"lucky": lucky})

def match_score(self, original_prediction, filtered_prediction, reference, task_state):
    assert task_state.agent_trace["lucky"] >= 0
    right = float(original_prediction == task_state.target)
    score = Score(value={"exact_match": right}, prediction=original_prediction)
    score.metadata = {"lucky": task_state.agent_trace["lucky"], "n": len(task_state.messages)}
    return score
"""


def test_an_author_who_leads_a_conversation_gets_each_answer_in_turn(tmp_path: Path) -> None:
    values = evaluate(write_adapter(tmp_path, TALK), tmp_path)
    assert values["exact_match"] == 1
    first, second, third = prompts_of(tmp_path / "run")[:3]
    assert (first, second[:13]) == ("What is the capital of France?", "Are you sure?")
    assert second.split()[3] == third.split()[3], "the same numbers are drawn in each run of the code"
    score = samples_of(tmp_path / "run")[0]["log"]["sample_score"]
    assert score["metadata"] == {"lucky": int(third.split()[3]), "n": 6}
    assert score["sample_metadata"] == {"turns": 3}


def test_the_same_question_again_is_another_request(tmp_path: Path) -> None:
    body = """
    def _on_inference(self, model, sample):
        outputs = [model.generate(input=sample.input) for _ in range(3)]
        assert len({output.completion for output in outputs}) == 3
        return outputs[-1]
    """
    seen = []

    def numbered(request: Request) -> str:
        seen.append((request.parameters.repeat, request.parameters.seed))
        return f"{request.parameters.repeat}"

    evaluate(write_adapter(tmp_path, body), tmp_path, numbered, limit=1)
    assert [number for number, _ in seen] == [0, 1, 2]
    assert len({seed for _, seed in seen}) == 3


def test_code_that_asks_something_else_each_time_is_an_error(tmp_path: Path) -> None:
    body = """
    turns = []
    def _on_inference(self, model, sample):
        self.turns.append(1)
        return model.generate(input=f"question {len(self.turns)}")
    """
    result = polymeter.evaluate(model(), [str(write_adapter(tmp_path, body))], output=tmp_path / "run", limit=1)
    assert result.exit_code != 0
    (sample,) = samples_of(tmp_path / "run")
    assert "asks something else about sample default/0" in sample["error"]["message"]


def test_a_rescored_run_gives_the_same_and_asks_nothing(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, TALK)
    values = evaluate(path, tmp_path)
    polymeter.score(tmp_path / "run", output=tmp_path / "again")
    assert values_of(tmp_path / "again") == values
    logs = [[one["log"] for one in samples_of(tmp_path / name)] for name in ("run", "again")]
    assert logs[0] == logs[1]


_CHILD = """
import os, signal, sqlite3, sys, time
import polymeter
from polymeter.models.mock import MockBatch
task, run, log, instant = sys.argv[1:]
n = 0
def compute(request):
    global n
    n += 1
    with open(log, "a") as file:
        print(request.text.replace("\\n", " "), request.parameters.seed, file=file)
    if n == int(instant):
        with sqlite3.connect(os.path.join(run, "journal.db")) as journal:
            while journal.execute("SELECT COUNT(*) FROM responses").fetchone()[0] < n - 1:
                time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    return "Rome" if "Italy" in request.text else "Paris"
polymeter.evaluate(MockBatch(compute, identity={"backend": "mock"}), [task], output=run, batch_size=1)
"""


def test_a_killed_run_continues_to_the_same_numbers(tmp_path: Path) -> None:
    path = write_adapter(tmp_path, TALK)

    def child(run: str, log: str, instant: int) -> int:
        command = [sys.executable, "-c", _CHILD, str(path), str(tmp_path / run), str(tmp_path / log), str(instant)]
        return subprocess.run(command, env=dict(os.environ), timeout=120, check=False).returncode

    assert child("run", "first", 5) == -signal.SIGKILL
    assert child("run", "second", 0) == 0
    assert child("whole", "third", 0) == 0
    assert values_of(tmp_path / "run") == values_of(tmp_path / "whole") == {"exact_match": pytest.approx(2 / 3)}
    again = (tmp_path / "second").read_text().splitlines()
    assert len(again) < 9
    assert set(again) <= set((tmp_path / "third").read_text().splitlines())


def test_scores_that_do_not_count_leave_the_mean(tmp_path: Path) -> None:
    body = """
    def match_score(self, original_prediction, filtered_prediction, reference, task_state):
        if reference == "Rome":
            return Score(status="excluded", explanation="no such city")
        return Score(value={"exact_match": float(filtered_prediction == reference)})
    """
    values = evaluate(write_adapter(tmp_path, body), tmp_path)
    assert values["exact_match"] == 1
    statuses = [(one["status"], (one.get("error") or {}).get("message", "")) for one in samples_of(tmp_path / "run")]
    assert statuses[0][0] == "ok"
    assert statuses[1][0] == "unscored"
    assert "no such city" in statuses[1][1]
    report = json.loads(next((tmp_path / "run").glob("artifacts/reports/*/capitals.json")).read_text())
    assert report["metrics"][0]["num"] == 2


def test_scores_of_many_samples_at_once_are_added_before_aggregation(tmp_path: Path) -> None:
    body = """
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.use_batch_scoring = True

    def batch_match_score(self, original_predictions, filtered_predictions, references, task_states):
        assert [state.target for state in task_states] == references
        return [Score(value={"length": len(text)}) for text in original_predictions]
    """
    values = evaluate(write_adapter(tmp_path, body, primary_metric="exact_match"), tmp_path)
    assert values["exact_match"] == 1
    assert values["length"] == pytest.approx((5 + 4 + 6) / 3)


def test_rows_make_subsets_and_the_report_has_categories(tmp_path: Path) -> None:
    rows = [{**row, "subset": name} for row, name in zip(CAPITALS, ["north", "south", "south"], strict=True)]
    body = """
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.reformat_subset = True
        self.category_map = {"north": "cold", "south": "warm"}

    def extract_answer(self, prediction, task_state):
        return prediction if prediction != "Rome" else "?"
    """
    path = write_adapter(tmp_path, body, rows, subset_list=["north", "south", "west"])
    values = evaluate(path, tmp_path)
    assert values == {
        "exact_match": pytest.approx(2 / 3),
        "exact_match/north": 1,
        "exact_match/south": 0.5,
    }
    report = json.loads(next((tmp_path / "run").glob("artifacts/reports/*/capitals.json")).read_text())
    assert [one["name"] for one in report["metrics"][0]["categories"]] == [["cold"], ["warm"]]
    evaluate(path, tmp_path, output=tmp_path / "one", dialect_options=arguments(subset_list=["south"]))
    assert [one["id"] for one in samples_of(tmp_path / "one")] == ["south/0", "south/1"]


def arguments(**changes: Any) -> dict[str, Any]:
    return {"adapter_1x": {"dataset_args": {"capitals": changes}}}


def test_settings_of_the_adapter_and_filters_of_the_run_count(tmp_path: Path) -> None:
    body = """
    def extract_answer(self, prediction, task_state):
        return prediction * self.extra_params["times"]
    """
    path = write_adapter(tmp_path, body, extra_params={"times": {"type": "int", "description": "n", "value": 1}})
    said = {"compute": lambda request: f"<think>x</think>so: {knowing(request)}"}
    changes = arguments(filters={"remove_until": "so: "}, extra_params={"times": 1})
    assert evaluate(path, tmp_path, **said, dialect_options=changes)["exact_match"] == 1
    twice = arguments(filters={"remove_until": "so: "}, extra_params={"times": 2})
    assert evaluate(path, tmp_path, **said, output=tmp_path / "twice", dialect_options=twice)["exact_match"] == 0


@pytest.mark.parametrize(
    ("meta", "options", "message"),
    [
        ({"metric_list": ["exact_match", "wer"]}, {}, "several metrics and no primary one"),
        ({"few_shot_num": 2}, {}, "does not support few-shot"),
        ({}, {"num_fewshot": 1}, "does not support few-shot"),
        ({}, {"dialect_options": arguments(few_shot_nun=0)}, "No benchmark has a setting 'few_shot_nun'.*few_shot_num"),
        ({}, {"dialect_options": arguments(evaluation_version="v2.0")}, "the author's"),
        ({}, {"dialect_options": arguments(extra_params={"a": 1})}, "no setting 'a' in its extra_params"),
        ({}, {"dialect_options": arguments(subset_list="a")}, "must be a list"),
        ({"subset_list": ["default", "b"]}, {"dialect_options": arguments(subset_list=["c"])}, "no subset 'c'"),
        ({}, {"dialect_options": {"adapter_1x": {"repeat": 3}}}, "repeats"),
        ({}, {"dialect_options": {"adapter_1x": {"judge": {"strategie": "llm"}}}}, "judge.strategie"),
        ({"metric_list": ["exact_mach"]}, {}, "exact_match"),
        ({"evaluation_version": "2"}, {}, "evaluation_version"),
        ({"primary_metric": "wer"}, {}, "not in metric_list"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    meta: dict[str, Any], options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    asked: list[Any] = []
    path = write_adapter(tmp_path, **meta)
    with pytest.raises(PlanError) as error:
        polymeter.evaluate(model(asked.append), [str(path)], output=tmp_path / "run", **options)
    assert re.search(message, " ".join(f"{error.value} {error.value.hint}".split())), error.value
    assert not asked


@pytest.mark.parametrize(
    ("rows", "body", "message"),
    [
        ([], "", "no samples|no records|empty"),
        (CAPITALS, "def sample_filter(self, sample):\n    return False", "no samples"),
        ([{"question": "a"}], "", "has a target"),
    ],
)
def test_data_that_cannot_be_scored_is_said_before_anything_is_asked(
    rows: list[dict[str, Any]], body: str, message: str, tmp_path: Path
) -> None:
    asked: list[Any] = []
    with pytest.raises(DataError, match=message):
        polymeter.evaluate(model(asked.append), [str(write_adapter(tmp_path, body, rows))], output=tmp_path / "run")
    assert not asked


@difference("unknown-dataset-args", here="an error", there=1)
def test_unknown_settings(tmp_path: Path, parity: str, expected: Any) -> None:
    options = {"dialect_options": arguments(few_shot_nun=0), "parity": parity}
    try:
        found: Any = evaluate(write_adapter(tmp_path), tmp_path, **options)["exact_match"]
    except PlanError:
        found = "an error"
    assert found == expected


def test_two_judges_score_each_by_itself(tmp_path: Path) -> None:
    judges = [
        MockBatch(lambda request: '{"reasoning": "a", "verdict": "good"}', identity={"backend": "kind"}),
        MockBatch(lambda request: '{"reasoning": "b", "verdict": "poor"}', identity={"backend": "strict"}),
    ]
    polymeter.evaluate(
        model(),
        [str(FIVE / "essays_adapter.py")],
        roles={"judge": judges},
        output=tmp_path / "run",
        data={"made/essays": str(FIVE / "data/essays")},
    )
    assert values_of(tmp_path / "run")["quality"] == 0.5
    assert all(one["log"]["sample_score"]["judge_summary"] for one in samples_of(tmp_path / "run", "essays"))
