"""Scripts written for lmms-eval: evaluating by function call, looking at tasks, wrappers by name, files of results."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.lmms_eval.models.base import LMMS_MODELS, ModelManifest, lmms
from polymeter.interop.lmms_eval.shim.lmms_eval import __main__ as command_line
from polymeter.interop.lmms_eval.shim.lmms_eval import evaluator, models, utils
from polymeter.interop.lmms_eval.shim.lmms_eval.figures import log_metrics
from polymeter.interop.lmms_eval.shim.lmms_eval.loggers import EvaluationTracker, WandbLogger
from polymeter.interop.lmms_eval.shim.lmms_eval.tasks import TaskManager, get_task_dict
from polymeter.interop.lmms_eval.shim.lmms_eval.wrappers import ChatMixin
from polymeter.interop.lmms_eval.tasks import Instance
from tests.conformance.lmms_eval.shim.kit import folder_of

SCORING = """
def process_results(doc, results):
    return {"score": float(results[0] == doc["a"])}
"""


class Answering(lmms):
    """Knows every answer but the first, if it is told what to put before the number."""

    def __init__(self, word: str, batch_size: int = 1) -> None:
        super().__init__()
        self.word, self.batch_size, self.sizes, self.is_clean = word, batch_size, [], True

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def generate_until(self, requests: Sequence[Any]) -> list[Any]:
        collator = utils.Collator([request.args for request in requests], lambda args: -len(args[0]), grouping=True)
        answers = []
        for chunk in collator.get_batched(n=self.batch_size):
            self.sizes.append(len(chunk))
            for _, _, _, doc_id, task, split in chunk:
                number = self.task_dict[task][split][doc_id]["q"].split()[1]
                answers.append(f"{self.word} {number if number != '0' else 'none'}")
        log_metrics(total_elapsed_time=0.5, total_gen_tokens=len(answers), avg_speed=2.0)
        return collator.get_original(answers)

    def clean(self) -> None:
        self.is_clean = False


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return folder_of(tmp_path / "tasks", SCORING, name="counting")


def test_a_script_evaluates_a_wrapper_that_it_has_made(folder: Path) -> None:
    wrapper = Answering("answer", batch_size=2)
    found = evaluator.simple_evaluate(
        wrapper, tasks=["counting"], task_manager=TaskManager(include_path=str(folder)), verbosity="ERROR"
    )
    assert found["results"]["counting"]["score,none"] == 0.75
    assert found["n-samples"]["counting"] == {"original": 4, "effective": 4, "scored": 4}
    assert (found["config"]["model"], found["config"]["batch_size"]) == ("Answering", "2")
    samples = found["samples"]["counting"]
    assert [(sample["doc_id"], sample["filtered_resps"], sample["score"]) for sample in samples] == [
        (0, ["answer none"], 0.0), (1, ["answer 1"], 1.0), (2, ["answer 2"], 1.0), (3, ["answer 3"], 1.0),
    ]  # fmt: skip
    assert samples[1]["doc"] == {"q": "question 1", "a": "answer 1"}
    assert found["throughput"]["total_gen_tokens"] >= 4
    assert max(wrapper.sizes) == 2
    assert wrapper.is_clean, "the wrapper is its owner's"
    assert list((folder.parent / "runs").glob("*/report.html"))
    assert "|counting|" in utils.make_table(found)


def test_the_same_wrapper_object_is_asked_anew(folder: Path) -> None:
    wrapper = Answering("answer")
    manager = TaskManager(include_path=[str(folder)])
    options = {"tasks": "counting", "task_manager": manager, "verbosity": "ERROR", "limit": 2, "log_samples": False}
    assert evaluator.simple_evaluate(wrapper, **options)["results"]["counting"]["score,none"] == 0.5
    wrapper.word = "reply"
    second = evaluator.simple_evaluate(wrapper, **options)
    assert second["results"]["counting"]["score,none"] == 0
    assert "samples" not in second


def test_a_script_evaluates_a_wrapper_by_its_name(folder: Path) -> None:
    LMMS_MODELS.add("answering", Answering)
    found = evaluator.simple_evaluate(
        "answering",
        model_args={"word": "answer"},
        tasks=[str(folder)],
        batch_size=4,
        cli_args=SimpleNamespace(output_path="out"),
        verbosity="ERROR",
    )
    assert found["results"]["counting"]["score,none"] == 0.75
    assert found["config"]["model_args"] == "word=answer"
    assert list(Path("out").glob("*_results.json"))


def test_tasks_that_a_script_has_looked_up(folder: Path) -> None:
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    assert (manager.all_tasks, manager.all_groups, manager.match_tasks("c*")) == (["counting"], [], ["counting"])
    assert manager.task_index["counting"] == {"type": "task", "yaml_path": str(folder / "counting.yaml")}
    assert f"|counting|{folder / 'counting.yaml'}|" in manager.list_all_tasks()
    tasks = get_task_dict(["counting"], manager)
    found = evaluator.evaluate(Answering("answer"), tasks, limit=2, verbosity="ERROR")
    assert found["results"]["counting"]["score,none"] == 0.5
    with pytest.raises(PlanError, match="Did you mean 'counting'"):
        get_task_dict(["countin"], manager)
    with pytest.raises(PlanError, match="given as a dict, not by its name"):
        get_task_dict([{"task": "x"}], manager)


def test_what_comes_with_polymeter_is_in_the_catalog() -> None:
    manager = TaskManager()
    assert "demo" in manager.all_groups
    assert manager.task_index["reading"] == {"type": "tag", "yaml_path": -1}
    assert set(get_task_dict("reading", manager)) <= set(manager.all_subtasks)


def test_arguments_that_cannot_be_had(folder: Path) -> None:
    with pytest.raises(PlanError, match="No task is named"):
        evaluator.simple_evaluate("mock", tasks=[])
    with pytest.raises(PlanError, match="given as a dict"):
        evaluator.simple_evaluate("mock", tasks=[{"task": "x"}])
    with pytest.raises(PlanError, match="--max_tokens cannot be used here"):
        evaluator.simple_evaluate("mock", tasks=["counting"], max_tokens=5)
    with pytest.raises(PlanError, match="--fewshot_as_multiturn"):
        evaluator.simple_evaluate("mock", tasks=["counting"], fewshot_as_multiturn=True)
    assert evaluator.request_caching_arg_to_dict("refresh") == {
        "cache_requests": True, "rewrite_requests_cache": True, "delete_requests_cache": False,
    }  # fmt: skip


class Echo(ChatMixin, Answering):
    """Answers with the texts of a conversation and with its settings."""

    def _infer_one(self, chat_messages: Any, gen_kwargs: dict[str, Any]) -> str:
        texts = [item["text"] for turn in chat_messages.to_hf_messages() for item in turn["content"]]
        return f"{' '.join(texts)} {gen_kwargs['n']}"


def test_chat_wrappers_answer_each_request_of_a_batch() -> None:
    wrapper = Echo("", batch_size=8)
    wrapper.task_dict = {"t": {"test": [{"q": "zero"}, {"q": "one"}, {"q": "two"}]}}

    def messages(doc: Any) -> list[dict[str, Any]]:
        return [{"role": "user", "content": [{"type": "text", "text": doc["q"]}]}]

    requests = [
        Instance("generate_until", (context, messages, {"n": n}, place, "t", "test"), 0)
        for place, (context, n) in enumerate([("c", 1), ("b", 2), ("a", 1)])
    ]
    assert wrapper.generate_until(requests) == ["zero 1", "one 2", "two 1"]
    assert not wrapper.is_simple
    with pytest.raises(NotImplementedError, match="_infer_one"):
        ChatMixin()._infer_one(None, {})  # type: ignore[arg-type]


class Plain(lmms):
    """A wrapper that takes a text and media."""


def test_wrappers_that_are_announced_by_path() -> None:
    place = f"{Echo.__module__}.Echo"
    manifest = ModelManifest("announced", chat_class_path=place, aliases=("announced_too",))
    models.MODEL_REGISTRY_V2.register_manifest(manifest)
    assert models.get_model("announced_too") is Echo
    assert models.get_model_manifest("announced") == manifest
    assert "announced_too" in models.list_available_models(include_aliases=True)
    assert "announced_too" not in models.list_available_models()
    assert models.AVAILABLE_CHAT_TEMPLATE_MODELS["announced"] == "Echo"
    assert "announced" not in models.AVAILABLE_SIMPLE_MODELS
    with pytest.raises(ValueError, match="announced already"):
        models.MODEL_REGISTRY_V2.register_manifest(ModelManifest("announced", chat_class_path="x.Y"))
    with pytest.raises(ValueError, match="announced already"):
        models.MODEL_REGISTRY_V2.register_manifest(ModelManifest("other", "x.Y", aliases=("announced_too",)))
    models.MODEL_REGISTRY_V2.register_manifest(ModelManifest("announced", simple_class_path=f"{__name__}.Plain"))
    assert models.get_model("announced", force_simple=True) is Plain
    assert models.get_model("announced") is Echo
    models.MODEL_REGISTRY_V2.register_manifest(ModelManifest("wrong", simple_class_path=place))
    with pytest.raises(TypeError, match="is announced as simple, but has is_simple=False"):
        models.get_model("wrong")
    with pytest.raises(PlanError, match="announced_two"):
        models.get_model_manifest("announced_two")
    with pytest.raises(AttributeError, match="AVAILABLE_TOYS"):
        _ = models.AVAILABLE_TOYS


def test_results_as_files(tmp_path: Path) -> None:
    tracker = EvaluationTracker(output_path=str(tmp_path), hub_results_org="org")
    tracker.general_config_tracker.log_experiment_args("hf", "pretrained=org/name,dtype=auto")
    tracker.save_results_aggregated({"results": {"t": 1}, "samples": {"t": []}}, datetime_str="20250101_000000")
    tracker.save_results_samples("t", [{"doc_id": 0}, {"doc_id": 1}], datetime_str="20250101_000000")
    folder = tmp_path / "org__name"
    assert json.loads((folder / "20250101_000000_results.json").read_text()) == {"results": {"t": 1}}
    assert (folder / "20250101_000000_samples_t.jsonl").read_text() == '{"doc_id": 0}\n{"doc_id": 1}\n'
    EvaluationTracker().save_results_aggregated({})
    with pytest.raises(PlanError, match="WandbLogger does not exist here"):
        WandbLogger(project="x")


def test_the_command_line_from_a_script(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["x", "--model", "mock", "--tasks", "counting", "--limit", "2"])
    _, args = command_line.parse_eval_args()
    assert (args.model, args.limit, args.batch_size) == ("mock", 2.0, "1")
    args.include_path, args.output_path, args.log_samples = str(folder), "out", True
    command_line.cli_evaluate(args)
    assert "written" in capsys.readouterr().out
    assert list(Path("out").glob("*_samples_counting.jsonl"))
    with pytest.raises(SystemExit) as ended:
        command_line.cli_evaluate(argparse.Namespace(model="mock", tasks="countin", include_path=str(folder)))
    assert ended.value.code == 2


def test_options_without_effect_are_logged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(evaluator, "eval_logger", SimpleNamespace(info=told.append))
    manager = TaskManager(include_path=str(folder))
    evaluator.simple_evaluate(
        "mock", tasks=["counting"], task_manager=manager, write_out=True, verbosity="ERROR", limit=1
    )
    assert any(text.startswith("--write_out has no effect") for text in told)
