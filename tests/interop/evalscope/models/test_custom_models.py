"""What makes two objects of a user's one model."""

from typing import Any

import pytest

from polymeter.core.content import Text
from polymeter.core.request import Generate, Message, Request
from polymeter.interop.evalscope.models.custom import CustomBackend, CustomModel, DummyCustomModel


class Own(DummyCustomModel):
    """A user's class that builds on ours."""


def test_the_dummy_keeps_the_identity_under_which_journals_hold_its_answers() -> None:
    identity = CustomBackend(DummyCustomModel()).identity
    assert identity["class"] == "polymeter.models.custom.DummyCustomModel"
    assert identity["sources"] == "321489a0889820274f20d2b112f09588"


def test_a_users_class_is_known_by_its_place_its_source_and_its_settings() -> None:
    identity = CustomBackend(Own({"model_id": "a"})).identity
    assert identity["class"] == f"{__name__}.Own"
    assert len(identity["sources"]) == 32
    assert identity["sources"] != CustomBackend(DummyCustomModel()).identity["sources"]
    assert identity["config"] != CustomBackend(Own({"model_id": "b"})).identity["config"]
    assert identity == CustomBackend(Own({"model_id": "a"})).identity


def test_a_class_that_was_written_in_no_file_is_known_by_its_name() -> None:
    names: dict[str, type] = {}
    exec("class Typed(Base):\n    def predict(self, prompts, **kwargs): return []\n", {"Base": CustomModel}, names)
    assert CustomBackend(names["Typed"]()).identity["sources"] == "Typed"


@pytest.mark.parametrize("content", [4, {"text": "four"}, ["four"], None])
def test_what_is_no_text_is_no_answer(content: Any) -> None:
    class Odd(CustomModel):
        def predict(self, prompts: list[Any], **kwargs: Any) -> list[dict[str, Any]]:
            return [{"choices": [{"message": {"content": content}}], "usage": {"prompt_tokens": "many"}}] * len(prompts)

    request = Request((Message("user", (Text("q"),)),), Generate())
    (response,) = CustomBackend(Odd()).respond([request])
    assert response.error is not None
    assert "choices[0].message.content" in response.error.message
