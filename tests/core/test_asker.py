"""Whether there is somebody to ask."""

from __future__ import annotations

from polymeter.core.asker import asking_through, has_role, no_asker
from polymeter.core.request import Request, Response


class Knowing:
    roles = ("judge",)

    def __call__(self, role: str, request: Request) -> Response:
        return Response.of_text("")


def test_a_role_is_there_when_the_asker_says_so() -> None:
    assert not has_role("judge")
    with asking_through(Knowing()):
        assert has_role("judge")
        assert not has_role("critic")
    with asking_through(no_asker):
        assert not has_role("judge")
