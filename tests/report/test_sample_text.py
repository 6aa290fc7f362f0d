"""A sample whose line is passed on as text is the sample that is parsed, cut and written again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polymeter.report.extract import MAX_DEPTH, media_files, sample_data, script_json
from polymeter.report.sample_text import unchanged_text
from polymeter.report.scales import MainMetric
from polymeter.store.sample_line import SampleLine

MAIN = MainMetric("acc", "none", is_lower_better=False)
TEXTS = st.one_of(
    st.text(),
    st.sampled_from(['a "b"', "a\\b", "</script>", "\u2028", '","doc":', "],[{", "é✓", '"file":', "x" * 1600]),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda items: st.lists(items, max_size=4) | st.dictionaries(st.sampled_from(["a", "doc", "file", "é"]), items),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(["question", "doc", "exchanges", "image", "é"]), VALUES, max_size=3)
SCORES = st.lists(
    st.fixed_dictionaries(
        {"metric": st.sampled_from(["acc", "f1"]), "filter": st.sampled_from(["none", "strict"]), "value": VALUES}
    ),
    max_size=2,
)


def line(**changes: Any) -> str:
    """A line as the store writes them."""
    sample = {
        "id": "7",
        "index": 7,
        "subset": [],
        "cluster": None,
        "status": "ok",
        "error": None,
        "target": "4",
        "answer": "four",
        "explanation": None,
        "scores": [{"metric": "acc", "filter": "none", "value": 0.5}],
        "log": {},
        "doc": {"question": "What is 2 + 2?"},
        "exchanges": [EXCHANGE],
    }
    return json.dumps({**sample, **changes}, ensure_ascii=False, separators=(",", ":")) + "\n"


EXCHANGE = {
    "role": "model",
    "request": {
        "messages": [{"role": "user", "parts": [{"text": "What is 2 + 2?"}]}],
        "ask": {"kind": "generate", "max_new_tokens": 16, "stop": ["\n"], "seeds": [1]},
    },
    "response": {"outputs": [{"text": "four", "finish_reason": "stop", "usage": [5, 1, None]}], "latency_ms": 0.125},
}


def as_text(text: str) -> str | None:
    texts = SampleLine(text).texts()
    return None if texts is None else unchanged_text(texts, 3, MAIN)


def parsed(text: str) -> str:
    return script_json(sample_data(json.loads(text), 3, MAIN))


@given(
    OBJECTS,
    OBJECTS,
    st.lists(OBJECTS, max_size=2),
    SCORES,
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.lists(TEXTS, max_size=2),
    TEXTS,
)
def test_both_ways_give_one_text(
    doc: dict[str, Any],
    log: dict[str, Any],
    exchanges: list[Any],
    scores: list[Any],
    target: str | None,
    answer: str | None,
    subset: list[str],
    name: str,
) -> None:
    text = line(
        doc=doc, log=log, exchanges=exchanges, scores=scores, target=target, answer=answer, subset=subset, id=name
    )
    quick = as_text(text)
    if quick is not None:
        assert quick == parsed(text)
        assert [*media_files(json.loads(text))] == []


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"subset": ["a", "b"], "cluster": "c", "explanation": "</script><!--"},
        {"answer": None, "target": None, "scores": [], "exchanges": []},
        {"log": {"said": [1, 2]}, "doc": {"choices": ["é", "]}", "\\"], "answer": 2}},
    ],
)
def test_usual_samples_are_not_parsed(changes: dict[str, Any]) -> None:
    text = line(**changes)
    assert as_text(text) == parsed(text)


def deep(levels: int) -> dict[str, Any]:
    return {"a": [deep(levels - 2)]} if levels > 2 else {"a": {}}


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "error", "error": {"kind": "data", "message": "gone"}, "scores": []},
        {"doc": {"question": "x" * 1501}},
        {"answer": "x" * 6001},
        {"doc": {"numbers": [*range(61)]}},
        {"doc": deep(MAX_DEPTH + 2)},
        {"doc": {"a": 1, "doc": 2}},
        {"log": {"said": {"a": 1, "exchanges": []}}},
        {"log": {"image": {"image": {"file": "a.png"}}}},
        {"exchanges": [{**EXCHANGE, "response": {"outputs": [{"images": ["a.png"]}]}}]},
        {"scores": [{"metric": "acc", "filter": "none", "value": "NaN"}]},
        {"judge_calls": ["c"], "judge_rules": ["last line"]},
        {"id": "half \ud800"},
    ],
)
def test_what_is_cut_or_has_media_is_parsed(changes: dict[str, Any]) -> None:
    text = line(**changes)
    if changes.get("id"):
        text = text.replace("\ud800", "\\ud800")
    if "judge_calls" in changes:  # as the store orders them
        text = text.replace(',"judge_calls":["c"],"judge_rules":["last line"]', "").replace(
            '"log":{}', '"log":{},"judge_calls":["c"],"judge_rules":["last line"]'
        )
    assert as_text(text) is None


def test_depth_is_told_exactly() -> None:
    whole = line(doc=deep(MAX_DEPTH))
    assert as_text(whole) == parsed(whole)
    assert as_text(line(doc=deep(MAX_DEPTH + 2))) is None
