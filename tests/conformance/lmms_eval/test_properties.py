"""Properties: merging of includes, filters, and what holds of every metric."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.core.request import ChoiceLogprob
from polymeter.interop.lmms_eval.tasks.filter_classes import ExtendedRegexFilter, RegexFilter
from polymeter.tasks.yaml.files.reader import YamlReader
from polymeter.tasks.yaml.outputs.choices import argmax, softmax
from polymeter.tasks.yaml.outputs.visual_cot import split_stages
from polymeter.tasks.yaml.scoring.filters import FILTERS

KEYS = st.sampled_from(["a", "b", "c", "d"])
FILES = st.lists(st.dictionaries(KEYS, st.integers(0, 9), max_size=4), min_size=1, max_size=4)
TEXTS = st.lists(st.text(string.ascii_letters + " #.0123456789", max_size=12), min_size=1, max_size=5)
PLAIN = ["lowercase", "uppercase", "remove_whitespace", "strip_thinking"]


def dump(values, include=()):
    lines = [f"{key}: {value}" for key, value in values.items()]
    return "\n".join([*([f"include: [{', '.join(include)}]"] if include else []), *lines]) + "\n"


@settings(max_examples=40)
@given(own=st.dictionaries(KEYS, st.integers(0, 9)), files=FILES)
def test_includes_merge_like_dictionaries_the_earlier_ones_last_and_own_keys_after_all(tmp_path_factory, own, files):
    folder = tmp_path_factory.mktemp("merge")
    names = [f"f{number}" for number in range(len(files))]
    for name, values in zip(names, files, strict=True):
        (folder / name).write_text(dump(values) if values else "{}\n")
    (folder / "t.yaml").write_text(dump(own, names))
    expected = {}
    for values in reversed(files):
        expected |= values
    found = YamlReader().read(folder / "t.yaml")
    assert found.values == {**expected, **own}
    for key, value in found.values.items():
        file, line = found.places[key]
        assert file.read_text().splitlines()[line - 1] == f"{key}: {value}"


@settings(max_examples=25)
@given(files=FILES)
def test_a_chain_of_includes_is_the_same_as_a_list_of_them(tmp_path_factory, files):
    folder = tmp_path_factory.mktemp("chain")
    for number, values in enumerate(files):
        last = number == len(files) - 1
        (folder / f"f{number}").write_text(dump(values, () if last else (f"f{number + 1}",)) or "{}\n")
        (folder / f"g{number}").write_text(dump(values) if values else "{}\n")
    (folder / "list").write_text(dump({}, [f"g{number}" for number in range(len(files))]))
    assert YamlReader().read(folder / "f0").values == YamlReader().read(folder / "list").values


@given(answers=TEXTS, name=st.sampled_from(PLAIN))
def test_text_filters_work_on_each_answer_alone_and_keep_their_number(answers, name):
    step = FILTERS[name]()
    assert step(answers, {}) == [step([answer], {})[0] for answer in answers]


@given(answers=TEXTS, name=st.sampled_from(["lowercase", "uppercase", "strip_thinking", "take_first"]))
def test_these_filters_change_nothing_the_second_time(answers, name):
    step = FILTERS[name]()
    once = step(answers, {})
    assert step(once, {}) == once


@given(answers=TEXTS)
def test_majority_vote_gives_an_answer_that_none_outnumbers(answers):
    (winner,) = FILTERS["majority_vote"]()(answers, {})
    assert all(answers.count(winner) >= answers.count(other) for other in answers)


@given(answers=TEXTS, pattern=st.sampled_from([r"(\d+)", r"([a-z]+)|(\d)", r"#### (\-?[0-9\.\,]+)"]))
def test_the_regex_class_reads_what_the_regex_step_reads(answers, pattern):
    step = FILTERS["regex"](regex_pattern=pattern)
    assert RegexFilter(regex_pattern=pattern).apply([answers], [{}]) == [step(answers, {})]


@given(text=st.text(string.printable, max_size=30))
def test_filter_ignores_is_idempotent(text):
    once = ExtendedRegexFilter(ignore_case=True, ignore_punctuation=True)
    assert once.filter_ignores(once.filter_ignores(text)) == once.filter_ignores(text)


@given(values=st.lists(st.floats(-50, 0), min_size=1, max_size=6), shift=st.floats(-20, 20))
def test_a_constant_added_to_all_choices_changes_neither_prediction_nor_probabilities(values, shift):
    rounded = [round(value, 3) for value in values]
    moved = [value + round(shift, 3) for value in rounded]
    assert softmax(rounded) == pytest.approx(softmax(moved), abs=1e-9)
    assert rounded[argmax(moved)] == pytest.approx(max(rounded))


@given(text=st.text(max_size=20))
def test_the_gold_answer_scores_full_marks_and_metrics_stay_in_bounds(text):
    for name in ("acc", "exact_match", "anls"):
        score = METRICS.get(name).score
        assert score(references=[text], predictions=[text]) == 1.0
        assert 0.0 <= score(references=[text], predictions=["other"]) <= 1.0


@given(values=st.lists(st.floats(-5, 5), min_size=1, max_size=20), data=st.randoms(use_true_random=False))
def test_aggregations_do_not_depend_on_the_order_of_values(values, data):
    other = list(values)
    data.shuffle(other)
    for name in ("mean", "median", "perplexity", "max", "min"):
        aggregate = AGGREGATIONS.get(name).aggregate
        assert aggregate(values) == pytest.approx(aggregate(other))


@given(draw=st.text("abc \n", max_size=9), answer=st.text("abc \n", max_size=9))
def test_the_stages_of_a_visual_chain_of_thought_come_back_whole(draw, answer):
    text = f"before [GEN_PROMPT]{draw}[/GEN_PROMPT]\n[QUESTION]{answer}[/QUESTION] after"
    assert split_stages(text) == (draw.strip(), answer.strip())
    assert split_stages(answer) is None


def test_choice_log_probabilities_are_plain_data():
    assert ChoiceLogprob(-1.0, True, 2) == ChoiceLogprob(-1.0, True, 2)
