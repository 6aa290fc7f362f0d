"""A line whose score is passed on as text is the line of a score that is parsed and written again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.core.task import SampleStatus, Score
from polymeter.store import export
from polymeter.store.journal import SampleRow
from polymeter.store.score_texts import score_texts
from polymeter.store.wire import write_score

TEXTS = st.one_of(
    st.none(), st.text(), st.sampled_from(['a "b"', "a\\b", "\n\t\b\f/", "\x01", "\ud800", "],[", "{}", "✓"])
)
NUMBERS = st.one_of(st.floats(), st.integers(), st.booleans(), st.none())
VALUES = st.dictionaries(st.tuples(st.text(), st.text()), st.one_of(NUMBERS, st.lists(NUMBERS), TEXTS), max_size=3)


def row(body: str, name: str = "7", subset: tuple[str, ...] = (), cluster: str | None = None) -> SampleRow:
    return SampleRow(3, name, subset, cluster, SampleStatus.OK, None, None, "d", True, body)


LOGS = st.recursive(
    st.one_of(NUMBERS, TEXTS), lambda items: st.lists(items) | st.dictionaries(st.text(), items), max_leaves=4
)
LOGS_BY_NAME = st.one_of(st.just({}), st.dictionaries(st.text(), LOGS, max_size=2))


@given(VALUES, TEXTS, TEXTS, TEXTS, LOGS_BY_NAME, st.text(), st.lists(st.text(), max_size=2), TEXTS, st.booleans())
def test_both_ways_give_one_text(
    values: dict[tuple[str, str], Any],
    target: str | None,
    answer: str | None,
    explanation: str | None,
    log: dict[str, Any],
    name: str,
    subset: list[str],
    cluster: str | None,
    is_strict: bool,
) -> None:
    of = row(write_score(Score(values, target, answer, explanation, log)).body, name, tuple(subset), cluster)
    assert export._head(of, is_strict) == export._parsed_head(of, is_strict)


@pytest.mark.parametrize(
    "score",
    [
        Score({("exact_match", "none"): 0.0}, "4", "mock"),
        Score({("acc", "none"): 1, ("anls", "none"): 1e-07}, 'it\'s "4"', "a\nb", "how compared: rules"),
        Score({("acc", "none"): 1.0, ("review", "none"): [0, "b"]}, "4", log={"reviews": [{"gold": "4"}]}),
        Score({}, "4"),
    ],
)
def test_usual_scores_are_not_parsed(score: Score) -> None:
    assert score_texts(write_score(score).body) is not None


@pytest.mark.parametrize(
    "body",
    [
        '{"values":[["acc","none",NaN]]}',  # no JSON for others
        '{"values":[["acc","none",0.0]],"answer":"\\u00e9"}',  # as no encoder writes it today
        '{"values":[["acc","none",0.0]],"log":{"k":NaN}}',
        '{"values":[["acc","none",0.0]],"log":{"k":{"__polymeter__":"tuple","v":[1]}}}',
        '{"values":[["acc","none",0.0]],"log":{"k":{}},"judge_calls":["c"]}',
        '{"values": [["acc", "none", 0.0]]}',
        '{"values":[["acc","none",[[0.0]]]]}',
    ],
)
def test_what_may_be_written_otherwise_is_parsed(body: str) -> None:
    assert score_texts(body) is None
    assert json.loads(f"{export._head(row(body), is_strict=True)}}}")["status"] == "ok"
