"""Metrics that a task names: their arguments, their errors, and the packages that they are compared with."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.metric import Metric
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.metrics import aggregation_of, check_kwargs
from polymeter.metrics.corpus.cider import cider_scores
from polymeter.metrics.corpus.error_rates import corpus_cer, corpus_wer
from polymeter.metrics.tables.html_table import read_table
from polymeter.metrics.tables.teds import teds
from polymeter.metrics.tables.tree_edit import tree_distance
from polymeter.metrics.values.json_equal import json_equal
from polymeter.metrics.values.numeric import numeric
from polymeter.metrics.values.relaxed import relaxed_accuracy
from polymeter.metrics.vqa import relaxed_match
from tests.metrics import naive

CHINESE = [("我昨天在北京的图书馆里看了三本新书。", "我昨天在北京图书馆里看了三本新书。")]


def planned(name: str, **kwargs: Any) -> Metric:
    """Check a metric's arguments as a task's are before the first request."""
    metric: Metric = METRICS.get(name)
    check_kwargs(metric, kwargs)
    if metric.check is not None:
        metric.check(**kwargs)
    aggregation_of(metric, kwargs, AGGREGATIONS.get)
    return metric


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("relaxed_accuracy", {"tolerance": -1}, "Give a number of at least 0"),
        ("relaxed_accuracy", {"tolerence": 0.1}, "Did you mean 'tolerance'?"),
        ("relaxed_accuracy", {"exact_years": "yes"}, "Write true or false"),
        ("numeric", {"where": "lst"}, "Did you mean 'last'?"),
        ("numeric", {"absolute": "0.1"}, "Give a number"),
        ("json_equal", {"keys": 3}, "Give a list of names"),
        ("json_equal", {"keys": []}, "Give a list of names"),
        ("iou", {"threshold": 50}, "Give a number from 0 to 1"),
        ("iou", {"format": "xywx"}, "Did you mean 'xywh'?"),
        ("iou", {"reference_scale": "pixels"}, "Add 'scale'"),
        ("iou@0.5", {"threshold": 0.3}, "It accepts format"),
        ("point_in_box", {}, "has no scale"),
        ("point_in_box", {"scale": "pixel"}, "Did you mean 'pixels'?"),
        ("corpus_wer", {"normalizer": "whisper"}, "Did you mean 'whisper_english'?"),
        ("corpus_wer", {"normalizer": "chinese"}, "Use corpus_cer"),
        ("bleu", {"tokenize": "ja-mecb"}, "Did you mean 'ja-mecab'"),
        ("bleu", {"tokenise": "zh"}, "Did you mean 'tokenize'?"),
        ("bleu", {"lowercase": 1}, "Write true or false"),
        ("chrf", {"word_order": 2.5}, "Give a whole number from 0 to 100"),
        ("ter", {"normalized": "no"}, "Write true or false"),
        ("rouge1", {"tokenizer": "char"}, "Did you mean 'chars'?"),
        ("cider", {"tokenizer": "char"}, "Did you mean 'chars'?"),
        ("teds", {"structure": True}, "Did you mean 'structure_only'?"),
    ],
)
def test_a_bad_argument_is_a_plan_error(name: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        planned(name, **kwargs)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("relaxed_accuracy", {"tolerance": 0.1, "exact_years": True, "ignore_percent": True}),
        ("numeric", {"tolerance": 0, "absolute": 1e-3, "where": "last"}),
        ("json_equal", {"ignore_case": True, "keys": ["a"]}),
        ("iou", {"threshold": 0.5, "format": "xywh", "scale": "unit", "reference_scale": "pixels"}),
        ("point_in_box", {"scale": "thousand"}),
        ("corpus_cer", {"normalizer": "chinese"}),
        ("bleu", {"tokenize": "zh", "lowercase": True, "effective_order": True}),
        ("chrf", {"char_order": 6, "word_order": 2, "beta": 3}),
        ("ter", {"normalized": True, "no_punct": True, "asian_support": True, "case_sensitive": True}),
        ("rougeLsum", {"tokenizer": "words"}),
        ("cider", {"tokenizer": "chars"}),
        ("teds", {"structure_only": True}),
    ],
)
def test_good_arguments_pass(name: str, kwargs: dict[str, Any]) -> None:
    assert planned(name, **kwargs).name == name


@pytest.mark.parametrize(
    ("score", "reference", "answer", "message"),
    [
        (numeric, "many", "5", "'many' is not a number"),
        (json_equal, "{'a': 1}", "{}", "is not JSON"),
        (METRICS.get("iou").score, "the dog", "[1, 2, 3, 4]", "'the dog' has no box"),
        (METRICS.get("iou").score, "[1, 2, 3, 4], [5, 6, 7, 8]", "[1, 2, 3, 4]", "has 2 boxes"),
        (METRICS.get("point_in_box").score, "[5, 5]", "[5, 5]", "has no box"),
        (teds, "a | b", "<table></table>", "has no table"),
    ],
)
def test_an_unreadable_reference_is_an_error(
    score: Callable[..., float], reference: str, answer: str, message: str
) -> None:
    with pytest.raises(ScoreError, match=message.replace("|", r"\|")):
        score(references=[reference], predictions=[answer])
    with pytest.raises(ScoreError, match=message.replace("|", r"\|")):
        score(references=[reference], predictions=[""])


def test_keys_that_no_reference_has_are_an_error() -> None:
    with pytest.raises(ScoreError, match="has no key 'b'"):
        json_equal(['{"a": 1}'], ['{"a": 1}'], keys="b")


@pytest.mark.parametrize(
    ("name", "package"), [("ja-mecab", "MeCab"), ("ko-mecab", "mecab_ko"), ("flores200", "sentencepiece")]
)
def test_a_tokenizer_without_its_package_names_the_command(name: str, package: str, monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    for module in [one for one in sys.modules if one.startswith("sacrebleu.tokenizers.tokenizer_")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(PlanError, match="pip install"):
        planned("bleu", tokenize=name)


def test_chinese_bleu_is_that_of_sacrebleu() -> None:
    import sacrebleu

    golds, answers = zip(*CHINESE, strict=True)
    expected = sacrebleu.corpus_bleu(list(answers), [list(golds)], tokenize="zh").score
    metric = METRICS.get("bleu")
    found = aggregation_of(metric, {"tokenize": "zh"}, AGGREGATIONS.get)
    assert found.aggregate(CHINESE) == pytest.approx(expected)
    assert expected > 80
    assert AGGREGATIONS.get("bleu").aggregate(CHINESE) < 1


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("bleu", {"tokenize": "char", "lowercase": True}),
        ("bleu", {"tokenize": "intl", "effective_order": True}),
        ("chrf", {"word_order": 2, "char_order": 4, "beta": 3}),
        ("ter", {"normalized": True, "case_sensitive": True}),
    ],
)
def test_arguments_are_those_of_sacrebleu(name: str, kwargs: dict[str, Any]) -> None:
    from sacrebleu.metrics import BLEU, CHRF, TER

    pairs = [("The cat, it sat.", "the cat sat"), ("A dog", "A DOG barks!"), ("Red", "Red")]
    golds, answers = zip(*pairs, strict=True)
    scorer = {"bleu": BLEU, "chrf": CHRF, "ter": TER}[name](**kwargs)
    aggregation = aggregation_of(METRICS.get(name), kwargs, AGGREGATIONS.get)
    expected = scorer.corpus_score(list(answers), [list(golds)]).score
    assert aggregation.aggregate(pairs) == pytest.approx(expected)
    assert aggregation.name == name


def test_arguments_of_an_aggregation_that_the_task_replaces_are_an_error() -> None:
    with pytest.raises(PlanError, match="uses 'tokenize' only in its aggregation 'bleu'"):
        aggregation_of(METRICS.get("bleu"), {"tokenize": "zh"}, AGGREGATIONS.get, "chrf")


WORDS = st.lists(st.sampled_from("abc"), max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_cider_is_that_of_a_naive_implementation(pairs: list[tuple[str, str]]) -> None:
    scores = cider_scores(pairs)
    assert sum(scores) / len(scores) == pytest.approx(naive.cider(pairs), abs=1e-9)
    assert all(0 <= score <= 10 + 1e-9 for score in scores)


TREES = st.recursive(
    st.tuples(st.sampled_from("ab"), st.just(())),
    lambda inner: st.tuples(st.sampled_from("ab"), st.lists(inner, max_size=3).map(tuple)),
    max_leaves=6,
)


@dataclass
class Node:
    name: str
    children: list[Node] = field(default_factory=list)


def as_node(tree: naive.Tree) -> Node:
    return Node(tree[0], [as_node(child) for child in tree[1]])


def differ(first: Node, second: Node) -> float:
    return float(first.name != second.name)


@given(TREES, TREES)
@settings(max_examples=150, deadline=None)
def test_tree_distance_is_that_of_the_recursion(first: naive.Tree, second: naive.Tree) -> None:
    found = tree_distance(as_node(first), as_node(second), differ)
    assert found == naive.tree_distance(first, second)
    assert found == tree_distance(as_node(second), as_node(first), differ)


def test_a_deep_tree_needs_no_recursion() -> None:
    deep = Node("a")
    for _ in range(5000):
        deep = Node("a", [deep])
    assert tree_distance(deep, Node("a"), differ) == 5000
    table = read_table("<table>" + "<div>" * 5000)
    assert table is not None
    assert table.n_nodes == 5000


def random_table(draw: random.Random) -> str:
    def cell() -> str:
        span = draw.choice(("", "", ' colspan="2"', ' rowspan="2"'))
        return f"<td{span}>{draw.choice(('1.5', 'ab', '<b>x</b>y', '', 'a<br>b', '&amp;'))}</td>"

    def row() -> str:
        return "<tr>" + "".join(cell() for _ in range(draw.randint(1, 4))) + draw.choice(("</tr>", ""))

    head = f"<thead>{row()}</thead>" if draw.random() < 0.5 else ""
    return f"<html><body><table>{head}<tbody>{row()}{row()}</tbody></table></body></html>"


def test_a_table_is_read_as_lxml_reads_it() -> None:
    html = pytest.importorskip("lxml.html")
    draw = random.Random(0)
    for _ in range(100):
        text = random_table(draw)
        (root,) = html.document_fromstring(text).xpath("body/table")
        table = read_table(text)
        assert table is not None
        assert table.n_nodes == len(root.xpath(".//*"))
        cells = ["".join(cell.itertext()) for cell in root.iter("td")]
        assert [_text_of(node) for node in _cells(table.root)] == cells


def _cells(node: Any) -> list[Any]:
    return [node] if node.tag == "td" else [cell for child in node.children for cell in _cells(child)]


def _text_of(cell: Any) -> str:
    return "".join(token for token in cell.content if len(token) == 1)


@given(st.integers(-(10**6), 10**6), st.integers(0, 3))
def test_a_number_equals_itself_in_every_notation(number: int, places: int) -> None:
    written = f"{number:,}" + ("." + "0" * places if places else "")
    for answer in (written, f"${number}$", f"\\boxed{{{number}}}", f"**{written}**", f"{number}/1"):
        assert numeric([str(number)], [answer]) == 1.0
        assert numeric([str(number)], [f"So the result is {answer}."], where="last") == 1.0
    assert relaxed_accuracy([str(number)], [written]) == 1.0


@given(st.integers(1, 10**6), st.floats(-0.049, 0.049))
def test_relaxed_accuracy_agrees_with_the_rule_of_the_shims_on_plain_numbers(number: int, change: float) -> None:
    answer = f"{number * (1 + change):.6f}"
    assert relaxed_accuracy([str(number)], [answer]) == relaxed_match([str(number)], [answer]) == 1.0


@pytest.mark.parametrize(
    ("reference", "answer"),
    [
        ("2", r"\sqrt{4}"),
        (r"\sqrt{2}", "1.4142135623730951"),
        ("300000", r"3\times 10^5"),
        ("8", "2^3"),
        ("1", r"$\frac22$"),
    ],
)
def test_expressions_are_computed(reference: str, answer: str) -> None:
    pytest.importorskip("sympy")
    pytest.importorskip("latex2sympy2_extended")
    assert numeric([reference], [answer]) == 1.0
    assert numeric([reference], [answer + "."], where="last") == 1.0


def test_corpus_rates_are_those_of_the_samples_together() -> None:
    jiwer = pytest.importorskip("jiwer")
    golds, answers = ["a b c", "d", "e f"], ["a c", "d e f", "e f"]
    for score, reference in ((corpus_wer, jiwer.wer), (corpus_cer, jiwer.cer)):
        values = [score([gold], [answer]) for gold, answer in zip(golds, answers, strict=True)]
        assert AGGREGATIONS.get("error_rate").aggregate(values) == pytest.approx(reference(golds, answers))


def test_whispers_normalizer_is_the_packages_own() -> None:
    pytest.importorskip("whisper_normalizer")
    assert corpus_wer(["Mr. Smith's colour"], ["mister smith is color"], "whisper_english") == (0.0, 4.0)


@pytest.mark.parametrize("name", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
def test_rouge_is_that_of_rouge_score(name: str) -> None:
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")
    scorer = rouge_scorer.RougeScorer([name])
    draw = random.Random(0)
    score = METRICS.get(name).score
    assert score is not None
    for _ in range(300):
        texts = [
            "".join(draw.choice("abcd") + draw.choice("  \n") for _ in range(draw.randint(0, 12))) for _ in range(2)
        ]
        expected = scorer.score(*texts)[name].fmeasure
        assert score(references=texts[:1], predictions=texts[1:]) == pytest.approx(expected)
