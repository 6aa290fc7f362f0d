"""Requests and responses as data, and the current RoleClient."""

from __future__ import annotations

import pickle
import threading

import pytest

from polymeter.core.content import Audio, Image, Text
from polymeter.core.errors import ModelError, PlanError
from polymeter.core.guest_context import answering_through, current_role_client
from polymeter.core.model import ModelSpec
from polymeter.core.request import Error, Generate, Message, Origin, Request, Response
from polymeter.core.role_client import no_role_client
from polymeter.core.task import SampleStatus
from tests.helpers.tasks import ask

TALK = Request(
    (
        Message("system", (Text("Be brief."),)),
        Message("user", (Text("a"), Image(b"1"), Text("b"), Audio(b"2"))),
        Message("assistant", (Image(b"3"),)),
    ),
    Generate(),
)


def test_a_request_gives_its_text_and_media_in_order() -> None:
    assert TALK.text == "Be brief.\n\nab"
    assert TALK.messages[1].text == "ab"
    assert [medium.source for medium in TALK.media()] == [b"1", b"2", b"3"]
    assert [image.source for image in TALK.images()] == [b"1", b"3"]


def test_a_response_gives_its_text_or_says_why_it_has_none() -> None:
    assert Response.of_text("a", "b").text == "a"
    assert len(Response.of_text("a", "b").outputs) == 2
    with pytest.raises(ValueError, match="the model is down"):
        _ = Response.failed(ModelError("the model is down")).text
    with pytest.raises(ValueError, match="answers another kind of request"):
        _ = Response().text


def test_where_an_answer_came_from_does_not_make_it_another_answer() -> None:
    assert Response.of_text("a", is_cached=True) == Response.of_text("a")
    assert Response(error=Error("refused", "no")) != Response(error=Error("permanent", "no"))


def test_requests_cross_processes() -> None:
    request = Request((Message("user", (Text("a"),)),), Generate(stop=("x",)), Origin("t", "1"))
    assert pickle.loads(pickle.dumps(request)) == request


def test_names_as_users_write_them() -> None:
    assert str(ModelSpec("hf", "org/model")) == "hf:org/model"
    assert str(ModelSpec("ocr")) == "ocr"
    assert f"{SampleStatus.OK}" == "ok"


def test_a_role_without_a_model_is_refused() -> None:
    with pytest.raises(PlanError, match=r"role 'judge'.*--judge"):
        current_role_client()("judge", ask("?"))


def test_the_current_role_client_is_that_of_the_block_and_of_this_thread() -> None:
    def yes(role: str, request: Request) -> Response:
        return Response.of_text(f"{role}: yes")

    elsewhere: list[object] = []
    with answering_through(yes):
        assert current_role_client()("judge", ask("?")).text == "judge: yes"
        with answering_through(no_role_client):
            assert current_role_client() is no_role_client
        assert current_role_client() is yes
        thread = threading.Thread(target=lambda: elsewhere.append(current_role_client()))
        thread.start()
        thread.join()
    assert current_role_client() is no_role_client
    assert elsewhere == [no_role_client]
