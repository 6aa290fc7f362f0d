"""Text as the viewer shows it: nothing is hidden, nothing acts, and what can be copied is what was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.report.content.outcome import compare
from polymeter.report.content.text import FOLDED_FROM, SHOWN_AT_MOST, SHOWN_FIRST, visible


def runs(text: str, **more) -> list[tuple[str, str]]:
    return [(run.text, run.kind) for run in visible(text, **more).runs]


def test_plain_text_is_one_run():
    assert runs("What is 2 + 2?\nFour.") == [("What is 2 + 2?\nFour.", "")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" a", [(" ", "blank"), ("a", "")]),
        ("a  ", [("a", ""), ("  ", "blank")]),
        ("a \nb", [("a", ""), (" ", "blank"), ("\nb", "")]),
        ("a\tb", [("a", ""), ("\t", "tab"), ("b", "")]),
        ("a\n", [("a", ""), ("\n", "break")]),
        ("\n\na", [("\n\n", "break"), ("a", "")]),
        ("a  b", [("a  b", "")]),
        ("a \r\nb", [("a", ""), (" ", "blank"), ("CR", "name"), ("\nb", "")]),
    ],
)
def test_white_space_that_nobody_would_see_is_marked_and_kept(text, expected):
    assert runs(text) == expected


@pytest.mark.parametrize(
    ("character", "name"),
    [
        *(("\x00", "NUL"), ("\x07", "BEL"), ("\x1b", "ESC"), ("\x7f", "DEL"), ("\u202e", "RLO"), ("\u2066", "LRI")),
        *(("\u200b", "ZWSP"), ("\ufeff", "BOM"), ("\u00a0", "NBSP"), ("\ud83d", "U+D83D"), ("\U000e0041", "U+E0041")),
    ],
)
def test_characters_that_act_or_hide_are_named(character, name):
    (_, run, _) = visible(f"a{character}b").runs
    assert (run.text, run.kind) == (name, "name")
    assert run.title.startswith(f"U+{ord(character):04X} ")


def test_a_joiner_stays_where_it_joins():
    assert runs("👩\u200d💻") == [("👩\u200d💻", "")]
    assert runs("क्\u200dष") == [("क्\u200dष", "")]
    assert ("ZWJ", "name") in runs("pass\u200dword")


@given(st.text(max_size=300))
def test_nothing_is_lost_but_what_has_a_name(text):
    shown = visible(text)
    kept = "".join(run.text for run in (*shown.runs, *shown.folded) if run.kind != "name")
    named = sum(run.kind == "name" for run in (*shown.runs, *shown.folded))
    assert len(kept) + named == len(text)
    assert not {"\u202e", "\u2066", "\x00", "\u200b"} & set(kept)


def test_a_long_text_is_folded_and_a_huge_one_cut_with_its_count():
    assert visible("x" * FOLDED_FROM).folded == ()
    long = visible("x" * (FOLDED_FROM + 1))
    assert (len(long.runs[0].text), long.n_folded) == (SHOWN_FIRST, FOLDED_FROM + 1 - SHOWN_FIRST)
    assert visible("x" * (SHOWN_AT_MOST + 17)).n_left_out == 17
    lines = visible("line\n" * 400)
    assert lines.runs[0].text.count("\n") == 80
    assert lines.n_folded == 5 * 320


def test_changes_are_marked_through_folds_and_names():
    shown = visible("one two\u200b three", ((4, 8, "missed"),))
    assert [(run.text, run.change) for run in shown.runs] == [
        ("one ", ""),
        ("two", "missed"),
        ("ZWSP", "missed"),
        (" three", ""),
    ]
    across = visible("x" * 7000, ((3990, 4010, "added"),))
    assert [run.change for run in across.runs] == ["", "added"]
    assert [(run.change, len(run.text)) for run in across.folded] == [("added", 10), ("", 2990)]


@pytest.mark.parametrize("text", [" " * 100_000 + "x", "\t" * 100_000, "\n" * 100_000, "\u202e " * 50_000])
def test_hostile_white_space_takes_no_time_that_grows_with_its_square(text):
    assert sum(len(run.text) if run.kind != "name" else 1 for run in visible(text).runs) > 0


@pytest.mark.parametrize(
    ("target", "answer", "verdict"),
    [
        ("Paris", "Paris", "identical"),
        ("a  b", "a b\n", "equal but for white space"),
        ("Paris", "PARIS", "equal but for letter case"),
        ("word " * 5000, "other " * 5000, "too long to mark the differences"),
    ],
)
def test_target_and_answer_are_compared_in_words(target, answer, verdict):
    assert compare(target, answer)[2] == verdict


def test_what_differs_is_marked_on_both_sides():
    target, answer = "the red ball rolls", "the blue ball rolls away"
    missed, added, verdict = compare(target, answer)
    assert [target[start:stop] for start, stop, _ in missed] == ["red"]
    assert [answer[start:stop].strip() for start, stop, _ in added] == ["blue", "away"]
    assert verdict == ""


def test_texts_that_share_nothing_are_not_marked_all_over():
    assert compare("apples and pears", "42") == ((), (), "")


@given(st.text(max_size=60), st.text(max_size=60))
def test_spans_lie_in_their_texts_in_order(target, answer):
    for text, spans in zip((target, answer), compare(target, answer)[:2], strict=True):
        places = [place for start, stop, _ in spans for place in (start, stop)]
        assert places == sorted(places)
        assert all(0 <= place <= len(text) for place in places)
        visible(text, spans)
