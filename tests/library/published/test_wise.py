"""WISE: the judge is asked with the official words."""

from __future__ import annotations

import pytest

from polymeter.core.errors import ScoreError
from tests.library.published.kit import cases_of, code_of


def test_the_prompt_of_the_judge_is_the_official_one() -> None:
    wise = code_of("wise")
    for case in cases_of("wise")["rows"]:
        assert wise.grading_prompt(case["row"]) == case["grading"]


def test_a_prompt_of_an_unknown_kind_is_an_error_of_the_sample() -> None:
    wise = code_of("wise")
    assert wise.kind_of(1000) == "chemistry"
    with pytest.raises(ScoreError, match="no prompt 1001"):
        wise.kind_of(1001)
