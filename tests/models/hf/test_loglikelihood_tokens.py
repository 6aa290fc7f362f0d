"""Where contexts end and continuations begin, on tokens that tests write by hand."""

from __future__ import annotations

from polymeter.models.hf.scoring.score_tokens import Split, Tail, move_white_space, split


def test_continuations_that_join_nothing_share_the_whole_context() -> None:
    found = split([1, 2, 3], [1, 2, 3], [[1, 2, 3, 7], [1, 2, 3, 8, 9]])

    assert found == Split(3, 0, (Tail((7,)), Tail((8, 9))))
    assert [tail.n_scored for tail in found.tails] == [1, 2]


def test_where_one_continuation_joins_the_context_all_read_its_last_token_again() -> None:
    found = split([1, 2, 3], [1, 2, 3], [[1, 2, 30, 31], [1, 2, 3, 8]])

    assert found == Split(3, 1, (Tail((30, 31), 1), Tail((3, 8), 1)))
    assert [tail.n_scored for tail in found.tails] == [1, 1]


def test_a_continuation_that_went_into_the_last_token_is_that_token() -> None:
    found = split([1, 2, 3], [1, 2, 3], [[1, 2, 30]])

    assert found.tails == (Tail((30,), 0),)


def test_white_space_of_the_context_is_scored_with_the_continuation() -> None:
    encoded, context = [1, 2, 5], [1, 2]  # 5 is the space

    found = split(encoded, context, [[1, 2, 57], [1, 2, 5, 8]])

    assert found == Split(3, 1, (Tail((57,)), Tail((5, 8))))


def test_a_context_that_reads_otherwise_without_its_white_space() -> None:
    found = split([1, 25], [1, 2], [[1, 2, 58]])

    assert found == Split(2, 1, (Tail((2, 58), 1),))


def test_an_empty_continuation_has_no_tokens() -> None:
    found = split([1, 2, 3], [1, 2, 3], [[1, 2, 3], [1, 2, 3, 4]])

    assert found.tails == (Tail(()), Tail((4,)))
    assert found.tails[0].n_scored == 0


def test_an_empty_context_and_no_continuations() -> None:
    assert split([], [], [[4, 5]]) == Split(0, 0, (Tail((4, 5)),))
    assert split([1], [1], []) == Split(1, 0, ())


def test_all_white_space_moves_from_plain_text_and_only_spaces_from_a_template() -> None:
    assert move_white_space("Answer: \n", is_templated=False) == ("Answer:", " \n")
    assert move_white_space("ASSISTANT: ", is_templated=True) == ("ASSISTANT:", " ")
    assert move_white_space("assistant\n", is_templated=True) == ("assistant\n", "")
    assert move_white_space("Answer:", is_templated=False) == ("Answer:", "")
