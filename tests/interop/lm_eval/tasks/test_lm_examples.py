"""Which rows are shown as examples, and how they are written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.errors import DataError, PlanError
from polymeter.core.names.parity import parity_with
from polymeter.data import make_rows
from polymeter.interop.lm_eval.tasks.contexts.samplers import ContextSampler, DrawnRows, FirstNSampler, ReadAhead
from tests.helpers.differences import difference
from tests.interop.lm_eval.tasks.folders import ROWS, ask, context_of, open_in, opened, task_text, write

SHOTS = 'fewshot_split: train\nnum_fewshot: 2\ntarget_delimiter: "="\nfewshot_delimiter: ";"\n'


def pool(*questions: str) -> ReadAhead:
    return ReadAhead(make_rows([{"q": question} for question in questions], what="made rows"))


def shown(context: str) -> list[str]:
    """The questions of the examples in a context."""
    return [example.partition("=")[0] for example in context.split(";")[:-1]]


def test_rows_are_drawn_from_one_stream() -> None:
    rows = DrawnRows(pool(*"abcdef"), 2, 1234, None, is_first=False, task="t")
    stream = random.Random(1234)
    expected = [tuple(stream.sample(range(6), 2)) for _ in range(4)]
    assert rows.of(3) == expected[3], "whatever is asked first"
    assert [rows.of(number) for number in range(4)] == expected


def test_one_more_is_drawn_where_the_question_is_left_out() -> None:
    questions = [{"q": letter} for letter in "abcdef"]
    rows = DrawnRows(pool(*"abcdef"), 2, 7, questions.__getitem__, is_first=False, task="t")
    stream = random.Random(7)
    for number in range(6):
        drawn = [place for place in stream.sample(range(6), 3) if place != number]
        assert rows.of(number) == tuple(drawn[:2])


def test_a_question_that_stands_in_the_rows_several_times_is_left_out_each_time() -> None:
    rows = DrawnRows(pool(*"aaaaabc"), 2, 0, [{"q": "a"}].__getitem__, is_first=False, task="t")
    assert set(rows.of(0)) == {5, 6}
    with pytest.raises(PlanError, match="fewer rows differ from the question"):
        DrawnRows(pool(*"aaab"), 2, 0, [{"q": "a"}].__getitem__, is_first=False, task="t").of(0)


def test_the_first_rows_without_the_question() -> None:
    rows = DrawnRows(pool(*"abcd"), 2, 0, [{"q": "b"}, {"q": "x"}].__getitem__, is_first=True, task="t")
    assert (rows.of(0), rows.of(1)) == ((0, 2), (0, 1))
    assert DrawnRows(pool(*"abcd"), 2, 0, None, is_first=True, task="t").of(99) == (0, 1)


def test_as_many_first_rows_as_there_are_can_be_shown() -> None:
    assert DrawnRows(pool(*"ab"), 2, 0, [{"q": "x"}].__getitem__, is_first=True, task="t").of(0) == (0, 1)
    with pytest.raises(PlanError, match="fewer rows differ from the question"):
        DrawnRows(pool(*"ab"), 2, 0, [{"q": "a"}].__getitem__, is_first=True, task="t").of(0)


def test_too_few_rows_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="needs 6 examples besides the question itself, and there are 6 rows"):
        opened(tmp_path, "num_fewshot: 6\n")


def test_rows_are_read_in_blocks_from_both_ends() -> None:
    rows = ReadAhead(make_rows([{"n": number} for number in range(600)], what="made rows"))
    assert [rows[place]["n"] for place in (599, 0, 256, 255, 599)] == [599, 0, 256, 255, 599]
    assert len(rows) == 600


@difference("fewshot-leak", here=False, there=True)
def test_a_question_is_no_example_for_itself(tmp_path: Path, parity: str, expected: bool) -> None:
    task = opened(tmp_path, SHOTS.replace("fewshot_split: train\n", ""), parity=parity_with(parity))
    own = [ROWS[number]["q"] in shown(context_of(task, number)) for number in range(len(ROWS))]
    assert any(own) is expected
    (note,) = task.notes
    assert ("may be among its own examples" if expected else "is left out") in note


def test_a_split_that_the_task_names_for_both_leaves_out_the_question(tmp_path: Path) -> None:
    task = opened(tmp_path, SHOTS, parity=parity_with("lm_eval"))
    for number, row in enumerate(ROWS):
        assert row["q"] not in shown(context_of(task, number))
    assert task.notes == ()


def test_the_stream_begins_with_the_first_question_of_the_run(tmp_path: Path) -> None:
    extra = SHOTS.replace("fewshot_split: train", "training_split: train\nfewshot_config: {split: 'train[:6]'}")
    # At parity no example is left out because it is the question: which one that is depends on the question.
    parity = parity_with("lm_eval")
    whole = opened(tmp_path, extra, parity=parity)
    later = open_in(tmp_path, offset=2, parity=parity)
    assert shown(context_of(later, 2)) == shown(context_of(whole, 0))
    chosen = open_in(tmp_path, options={"samples": {"t": [4, 1]}}, parity=parity)
    assert [sample.id for sample in chosen.samples[:]] == ["1", "4"], "rows keep their numbers and their order"
    assert shown(context_of(chosen, 0)) == shown(context_of(whole, 0))
    with pytest.raises(PlanError, match="has no row 9: its rows are 0 to 5"):
        open_in(tmp_path, options={"samples": {"t": [9]}})


def test_seeds_of_the_stream(tmp_path: Path) -> None:
    extra = SHOTS.replace("fewshot_split: train", "fewshot_config: {split: 'train[:6]'}").replace("2", "4")
    usual = context_of(opened(tmp_path, extra))
    assert context_of(open_in(tmp_path, options={"fewshot_seed": 1234})) == usual
    assert context_of(open_in(tmp_path, options={"fewshot_seed": 5})) != usual
    assert context_of(open_in(tmp_path, seed=5)) == context_of(open_in(tmp_path, options={"fewshot_seed": 5}))


@pytest.mark.parametrize(
    ("written", "told", "expected"), [(1, None, 1), (1, 3, 3), (0, 3, 0), (None, 2, 2), (None, None, 0)]
)
def test_how_many(tmp_path: Path, written: int | None, told: int | None, expected: int) -> None:
    line = "" if written is None else f"num_fewshot: {written}\n"
    task = opened(tmp_path, SHOTS.replace("num_fewshot: 2\n", line), num_fewshot=told)
    assert (task.num_fewshot, len(shown(context_of(task)))) == (expected, expected)


def test_samples_of_the_configuration_are_used_raw(tmp_path: Path) -> None:
    code = """\
        def shots(): return [{"q": "one", "a": "eins"}, {"q": "two", "a": "zwei"}]
        def upper(data): return data.map(lambda row: {"q": row["q"].upper()})
    """
    text = task_text(
        """\
        process_docs: !function utils.upper
        num_fewshot: 2
        fewshot_config: {sampler: first_n, samples: !function utils.shots}
        """
    )
    write(tmp_path, {"t.yaml": text, "utils.py": code})
    assert context_of(open_in(tmp_path)) == "one eins\n\ntwo zwei\n\nQ0"
    write(tmp_path, {"t.yaml": text.replace("!function utils.shots", "five")})
    with pytest.raises(PlanError, match="must be a list of rows, or a function that returns one"):
        open_in(tmp_path)


@pytest.mark.parametrize(
    ("told", "message"),
    [("weighted", "no few-shot sampler 'weighted'"), ("!function utils.Other", "a class derived from")],
)
def test_samplers_that_cannot_be(tmp_path: Path, told: str, message: str) -> None:
    text = task_text(f"num_fewshot: 1\nfewshot_config:\n  sampler: {told}\n")
    write(tmp_path, {"t.yaml": text, "utils.py": "class Other: pass\n"})
    with pytest.raises(PlanError, match=message):
        open_in(tmp_path)


def test_a_sampler_of_the_tasks_own(tmp_path: Path) -> None:
    code = """\
        from lm_eval.api.samplers import ContextSampler
        class Mine(ContextSampler):
            def sample(self, n, eval_doc=None, df=None, **kwargs):
                assert eval_doc is None
                return [self.df[self.rnd.randrange(len(self.df))] for _ in range(n)]
    """
    text = task_text(
        f"{SHOTS.replace('fewshot_split', 'training_split')}fewshot_config:\n  sampler: !function utils.Mine\n"
    )
    write(tmp_path, {"t.yaml": text, "utils.py": code})
    task = open_in(tmp_path, parity=parity_with("lm_eval"))
    stream = random.Random(1234)
    expected = [[f"q{stream.randrange(len(ROWS))}" for _ in range(2)] for _ in ROWS]
    assert [shown(context_of(task, number)) for number in (3, 0)] == [expected[3], expected[0]]


def test_the_samplers_that_task_code_derives_from() -> None:
    rows = [{"q": letter} for letter in "abcd"]
    assert ContextSampler(rows, rnd=3).sample(2) == random.Random(3).sample(rows, 2)
    assert ContextSampler(rows, rnd=3).set_rnd(4).sample(2) == random.Random(4).sample(rows, 2)
    assert {"q": "a"} not in ContextSampler(rows, rnd=0).sample(3, eval_doc={"q": "a"})
    assert FirstNSampler(rows).sample(2, eval_doc={"q": "a"}) == rows[1:3]
    assert ContextSampler(rows, fewshot_indices=[2]).sample(1) == [rows[2]]
    with pytest.raises(ValueError, match="5 examples are needed, and there are 4"):
        FirstNSampler(rows).sample(5)


@pytest.mark.parametrize(
    ("choices", "target", "expected"),
    [
        ("doc_to_choice: [x, y, z]\n", "k", "q0 x\n\nq1 y\n\nq2"),
        ("", "'{{[a, q]}}'", "q0 a0\n\nq1 a1\n\nq2"),
        ("", "''", "q0q1q2"),
        ("gen_prefix: 'So'\n", "a", "q0 So a0\n\nq1 So a1\n\nq2 So"),
        ("gen_prefix: 'So '\n", "''", "q0 So q1 So q2 So "),
        ("fewshot_config: {gen_prefix: null, sampler: first_n}\ngen_prefix: 'So'\n", "a", "q0 a0\n\nq1 a1\n\nq2 So"),
    ],
)
def test_answers_of_examples(tmp_path: Path, choices: str, target: str, expected: str) -> None:
    extra = choices if "fewshot_config" in choices else f"{choices}fewshot_config: {{sampler: first_n}}\n"
    task = opened(tmp_path, f"{extra}num_fewshot: 2\nfewshot_split: train\n", target=target)
    assert context_of(task, 2) == expected


def test_an_answer_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="doc_to_target of task 't' gives 1 where a text is needed") as caught:
        opened(tmp_path, "num_fewshot: 1\nfewshot_config: {sampler: first_n, split: train}\n", target="k")
    assert isinstance(caught.value.__cause__, DataError)
    assert "only if doc_to_choice lists the choices" in caught.value.hint


def test_examples_with_functions_are_made_anew_and_others_once(tmp_path: Path) -> None:
    code = "calls = []\ndef text(doc):\n    calls.append(doc['q'])\n    return doc['q']\n"
    extra = "num_fewshot: 1\nfewshot_config: {sampler: first_n}\nfewshot_split: 'train[:2]'\n"
    write(tmp_path, {"t.yaml": task_text(extra, text="!function utils.text"), "utils.py": code})
    task = open_in(tmp_path)
    counts: list[Any] = [len(ask(task, number)) for number in range(3)]
    assert counts == [1, 1, 1]
    assert context_of(task, 3) == "q0 a0\n\nq3"
