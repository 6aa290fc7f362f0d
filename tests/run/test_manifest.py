"""The manifest: what a run is, what makes it another run, and what is never written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import ModelSpec
from polymeter.core.options import RunOptions, mark_of
from polymeter.models.mock import MockBatch
from polymeter.run.finish.manifest import (
    changed_tasks,
    check_same_run,
    continued,
    default_folder,
    identity_of,
    model_fingerprints,
    new_manifest,
    options_of,
)
from polymeter.run.plan.plan import Plan
from polymeter.run.plan.selection import SelectedTasks
from polymeter.store.folder import RunFolder
from tests.helpers.options import OTHER_VALUES
from tests.helpers.tasks import ListTask, answer_of, docs

IDENTITY_OPTIONS = [name for name in RunOptions.model_fields if mark_of(RunOptions, name) == "identity"]
FOLDER = RunFolder(Path("/runs/one"))


def plan_of(
    *tasks: ListTask, identity: str = "m", judge: str = "", spec: ModelSpec | None = None, **options: Any
) -> Plan:
    opened = tuple(task.as_task() for task in tasks or (ListTask(docs(3)),))
    roles = {"judge": MockBatch(answer_of, identity={"backend": judge})} if judge else {}
    return Plan(
        MockBatch(answer_of, identity={"backend": identity}),
        spec,
        tuple(task.spec.name for task in opened),
        SelectedTasks(tuple(task.spec for task in opened)),
        RunOptions.make(options),
        roles,
        dict.fromkeys(roles),
        opened,
    )


def written(plan: Plan) -> dict[str, Any]:
    """The manifest as it is after it went through its file."""
    manifest: dict[str, Any] = json.loads(json.dumps(new_manifest(plan, FOLDER, "polymeter run")))
    return manifest


def test_the_same_plan_goes_on() -> None:
    check_same_run(written(plan_of(judge="j", seed=3)), plan_of(judge="j", seed=3), FOLDER)


@pytest.mark.parametrize("name", IDENTITY_OPTIONS)
def test_another_value_of_an_identity_option_is_another_run(name: str) -> None:
    other = plan_of(**{name: OTHER_VALUES[name]})
    with pytest.raises(PlanError, match=f"holds another run: {name} differs") as caught:
        check_same_run(written(plan_of()), other, FOLDER)
    assert caught.value.where == "/runs/one"
    assert "--restart" in caught.value.hint
    check_same_run(written(other), other, FOLDER)


@pytest.mark.parametrize("name", sorted(set(RunOptions.model_fields) - set(IDENTITY_OPTIONS)))
def test_a_runtime_option_may_change(name: str) -> None:
    check_same_run(written(plan_of()), plan_of(**{name: OTHER_VALUES[name]}), FOLDER)


def test_everything_that_differs_is_named() -> None:
    other = plan_of(ListTask(docs(3), name="x"), identity="other", judge="j", seed=3, limit=1)
    with pytest.raises(PlanError, match="model, roles, tasks, limit, seed differ"):
        check_same_run(written(plan_of()), other, FOLDER)


def test_an_option_that_is_new_since_the_run_began_counts_as_different() -> None:
    manifest = written(plan_of())
    del manifest["identity"]["options"]["prompt_key"]
    with pytest.raises(PlanError, match="prompt_key differs"):
        check_same_run(manifest, plan_of(), FOLDER)


def test_other_data_is_another_run() -> None:
    with pytest.raises(PlanError, match="data of task 'list' changed since this run began"):
        check_same_run(written(plan_of(ListTask(docs(3)))), plan_of(ListTask(docs(4))), FOLDER)


def test_changed_sources_are_found_and_are_no_other_run() -> None:
    before, after = plan_of(ListTask(docs(3), source="v1")), plan_of(ListTask(docs(3), source="v2"))
    manifest = written(before)
    check_same_run(manifest, after, FOLDER)
    assert changed_tasks(manifest, before) == set()
    assert changed_tasks(manifest, after) == {"list"}
    going_on = continued(manifest | {"status": "interrupted", "ended": "2024", "seconds": 7.5}, after)
    assert (going_on["status"], going_on["ended"], going_on["seconds"]) == ("running", None, 7.5)
    assert changed_tasks(going_on, after) == set()


@pytest.mark.parametrize("name", sorted(set(RunOptions.model_fields) - {"output", "is_restart"}))
def test_every_option_comes_back_from_the_manifest(name: str) -> None:
    options = RunOptions.make({name: OTHER_VALUES[name]})
    back = options_of(written(plan_of(**{name: OTHER_VALUES[name]})), Path("/runs/one"))
    assert back == options.model_copy(update={"output": Path("/runs/one")})


def test_a_run_that_was_started_over_is_not_started_over_again() -> None:
    assert not options_of(written(plan_of(is_restart=True)), Path("/runs/one")).is_restart


def test_secrets_are_never_written_and_other_arguments_are() -> None:
    arguments = {
        "api_key": "sk-1234",
        "hf_token": "hf-1234",
        "password": "pw-1234",
        "max_new_tokens": 5,
        "tokenizer": "org/tokenizer",
        "keypoints": "yes",
        "token": True,
    }
    manifest = written(plan_of(spec=ModelSpec("hf", "m", arguments)))
    assert "1234" not in json.dumps(manifest)
    assert manifest["model"]["spec"]["args"] == {
        **arguments,
        **dict.fromkeys(["api_key", "hf_token", "password"], "***"),
    }


def test_the_manifest_names_the_model_tasks_and_where_the_journal_is() -> None:
    plan = plan_of(spec=ModelSpec("hf", "org/m"), judge="j", limit=2, data={"id": "/x"})
    manifest = json.loads(json.dumps(new_manifest(plan, replace(FOLDER, journal_dir=Path("/local")), "typed")))
    assert manifest["model"]["name"] == "hf:org/m"
    assert manifest["roles"]["judge"]["identity"] == {"backend": "j"}
    assert manifest["command"] == "typed"
    assert manifest["journal_dir"] == "/local"
    assert manifest["data"] == {"id": "/x"}
    (task,) = manifest["tasks"]
    assert (task["name"], task["source_hash"], task["n_rows"], task["n_samples"]) == ("list", "v1", 3, 2)


def test_identity_is_of_models_roles_tasks_and_options() -> None:
    one, two = ListTask(docs(2), name="one"), ListTask(docs(2), name="two")
    base = identity_of(plan_of(one, two))
    assert base == identity_of(plan_of(two, one)), "the order of playing changes no number"
    assert base != identity_of(plan_of(one))
    prints = model_fingerprints(plan_of(one, judge="j"))
    assert set(prints) == {"model", "own_prompt", "judge"}
    assert prints["model"] == model_fingerprints(plan_of(one))["model"]
    assert prints["model"] != model_fingerprints(plan_of(one, identity="n"))["model"]


def test_a_new_run_never_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("polymeter.run.finish.manifest.time.strftime", lambda _: "20240101-120000")
    plan = plan_of(ListTask(docs(1), name="mme*"), spec=ModelSpec("hf", "org/model-7B"))
    first = default_folder(plan)
    assert first == Path("runs/hf_org_model_7B-mme_-20240101-120000")
    assert first.is_dir(), "the place is taken at once, so two runs begun in one second do not share it"
    assert [default_folder(plan).name for _ in range(2)] == [f"{first.name}-2", f"{first.name}-3"]
    many = plan_of(ListTask(docs(1), name="a"), ListTask(docs(1), name="b"))
    assert default_folder(many).name == "MockBatch-2_tasks-20240101-120000"
