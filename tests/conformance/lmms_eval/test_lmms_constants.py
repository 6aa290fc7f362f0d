"""Constants that published code compares with are, to the byte, those of lmms-eval 0.7.2."""

from __future__ import annotations

from tests.conformance.kit import differing_constants


def test_constants_are_the_same_to_the_byte() -> None:
    assert differing_constants("lmms_eval") == {}
