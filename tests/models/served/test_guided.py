"""Guided choices in each server's own words, which are those of its documentation.

vLLM, *Structured Outputs*: ``guided_choice`` until 0.10, ``structured_outputs`` afterwards. SGLang, *Structured
Outputs*: ``regex``. llama.cpp, *GBNF Guide*: ``root ::= "a" | "b"``.
"""

from __future__ import annotations

import re

import pytest

from polymeter.models.served.guided import as_grammar, as_guided, as_regex

CHOICES = ["A", 'say "no"', "1.5 (or so)"]


@pytest.mark.parametrize("version", ["0.11.0", "0.30.1", "1.0.0", "unknown", ""])
def test_vllm_s_present_name(version: str) -> None:
    assert as_guided(CHOICES, version) == {"structured_outputs": {"choice": CHOICES}}


@pytest.mark.parametrize("version", ["0.8.5.post1", "0.10.2"])
def test_vllm_s_earlier_name(version: str) -> None:
    assert as_guided(CHOICES, version) == {"guided_choice": CHOICES}


def test_sglang_s_expression_matches_the_choices_and_nothing_else() -> None:
    expression = as_regex(CHOICES, "")["regex"]
    assert all(re.fullmatch(expression, choice) for choice in CHOICES)
    assert not re.fullmatch(expression, "1x5 (or so)")


def test_llama_cpp_s_grammar_lists_literals() -> None:
    assert as_grammar(CHOICES, "") == {"grammar": 'root ::= "A" | "say \\"no\\"" | "1.5 (or so)"'}
