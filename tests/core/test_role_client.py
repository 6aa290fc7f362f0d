"""Whether a run has a model in a role."""

from __future__ import annotations

from polymeter.core.guest_context import answering_through, has_role
from polymeter.core.request import Request, Response
from polymeter.core.role_client import no_role_client


class JudgeClient:
    roles = ("judge",)

    def __call__(self, role: str, request: Request) -> Response:
        return Response.of_text("")


def test_a_role_is_filled_if_the_role_client_says_so() -> None:
    assert not has_role("judge")
    with answering_through(JudgeClient()):
        assert has_role("judge")
        assert not has_role("critic")
    with answering_through(no_role_client):
        assert not has_role("judge")
