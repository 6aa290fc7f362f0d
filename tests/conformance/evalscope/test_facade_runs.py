"""``run_task``: what it gives, prints and writes, and what it does not ask twice."""

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Text
from polymeter.core.errors import ModelError, PlanError, ScoreError
from polymeter.core.request import Generate, Message, Origin, Request
from polymeter.interop.evalscope.config import TaskConfig
from polymeter.interop.evalscope.models.custom import CustomBackend, CustomModel, infer_config, origin_input
from polymeter.interop.evalscope.shim.evalscope.run import run_task
from polymeter.interop.evalscope.shim.evalscope.summarizer import Summarizer
from tests.conformance.evalscope.facade_kit import TABLE, benchmarks, texts
from tests.helpers.openai_stub import OpenAIStub, chat, failure

KEY = "sk-do-not-tell"
JUDGE_KEY = "sk-nor-this"


class Mine(CustomModel):
    """Answers a question with itself; remembers what it was asked."""

    def __init__(self, config: dict[str, Any] | None = None, answer: Any = None) -> None:
        super().__init__(config)
        self.answer = answer
        self.calls: list[dict[str, Any]] = []

    def predict(self, prompts: list[str], **kwargs: Any) -> Any:
        self.calls.append({"prompts": prompts, **kwargs})
        if self.answer is not None:
            return self.answer
        usage = {"prompt_tokens": 5, "completion_tokens": 2}
        return [{"choices": [{"message": {"content": prompt}}], "usage": usage} for prompt in prompts]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, with the benchmark in reach."""
    monkeypatch.setenv("POLYMETER_INCLUDE_PATH", str(benchmarks(tmp_path)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(**fields: Any) -> dict[str, Any]:
    return {"model": "mock", "model_args": {"mode": "echo"}, "datasets": ["capitals"], "limit": 2, **fields}


def folder() -> Path:
    (found,) = Path("outputs").iterdir()
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_table_is_printed_and_reports_are_given(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = config()
    before = json.dumps(told)
    reports = run_task(told)
    assert json.dumps(told) == before
    assert capsys.readouterr().out.strip() == TABLE
    assert isinstance(reports, dict)
    assert list(reports) == ["capitals"]
    assert (reports["capitals"].name, reports["capitals"].score) == ("mock@capitals", 1)
    assert Summarizer.get_report(folder()) == [reports["capitals"].to_dict()]
    assert Summarizer.get_report_from_cfg(told) == [reports["capitals"].to_dict()]


def test_files_lie_where_they_are_looked_for(here: Path) -> None:
    run_task(config())
    root = folder()
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.match("*run_*/**"))
    assert [name for name in names if Path(name).suffix and not name.startswith("run_")] == [
        next(name for name in names if name.startswith("configs/task_config_")),
        "logs/eval_log.log",
        "predictions/mock/capitals_far.jsonl",
        "predictions/mock/capitals_near.jsonl",
        "reports/mock/capitals.json",
        "reports/mock/notes.txt",
        "reviews/mock/capitals_far.jsonl",
        "reviews/mock/capitals_near.jsonl",
    ]
    assert TABLE in (root / "logs/eval_log.log").read_text(encoding="utf-8")
    (first, _) = lines(root / "predictions/mock/capitals_near.jsonl")
    assert first["choices"][0]["message"] == {"role": "assistant", "content": "near 0?"}
    assert (first["index"], first["subset_name"], first["raw_input"]["answer"]) == (0, "near", "near 0")
    (_, second) = lines(root / "reviews/mock/capitals_far.jsonl")
    assert second["choices"][0]["review"] == {"gold": "far 1", "pred": "far 1", "result": 1}
    assert second["reviewed"] is True


def test_a_list_of_configurations_shares_a_folder(here: Path) -> None:
    both = run_task([config(), config(model_args={"mode": "empty"}, model_id="silent")])
    assert [next(iter(reports.values())).score for reports in both] == [1, 0]
    assert sorted(path.name for path in (folder() / "reports").iterdir()) == ["mock", "silent"]


def test_logging_is_left_as_it_was(here: Path) -> None:
    logger = logging.getLogger("polymeter")
    before = (logger.level, list(logger.handlers))
    run_task(config())
    assert (logger.level, list(logger.handlers)) == before


# --- a user's own model -----------------------------------------------------------------------------------------------


def test_a_custom_model_is_called_as_its_author_expects(here: Path) -> None:
    mine = Mine({"model_id": "mine", "api_key": KEY})
    settings = {"max_new_tokens": 7, "temperature": 0.5, "top_k": 3}
    reports = run_task(TaskConfig(**config(model=mine, model_args={}, eval_batch_size=2, generation_config=settings)))
    assert isinstance(reports, dict)
    assert reports["capitals"].model_name == "mine"
    assert reports["capitals"].score == 1
    assert sorted(prompt for call in mine.calls for prompt in call["prompts"]) == [
        "far 0?", "far 1?", "near 0?", "near 1?",
    ]  # fmt: skip
    first = mine.calls[0]
    assert len(first["prompts"]) == 2
    assert [item["data"] for item in first["origin_inputs"]] == [[prompt] for prompt in first["prompts"]]
    assert [item["raw_input"]["question"] for item in first["origin_inputs"]] == first["prompts"]
    assert first["infer_cfg"] == settings
    assert KEY not in texts(here)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([], "predict of Mine gave 0 answers for 1 prompts"),
        (3, "predict of Mine gave a int for 1 prompts"),
        ([{"choices": [{"text": "x"}]}], "predict of Mine gave .*choices"),
    ],
)
def test_a_custom_model_that_gives_something_else_fails(answer: Any, message: str) -> None:
    request = Request((Message("user", (Text("q"),)),), Generate(), None)
    backend = CustomBackend(Mine(answer=answer))
    try:
        (response,) = backend.respond([request])
        assert response.error is not None
        said = response.error.message
    except ModelError as error:
        said = error.what
    assert re.search(message, said), said


def test_prompts_and_settings_as_a_custom_model_sees_them() -> None:
    turns = (Message("system", (Text("s"),)), Message("user", (Text("a"),)), Message("assistant", (Text("b"),)))
    seen = origin_input(Request(turns, Generate(), Origin("t", "sub/4", index=9)))
    assert seen["data"] == ["a\nb"]
    assert (seen["index"], seen["system_prompt"]) == (4, "s")
    assert seen["messages"][0] == {"role": "system", "content": "s"}
    assert infer_config(Request(turns, Generate(stop=("x",))), 2) == {"stop": ["x"], "num_return_sequences": 2}


def test_a_custom_model_sees_the_prompt_as_its_benchmark_made_it() -> None:
    prompt = {
        "data": [""],
        "index": 4,
        "id": "q-4",
        "multi_choices": ["A", "B"],
        "messages": [{"role": "user", "content": "a"}],
        "raw_input": {"question": "a"},
    }
    request = Request((Message("user", (Text("a"),)),), Generate(), Origin("t", "sub/4", index=9, prompt=prompt))
    mine = Mine()
    CustomBackend(mine).respond([request])
    assert mine.calls[0]["origin_inputs"] == [prompt]
    assert mine.calls[0]["prompts"] == ["a"]


def test_the_likeliest_choice_stands_in_the_files_as_the_answer(here: Path) -> None:
    kind = "multiple_choice_logits"
    told = {"model_adapter": kind, "output_types": [kind], "choices": ["near 0", "near 1"]}
    run_task(config(dataset_args={"capitals": told}))
    (answer, *_) = lines(folder() / "predictions/mock/capitals_near.jsonl")
    (review, *_) = lines(folder() / "reviews/mock/capitals_near.jsonl")
    content = answer["choices"][0]["message"]["content"]
    assert content in told["choices"]
    assert review["choices"][0]["message"]["content"] == content == review["choices"][0]["review"]["pred"]


def test_without_a_model_there_are_placeholders(here: Path) -> None:
    run_task(config(model=None, model_args={}))
    (first, _) = lines(folder() / "predictions/custom_model/capitals_near.jsonl")
    assert first["choices"][0]["message"]["content"] == "*PlaceHolder*"


# --- stages, going on -------------------------------------------------------------------------------------------------


def test_what_is_inferred_is_reviewed_without_asking_again(here: Path) -> None:
    mine = Mine()
    asked = config(model=mine, model_args={})
    inferred = run_task({**asked, "stage": "infer"})
    assert [len(inferred["capitals"][subset]) for subset in ("near", "far")] == [2, 2]
    assert inferred["capitals"]["near"][1]["choices"][0]["message"]["content"] == "near 1?"
    n_calls = len(mine.calls)
    root = folder()
    assert not (root / "reviews").exists()
    assert len(lines(root / "predictions/custom_model/capitals_far.jsonl")) == 2
    reviewed = run_task({**asked, "stage": "review", "use_cache": str(root)})
    assert isinstance(reviewed, dict)
    assert reviewed["capitals"].score == 1
    assert len(mine.calls) == n_calls
    assert len(lines(root / "reviews/custom_model/capitals_far.jsonl")) == 2


def test_a_folder_is_gone_on_with_by_what_was_asked(here: Path) -> None:
    mine = Mine()
    asked = config(model=mine, model_args={})
    run_task(asked)
    root, n_calls = str(folder()), len(mine.calls)
    run_task({**asked, "use_cache": root})
    assert len(mine.calls) == n_calls
    changed = {"dataset_args": {"capitals": {"prompt_template": "Say {question}"}}, "limit": 1}
    run_task({**asked, **changed, "use_cache": root})
    assert mine.calls[-1]["prompts"][0].startswith("Say ")
    with pytest.raises(PlanError, match="no answers of this model to these questions"):
        run_task({**asked, "seed": 7, "stage": "review", "use_cache": root})


def test_another_judge_is_asked_and_the_model_is_not(here: Path) -> None:
    mine = Mine()
    asked = config(model=mine, model_args={})
    run_task(asked)
    root, n_calls = folder(), len(mine.calls)
    with OpenAIStub(lambda received: chat("B")) as stub:
        judge = {"api_url": f"{stub.base_url}/chat/completions", "model_id": "j", "api_key": JUDGE_KEY}
        judged = run_task({**asked, "judge_strategy": "llm", "judge_model_args": judge, "use_cache": str(root)})
        assert stub.received[-1].headers["Authorization"] == f"Bearer {JUDGE_KEY}"
    assert isinstance(judged, dict)
    assert judged["capitals"].score == 0
    assert len(mine.calls) == n_calls
    assert JUDGE_KEY not in texts(here)


def test_a_judge_writes_about_the_report_and_is_asked_once(here: Path) -> None:
    asked = config(judge_strategy="rule", analysis_report=True)
    with OpenAIStub(lambda received: chat("Near is easy.")) as stub:
        judge = {"api_url": f"{stub.base_url}/chat/completions", "model_id": "j"}
        found = run_task({**asked, "judge_model_args": judge})
        sent = [body["messages"][-1]["content"] for body in stub.bodies]
        again = run_task({**asked, "judge_model_args": judge, "use_cache": str(folder())})
        n_sent = len([body for body in stub.bodies if "<report>" in str(body)])
    assert isinstance(found, dict)
    assert isinstance(again, dict)
    assert found["capitals"].analysis == again["capitals"].analysis == "Near is easy."
    assert [text for text in sent if '"dataset_name": "capitals"' in str(text)]
    assert n_sent == 1
    written = json.loads((folder() / "reports/mock/capitals.json").read_text(encoding="utf-8"))
    assert written["analysis"] == "Near is easy."


def test_a_judge_that_writes_nothing_costs_no_number(here: Path) -> None:
    with OpenAIStub(lambda received: chat("ok") if "ping" in str(received.body) else failure("no", 400)) as stub:
        judge = {"api_url": f"{stub.base_url}/chat/completions", "model_id": "j"}
        found = run_task(config(judge_strategy="rule", analysis_report=True, judge_model_args=judge))
    plain = run_task(config())
    assert isinstance(found, dict)
    assert isinstance(plain, dict)
    assert (found["capitals"].score, found["capitals"].analysis) == (plain["capitals"].score, "N/A")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ([{}], r"gave \{\}"),
        ([{"choices": []}], "0 outputs where 1 were asked for"),
        ([{"choices": [{"message": {"content": None}}]}], "choices"),
        ([{"error": {"message": "quota"}, "choices": [{"message": {"content": "near 0"}}]}], "quota"),
        ([{"choices": [{"message": {"content": "near 0"}, "finish_reason": "error"}]}], "finish_reason 'error'"),
        (["near 0"], "near 0"),
    ],
)
@pytest.mark.parametrize("ignores", [False, True])
def test_a_run_in_which_nothing_was_scored_raises_with_the_reason(
    answer: Any, reason: str, ignores: bool, here: Path
) -> None:
    with pytest.raises(ScoreError, match=f"Nothing was scored.*{reason}"):
        run_task(config(model=Mine(answer=answer), model_args={}, ignore_errors=ignores))


def test_use_cache_may_name_a_new_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_task(config(use_cache="kept/here"))
    assert "began in a new one" in capsys.readouterr().err
    assert (here / "kept/here/reports/mock/capitals.json").is_file()
    assert not Path("outputs").exists()
    run_task(config(use_cache="kept/here"))
    assert "new one" not in capsys.readouterr().err


def test_verdicts_that_are_none_leave_no_report_of_an_earlier_scoring(here: Path) -> None:
    run_task(config())
    root = folder()
    judge = {"model_id": "mock"}  # it says "mock"
    with pytest.raises(ScoreError, match=r"Nothing was scored\. Sample near/0 of 'capitals': .*verdict"):
        run_task(config(judge_strategy="llm", judge_model_args=judge, use_cache=str(root)))
    assert not (root / "reports/mock/capitals.json").exists()
    assert not list((root / "reviews/mock").iterdir())


# --- endpoints and keys -----------------------------------------------------------------------------------------------


def test_an_endpoint_is_asked_with_a_key_that_reaches_no_file(here: Path) -> None:
    with OpenAIStub(lambda received: chat(received.body["messages"][-1]["content"] if received.raw else "")) as stub:
        reports = run_task(
            config(
                model="org/served",
                model_args={},
                eval_type="service",
                api_url=f"{stub.base_url}/chat/completions",
                api_key=KEY,
                generation_config={"max_tokens": 9},
                timeout=30,
                eval_batch_size=2,
            )
        )
        asked = [one for one in stub.received if one.raw and "near" in one.raw.decode()]
        assert asked[-1].headers["Authorization"] == f"Bearer {KEY}"
        assert (asked[-1].body["model"], asked[-1].body["max_tokens"]) == ("org/served", 9)
    assert isinstance(reports, dict)
    assert reports["capitals"].score == 1
    assert reports["capitals"].model_name == "served"
    assert KEY not in texts(here)


def test_an_unknown_dataset_is_answered_with_near_names(here: Path) -> None:
    with pytest.raises(PlanError, match="'capitols'") as raised:
        run_task(config(datasets=["capitols"]))
    assert "capitals" in raised.value.hint
