"""Constants that published code compares with are, to the byte, those of EvalScope 0.17.0."""

from __future__ import annotations

from tests.conformance.kit import differing_constants


def test_constants_are_the_same_to_the_byte() -> None:
    assert differing_constants("evalscope") == {}
