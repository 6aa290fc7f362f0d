"""Constants that published code compares with are, to the byte, those of ULMEvalKit and VLMEvalKit."""

from __future__ import annotations

import json

from polymeter.core.guest_context import answering_through
from polymeter.core.request import Error, Request, Response
from polymeter.interop.ulmeval.models.base import BaseAPI
from polymeter.interop.ulmeval.shim.ulmeval.api.gpt import GPT4V, OpenAIWrapper
from polymeter.tasks.table.predictions import FAILED
from tests.conformance.kit import differing_constants


class Unavailable:
    """A role client whose judge cannot be reached."""

    roles = frozenset({"judge"})

    def __call__(self, role: str, request: Request) -> Response:
        return Response(error=Error("transient", "The endpoint is down."))

    def refuse(self, why: str) -> None:
        raise AssertionError(why)


def test_constants_are_the_same_to_the_byte() -> None:
    assert differing_constants("ulmeval") == {}


def test_a_failed_call_gives_the_text_that_classes_compare_with() -> None:
    """Each published class defines this text itself, and drops what equals it or contains it."""
    published = "Failed to obtain answer via API."
    assert BaseAPI().fail_msg == OpenAIWrapper().fail_msg == GPT4V("gpt-4o").fail_msg == published
    assert OpenAIWrapper("gpt-4o", fail_msg="nothing").fail_msg == "nothing"
    assert published == FAILED
    with answering_through(Unavailable()):
        answer = OpenAIWrapper("gpt-4o").generate("Is it red?")
    assert answer == published


def test_a_judge_without_an_answer_is_filtered_by_equality() -> None:
    verdicts = ['{"score": 8}', OpenAIWrapper().fail_msg, '{"score": 4}']
    kept = [json.loads(text)["score"] for text in verdicts if text != "Failed to obtain answer via API."]
    assert kept == [8, 4]
