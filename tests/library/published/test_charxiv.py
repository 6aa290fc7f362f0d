"""CharXiv: prompts are the official ones, and a judge's reply without a verdict is no zero."""

from __future__ import annotations

from tests.library.published.kit import cases_of, code_of


def test_prompts_of_the_model_and_of_the_judge_are_the_official_ones() -> None:
    charxiv = code_of("charxiv")
    for case in cases_of("charxiv_reasoning")["rows"]:
        if case["prompt"] is not None:
            assert charxiv.doc_to_text(case["row"]) == case["prompt"]
        assert charxiv.grading_prompt(case["row"], case["answer"]) == case["grading"]
