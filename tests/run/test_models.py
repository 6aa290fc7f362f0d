"""From a model's name to a model: every wrong argument is named before anything is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.model import BatchModel, ModelSpec, ModelTraits
from polymeter.core.names.registry import Registry, Target
from polymeter.core.request import Request, Response
from polymeter.run.plan import models
from polymeter.run.plan.models import check_model, make_model, parse_model


class Plain(BatchModel):
    """Takes a name and settings."""

    traits = ModelTraits("plain")

    def __init__(self, name: str, dtype: str = "auto", device: str = "cpu") -> None:
        if dtype == "bad":
            raise ValueError("no such dtype")
        self.settings = {"name": name, "dtype": dtype, "device": device}

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.settings

    def respond(self, requests: list[Request]) -> list[Response]:
        return [Response.of_text("x") for _ in requests]


class Nameless(Plain):
    """Takes nothing."""

    def __init__(self) -> None:
        super().__init__("none")


def anything(**settings: Any) -> Plain:
    """Takes whatever it is given."""
    made = Plain("any")
    made.settings = settings
    return made


def keyed(path: str, *, secret: int) -> Plain:
    """Needs two arguments."""
    return Plain(f"{path}{secret}")


@pytest.fixture(autouse=True)
def shelf(monkeypatch: pytest.MonkeyPatch) -> Registry[Any]:
    made: Registry[Any] = Registry(
        "model",
        {
            "plain": Target(Plain, "here"),
            "nameless": Target(Nameless, "here"),
            "anything": Target(anything, "here"),
            "keyed": Target(keyed, "here"),
            "wrong": Target(lambda: object(), "here"),
        },
    )
    monkeypatch.setattr(models, "MODELS", made)
    return made


def made(text: str, weights: Mapping[str, str] | None = None, *, path: str = "", **args: Any) -> dict[str, Any]:
    return dict(make_model(parse_model(text, path=path, args=args), weights or {}).identity)


def test_a_name_is_what_follows_the_first_colon() -> None:
    assert parse_model("plain:org/model:tag") == ModelSpec("plain", "org/model:tag")
    assert parse_model("nameless", args={"a": 1}, path="x.py") == ModelSpec("nameless", "", {"a": 1}, "x.py")


def test_an_unknown_backend_names_the_nearest() -> None:
    with pytest.raises(PlanError, match=r"no model 'plane'.*'plain'"):
        parse_model("plane:org/model")


def test_a_model_is_made_with_its_name_and_arguments() -> None:
    assert made("plain:org/model", dtype="float16") == {"name": "org/model", "dtype": "float16", "device": "cpu"}
    assert made("anything:n", path="m.py", what=3) == {"name": "n", "path": "m.py", "what": 3}


def test_local_weights_stand_in_for_a_name() -> None:
    assert made("plain:org/model", {"org/model": "/weights", "other": "/no"})["name"] == "/weights"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("plain:m", {"dtyp": "x"}, r"'plain' has no argument 'dtyp'.*\[--model-args\].*'dtype'"),
        ("plain:m", {"zzzz": "x"}, r"no argument 'zzzz'.*It takes: dtype, device\."),
        ("nameless", {"zzzz": "x"}, r"It takes: none\."),
        ("nameless:m", {}, r"'nameless' takes no name, but got 'm'.*Write --model nameless\."),
        ("plain", {}, r"'plain' needs 'name'.*Write --model plain:NAME\."),
        ("keyed", {"secret": 1}, r"'keyed' needs 'path'.*--model-args path=…"),
        ("keyed", {"path": "p"}, r"'keyed' needs 'secret'"),
        ("plain:m", {"dtype": "bad"}, r"Making model 'plain:m' raised ValueError: no such dtype"),
        ("wrong", {}, r"object is not a model.*polymeter\.BatchModel"),
    ],
)
def test_what_is_wrong_with_the_arguments_is_said(text: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        made(text, **arguments)


def test_a_path_for_a_model_that_takes_none_is_refused() -> None:
    with pytest.raises(PlanError, match="'plain' takes no --model-path"):
        made("plain:m", path="model.py")


def test_a_failure_to_make_one_is_attributed_to_its_code() -> None:
    with pytest.raises(PlanError) as caught:
        made("plain:m", dtype="bad")
    assert caught.value.where.startswith(__file__)


def test_a_model_given_as_an_object_is_checked() -> None:
    model = Plain("x")
    assert check_model(model) is model
    with pytest.raises(PlanError, match="str is not a model"):
        check_model("ocr")
    with pytest.raises(PlanError, match=r"Plain is a class of models.*Plain\(…\)"):
        check_model(Plain)
