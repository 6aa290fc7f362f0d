"""Which columns say what, by their names."""

from __future__ import annotations

import pytest

from polymeter.tasks.guessed.columns import PROMPTS, TARGETS, has_usual_columns, roles_of


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("target", TARGETS)
def test_each_name_of_a_prompt_goes_with_each_of_a_target(prompt: str, target: str) -> None:
    roles = roles_of(["id", target, prompt])
    assert (roles.prompt, roles.target, roles.unused) == (prompt, target, ())


@pytest.mark.parametrize(
    ("columns", "prompt", "unused"),
    [
        (["prompt", "question", "answer"], "question", ("prompt",)),
        (["input", "text", "query", "answer"], "text", ("query", "input")),
        (["question", "answer", "label", "solution"], "question", ("label", "solution")),
    ],
)
def test_of_several_the_first_name_counts_and_the_others_are_named(
    columns: list[str], prompt: str, unused: tuple[str, ...]
) -> None:
    roles = roles_of(columns)
    assert (roles.prompt, roles.target) == (prompt, "answer")
    assert roles.unused == unused


def test_capitals_and_blanks_do_not_count() -> None:
    roles = roles_of([" Question", "ANSWER ", "Image"])
    assert (roles.prompt, roles.target, roles.media) == (" Question", "ANSWER ", ("Image",))


@pytest.mark.parametrize(
    ("columns", "lettered"),
    [
        (["A", "B"], ("A", "B")),
        (["D", "C", "B", "A"], ("A", "B", "C", "D")),
        (["A", "B", "D"], ("A", "B")),
        (["A"], ()),
        (["B", "C"], ()),
        (["a", "b"], ()),
        (["option_a", "option_b", "option_c"], ("option_a", "option_b", "option_c")),
        (["choice_A", "choice_B"], ("choice_A", "choice_B")),
    ],
)
def test_options_have_a_column_for_each_letter(columns: list[str], lettered: tuple[str, ...]) -> None:
    assert roles_of(["question", "answer", *columns]).lettered == lettered


def test_a_list_of_options_comes_before_columns_of_letters() -> None:
    roles = roles_of(["question", "choices", "A", "B", "answer"])
    assert (roles.options, roles.lettered) == ("choices", ())


@pytest.mark.parametrize("columns", [["question"], ["answer"], ["country", "capital"], [], ["questions", "reply"]])
def test_a_table_needs_a_prompt_and_a_target(columns: list[str]) -> None:
    assert not has_usual_columns(columns)
