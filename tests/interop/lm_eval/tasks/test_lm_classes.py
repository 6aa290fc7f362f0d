"""Tasks that are Python classes: rows, contexts, requests, values and numbers are those of their methods."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from polymeter import evaluate
from polymeter.core.content import Text
from polymeter.core.errors import PlanError, UnfitError
from polymeter.core.format import OpenContext
from polymeter.core.model import ModelTraits
from polymeter.core.request import ChoiceLogprob, Generate, Loglikelihood, Output, Request, Response
from polymeter.core.task import ReduceContext, Rollout, SampleStatus, ScoredRow, Task
from polymeter.interop.lm_eval.tasks.classes.class_config import FewshotConfig, TaskConfig
from polymeter.interop.lm_eval.tasks.compile import compile_task
from polymeter.interop.lm_eval.tasks.dialect import DIALECT, make_reader
from polymeter.tasks.yaml.files.load import make_spec
from polymeter.tasks.yaml.task_code import PackageScanner

GUESTS = Path(__file__).parent / "guests"
ROWS = [{"q": f"what {i}", "a": "cat" if i % 2 else "long dog", "is_dog": i % 2 == 0} for i in range(5)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the classes, and their dataset beside it."""
    place = tmp_path / "tasks"
    place.mkdir()
    shutil.copy(GUESTS / "task_file.py", place / "task.py")
    for split in ("train", "validation"):
        lines = [json.dumps({**row, "q": f"{split} {row['q']}"}) for row in ROWS]
        file = tmp_path / "animals" / f"{split}.jsonl"
        file.parent.mkdir(exist_ok=True)
        file.write_text("\n".join(lines))
    return place


def opened(folder: Path, name: str, **context: Any) -> Task:
    """The task of one of the classes."""
    file = folder / f"{name.lower()}.yaml"
    file.write_text(f"task: {name.lower()}\nclass: !function task.{name}\n")
    spec = make_spec(make_reader().read(file), {}, DIALECT, PackageScanner())
    data = {"someone/animals": str(folder.parent / "animals")}
    return compile_task(spec, ModelTraits("mock", "simple"), OpenContext(data=data, **context), DIALECT)


def asked(task: Task, index: int) -> tuple[Request, ...]:
    """What a task asks about a row."""
    return tuple(next(task.rollout(task.samples[index])))  # type: ignore[arg-type]


def text(request: Request) -> str:
    return "".join(part.text for message in request.messages for part in message.parts if isinstance(part, Text))


def answered(task: Task, index: int, *responses: Response) -> Any:
    """The score of a row for these responses."""
    steps = task.rollout(task.samples[index])
    next(steps)
    with pytest.raises(StopIteration) as ended:
        steps.send(responses)
    return task.score(task.samples[index], Rollout(responses, ended.value.value))


def likely(*logprobs: float) -> Response:
    return Response((Output(logprobs=tuple(ChoiceLogprob(value, False, 1) for value in logprobs)),))


def said(answer: str) -> Response:
    return Response((Output(answer),))


def test_a_class_mixes_requests_and_aggregates_by_itself(folder: Path) -> None:
    task = opened(folder, "Mixed")
    generation, likelihood = asked(task, 1)
    assert isinstance(generation.parameters, Generate)
    assert generation.parameters.stop == ("\n",)
    assert likelihood.parameters == Loglikelihood((" none",), template="none")
    assert text(generation) == "Q: validation what 1\nA:"
    assert task.needs.requests == {"generate", "loglikelihood"}
    assert task.spec.version == "3"
    scores = [answered(task, i, said(" cat"), likely(0.0)) for i in range(4)]
    assert scores[1].values["right", "none"] == ("cat", "cat", 1.0)
    assert scores[1].target == " cat"
    rows = [ScoredRow(str(i), i, (), None, SampleStatus.OK, score) for i, score in enumerate(scores)]
    results = task.reduce(rows, ReduceContext(folder))
    assert [(each.metric, each.value, each.higher_is_better) for each in results] == [
        ("right", 0.5, True),
        ("none", 1.0, False),
    ]


def test_examples_are_drawn_from_the_training_docs_by_position(folder: Path) -> None:
    shown = opened(folder, "Mixed", num_fewshot=2)
    assert shown.num_fewshot == 2
    contexts = [text(asked(shown, index)[0]) for index in (3, 0, 3)]
    assert contexts[0] == contexts[2]
    for context in contexts:
        first, second, question = context.split("\n\n")
        assert first.startswith("Q: train what")
        assert first != second
        assert question.startswith("Q: validation what")
    # A target begins with its space, and the delimiter of a configuration comes before it, as there.
    assert "A:  " in contexts[0]


def test_a_configuration_alone_is_a_task(folder: Path) -> None:
    task = opened(folder, "Described")
    (request,) = asked(task, 0)
    assert text(request) == "About animals. validation what 0"
    assert request.parameters == Loglikelihood((" cat", " long dog"), template="none")
    assert answered(task, 0, likely(-2.0, -4.0)).values == {("acc", "none"): 0.0, ("acc_norm", "none"): 1.0}
    assert task.spec.version == "1.5"


def test_a_truth_of_a_configured_class_says_which_context_is_right(folder: Path) -> None:
    task = opened(folder, "Told")
    assert [text(request) for request in asked(task, 0)] == ["A cat", "A dog"]
    values = [answered(task, index, likely(-4.0), likely(-1.0)).values["acc", "none"] for index in (0, 1)]
    assert values == [1.0, 0.0]


def test_a_chat_is_what_a_class_is_given_as_context(folder: Path) -> None:
    options = {"apply_chat_template": True}
    task = opened(folder, "Mixed", num_fewshot=1, system_prompt="Be brief.", options=options)
    generation, _ = asked(task, 0)
    assert [message.role for message in generation.messages] == ["system", "user", "assistant", "user"]


def test_classes_of_the_older_form_have_values_and_numbers(folder: Path) -> None:
    choices = opened(folder, "Listed")
    (request,) = asked(choices, 1)
    assert (text(request), request.parameters) == ("Which? ", Loglikelihood((" a", " bcd"), template="none"))
    assert answered(choices, 1, likely(-2.0, -4.0)).values == {("acc", "none"): 0.0, ("acc_norm", "none"): 1.0}
    texts = opened(folder, "Texts")
    (rolling,) = asked(texts, 0)
    assert rolling.parameters == Loglikelihood(("one two",), is_rolling=True)
    assert answered(texts, 0, likely(-3.0)).values == {
        ("word_perplexity", "none"): (-3.0, 2),
        ("byte_perplexity", "none"): (-3.0, 7),
        ("bits_per_byte", "none"): (-3.0, 7),
    }


def test_examples_of_the_older_form_have_no_delimiter_of_their_own(folder: Path) -> None:
    (request,) = asked(opened(folder, "Answers", num_fewshot=1), 0)
    example, question = text(request).split("\n\n")
    assert question == "4^2 ="
    assert example in {f"{n}^2 = {n * n}" for n in range(4)}


def test_a_run_of_a_class_ends_with_its_numbers(folder: Path) -> None:
    (folder / "answers.yaml").write_text("task: answers\nclass: !function task.Answers\n")
    result = evaluate(
        "mock", "answers", model_args={"answer": "16"}, include_paths=[f"lm-eval:{folder}"], output=folder / "run"
    )
    found = result.results["tasks"]["answers"]["results"]
    assert [(each["metric"], each["value"], each["n"]) for each in found] == [("em", 0.5, 2)]


@pytest.mark.parametrize(
    ("name", "message"),
    [("Half", "has no eval_docs"), ("broken", "Making the class of task 'broken' raised RuntimeError: out of order")],
)
def test_what_is_no_task_is_said(folder: Path, name: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        opened(folder, name)


def test_a_configuration_is_read_and_changed_as_there() -> None:
    config = TaskConfig(task="t", fewshot_split="train", doc_to_text="{{q}}", fewshot_config={"sampler": "first_n"})
    assert (config.task, config["task"], config.get("num_fewshot", 0)) == ("t", "t", 0)
    assert (config.fewshot_config.split, config.fewshot_config.sampler) == ("train", "first_n")
    assert config.generation_kwargs["until"] == ["\n\n"]
    config["num_fewshot"] = 3
    assert config.num_fewshot == 3
    assert config.to_dict()["fewshot_config"]["doc_to_text"] == "{{q}}"
    with pytest.raises(TypeError, match="TaskConfig has no field 'class'"):
        TaskConfig(**{"class": 1})
    with pytest.raises(TypeError, match="FewshotConfig has no field 'shots'"):
        FewshotConfig(shots=3)
    with pytest.raises(AttributeError, match="no field 'shots'"):
        config.shots  # noqa: B018


def test_choices_of_a_class_are_not_asked_as_text(folder: Path) -> None:
    with pytest.raises(UnfitError, match="'listed' is one of lm-eval's, which --mcq text cannot ask"):
        opened(folder, "Listed", is_mcq_text=True)
    assert asked(opened(folder, "Answers", is_mcq_text=True), 0), "other classes are asked as always"
