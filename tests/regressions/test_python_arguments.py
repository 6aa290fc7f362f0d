"""From Python, paths are names of tasks too; what is no name is a plan error, and only what is near is suggested."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import polymeter
from tests.regressions.endpoints import task_folder


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return task_folder(tmp_path / "tasks", ["question"])


def measure(tasks: Path, named: Any, **more: Any) -> polymeter.RunResult:
    options = {"include_paths": tasks, "output": tasks.parent / "run", **more}
    return polymeter.evaluate("mock", named, **options)


@pytest.mark.parametrize(
    "named",
    [
        lambda file: file,
        lambda file: [file],
        lambda file: (file, "said"),
        lambda file: [Path("said")],
        lambda file: Path(os.path.relpath(file)),
    ],
    ids=["a path", "a list", "beside a name", "a name as a path", "a relative path"],
)
def test_paths_name_tasks(tasks: Path, named: Callable[[Path], Any]) -> None:
    found = measure(tasks, named(tasks / "said.yaml"))
    assert found.status == "complete"
    assert list(found.results["tasks"]) == ["said"]


@pytest.mark.parametrize(
    "named", [None, 5, 1.5, b"said", [["said"]], ["said", None], [5], {"said": 1}], ids=lambda value: repr(value)
)
def test_what_is_no_name_is_a_plan_error(tasks: Path, named: Any) -> None:
    with pytest.raises(polymeter.PlanError, match=r"is neither a name nor a path\. \[tasks\]"):
        measure(tasks, named)
    with pytest.raises(polymeter.PlanError, match=r"is neither a name nor a path\. \[tasks\]"):
        polymeter.track(tasks, named)
    assert not (tasks.parent / "run").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"include_paths": 5}, r"5 is neither a name nor a path\. \[include_paths\]"),
        ({"imports": [None]}, r"None is neither a name nor a path\. \[imports\]"),
        ({"model_args": 5}, "model_args must be a mapping"),
        ({"model_args": ["key=sk-secret"]}, "model_args must be a mapping"),
        ({"roles": ["mock"]}, "roles must be a mapping"),
        ({"fail_under": 0.5}, "fail_under must be a mapping"),
        ({"log_to": "wandb"}, "log_to must be a mapping"),
        ({"log_to": {"wandb": "vlm"}}, "must be a mapping"),
        ({"on_end": 5}, r"5 is not a command of the shell\. \[on_end\]"),
    ],
)
def test_other_arguments_of_another_form_are_plan_errors(tasks: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(polymeter.PlanError, match=says) as caught:
        measure(tasks, "said", **more)
    assert "secret" not in str(caught.value)
    assert not (tasks.parent / "run").exists()


def test_a_tracker_may_have_no_arguments(tasks: Path) -> None:
    code = (
        "from polymeter.extend import register_tracker\n\n\n@register_tracker('quiet')\nclass Quiet:\n"
        "    def send(self, run):\n        return 'there'\n"
    )
    (tasks / "quiet.py").write_text(code)
    found = measure(tasks, "said", log_to={"quiet": None}, imports=[tasks / "quiet.py"])
    assert [(one.tracker, one.place, one.error) for one in found.logged] == [("quiet", "there", "")]


@pytest.mark.parametrize("word", ["example", "nothing", "table", "orange", "my_task", "sonnet", "weather", "precision"])
def test_what_is_far_is_not_suggested(tasks: Path, word: str) -> None:
    for call in (
        lambda: measure(tasks, word),
        lambda: polymeter.evaluate(word, "said", include_paths=tasks),
        lambda: measure(tasks, "said", fail_under={f"said.{word}": 0.5}),
    ):
        with pytest.raises(polymeter.PlanError) as caught:
            call()
        assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("word", ["sonnet", "example", "claude", "accuracy", "kernel"])
def test_no_option_is_suggested_that_is_far(tasks: Path, word: str) -> None:
    with pytest.raises(polymeter.PlanError) as caught:
        measure(tasks, "said", **{word: 1})
    assert "Did you mean" not in str(caught.value)


@pytest.mark.control
@pytest.mark.parametrize(
    ("call", "near"),
    [
        (lambda tasks: measure(tasks, "sadi"), "'said'"),
        (lambda tasks: measure(tasks, "sai"), "'said'"),
        (lambda tasks: polymeter.evaluate("mokc", "said", include_paths=tasks), "'mock'"),
        (lambda tasks: measure(tasks, "said", limt=1), "'limit'"),
        (lambda tasks: measure(tasks, "said", fail_under={"said.exact": 0.5}), "'exact_match'"),
        (lambda tasks: measure(tasks, str(tasks / "sadi.yaml")), "'said.yaml'"),
    ],
)
def test_what_is_near_is_suggested(tasks: Path, call: Callable[[Path], Any], near: str) -> None:
    with pytest.raises(polymeter.PlanError) as caught:
        call(tasks)
    assert f"Did you mean {near}" in str(caught.value)
