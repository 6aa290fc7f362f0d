"""Spec §3: default scoring. Every expected number is worked out by hand from the formula, which stands beside it."""

import math

import pytest

from polymeter.core.errors import PlanError
from polymeter.core.task import ReduceContext, Rollout, SampleStatus, ScoredRow
from tests.conformance.kit import evaluate, likelihoods, model
from tests.helpers.metrics import VALUES
from tests.tasks.yaml.kit import logprobs, opened, results, rows_of, score

ROWS = [{"q": "q0", "a": "Paris", "k": 0}, {"q": "q1", "a": "7", "k": 1}]
CHOICE = "output_type: multiple_choice\ndoc_to_choice: [aa, b, cccc, d]\n"
CHOICE_ROWS = [{"q": f"q{i}", "k": i} for i in range(3)]
# Row 0: choice 0 is likeliest. Row 1 (gold b): b and d tie, the first wins. Row 2 (gold cccc): only per character.
GIVEN = [(-1.0, -2.0, -8.0, -3.0), (-4.0, -1.0, -9.0, -1.0), (-4.0, -3.0, -5.0, -6.0)]


def reduced(task, score_of, n):
    rows = [ScoredRow(str(i), i, (), None, SampleStatus.OK, score_of(i)) for i in range(n)]
    from pathlib import Path

    return {result.metric: result.value for result in task.reduce(rows, ReduceContext(Path()))}


def choice_results(tmp_path, metrics):
    task = opened(tmp_path, CHOICE + f"metric_list: {metrics}\n", rows=CHOICE_ROWS, target="k")

    def score_of(index):
        greedy = GIVEN[index].index(max(GIVEN[index]))
        return task.score(task.samples[index], Rollout((logprobs(*GIVEN[index], greedy=greedy),)))

    return reduced(task, score_of, 3)


@pytest.mark.parametrize(
    ("answers", "metric", "expected"),
    [
        (["Paris", "7"], "exact_match", 1.0),
        (["Paris", "seven"], "exact_match", 0.5),
        (["paris", "7 "], "exact_match", 0.5),  # case counts, blanks around an answer do not
        (["Paris", "7"], "acc", 1.0),
        (["paris", "8"], "acc", 0.0),
        # "Pari": distance 1 over max(5, 4) = 0.2, so 0.8; "9": distance 1 over 1, similarity 0
        (["Pari", "9"], "anls", 0.4),
        # "Pxxxx": similarity 1 - 4/5 = 0.2 lies below 0.5 and counts 0
        (["Pxxxx", "7"], "anls", 0.5),
    ],
)
def test_generation(tmp_path, answers, metric, expected):
    task = opened(tmp_path, f"metric_list: [{metric}]\n", rows=ROWS)
    assert results(task, answers)[metric, "none"].value == pytest.approx(expected)


def test_anls_folds_for_the_distance_but_divides_by_raw_lengths(tmp_path):
    task = opened(tmp_path, "metric_list: [anls]\n", rows=[{"q": "x", "a": "a  b"}])
    # "A C" against "a  b": folded "a c" and "a b" differ by 1; raw lengths 3 and 4: 1 - 1/4
    assert score(task, 0, "A C").values == {("anls", "none"): 0.75}


def test_generation_defaults_to_exact_match(tmp_path):
    assert list(results(opened(tmp_path, rows=ROWS), ["Paris", "7"])) == [("exact_match", "none")]


def test_multiple_choice_higher_is_better_and_acc_norm_is_per_character(tmp_path):
    found = choice_results(tmp_path, "[acc, acc_norm, exact_match]")
    assert found["acc"] == pytest.approx(2 / 3)
    # per character: row 0: -.5 -2 -2 -3 → 0; row 1: -2 -1 -2.25 -1 → 1; row 2: -2 -3 -1.25 -6 → 2
    assert found["acc_norm"] == 1.0
    assert found["exact_match"] == pytest.approx(2 / 3)


def test_multiple_choice_defaults(tmp_path):
    task = opened(tmp_path, CHOICE, rows=CHOICE_ROWS, target="k")
    assert [name for name, _ in task.score(task.samples[0], Rollout((logprobs(*GIVEN[0]),))).values] == [
        "acc",
        "acc_norm",
    ]


def test_brier_score_is_the_squared_error_of_the_softmax(tmp_path):
    expected = []
    for gold, values in enumerate(GIVEN):
        weights = [math.exp(value) for value in values]
        shares = [weight / sum(weights) for weight in weights]
        expected.append(sum((share - (place == gold)) ** 2 for place, share in enumerate(shares)))
    assert choice_results(tmp_path, "[brier_score]")["brier_score"] == pytest.approx(sum(expected) / 3)


@pytest.mark.parametrize("name", ["mcc", "matthews_corrcoef"])
def test_mcc_under_both_names(tmp_path, name):
    # golds 0 1 2, predictions 0 1 1. Gorodkin: (c·s - Σ p·t) / sqrt((s² - Σ p²)(s² - Σ t²)), c = 2, s = 3,
    # p = (1, 2, 0), t = (1, 1, 1): (6 - 3) / sqrt((9 - 5)(9 - 3))
    assert choice_results(tmp_path, f"[{name}]")[name] == pytest.approx(3 / math.sqrt(24))


def test_f1_of_class_one(tmp_path):
    task = opened(
        tmp_path,
        "output_type: multiple_choice\ndoc_to_choice: [x, y]\nmetric_list: [f1]\n",
        rows=[{"q": "q", "k": k} for k in (1, 1, 0, 0)],
        target="k",
    )
    given = [(-2.0, -1.0), (-1.0, -2.0), (-2.0, -1.0), (-1.0, -2.0)]  # predictions 1 0 1 0
    found = reduced(task, lambda i: task.score(task.samples[i], Rollout((logprobs(*given[i]),))), 4)
    assert found["f1"] == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))


def test_mutual_information_asks_the_choices_alone_as_well(tmp_path):
    from tests.tasks.yaml.kit import opened as open_rows

    open_rows(tmp_path, CHOICE + "metric_list: [acc_mutual_info, acc]\n", rows=CHOICE_ROWS, target="k")

    def answer(request):
        if request.text:  # after the prompt "d" is likeliest, but "aa" gains most
            return likelihoods(request, lambda text: {" aa": -2.0, " d": -1.0}.get(text, -9.0))
        return likelihoods(request, lambda text: {"aa": -8.0, "d": -1.0}.get(text, -9.0))

    run = evaluate(tmp_path, tmp_path / "t.yaml", "t", model(answer))
    assert run.value("t", "acc_mutual_info") == pytest.approx(1 / 3)
    assert run.value("t", "acc") == 0.0


def test_loglikelihood_perplexities(tmp_path):
    names = "[perplexity, acc, word_perplexity, byte_perplexity, bits_per_byte]"
    rows = [{"q": "x", "a": "two words"}, {"q": "y", "a": "é"}]
    task = opened(tmp_path, f"output_type: loglikelihood\nmetric_list: {names}\n", rows=rows)
    given = [logprobs(-6.0, greedy=0), logprobs(-2.0)]
    found = reduced(task, lambda i: task.score(task.samples[i], Rollout((given[i],))), 2)
    assert found["perplexity"] == pytest.approx(math.exp(4.0))  # exp of minus the mean of -6 and -2
    assert found["acc"] == 0.5
    assert found["word_perplexity"] == pytest.approx(math.exp(8 / 3))  # 2 words and 1
    assert found["byte_perplexity"] == pytest.approx(math.exp(8 / 11))  # 9 bytes and 2
    assert found["bits_per_byte"] == pytest.approx(8 / 11 / math.log(2))


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_translation_metrics_are_sacrebleus_over_the_corpus(tmp_path, metric):
    import sacrebleu

    rows = [{"q": "x", "a": "the cat sat on the mat today"}, {"q": "y", "a": "it rains a lot in here"}]
    answers = ["the cat sat on a mat today", "it rains much in here"]
    task = opened(tmp_path, f"metric_list: [{metric}]\n", rows=rows)
    expected = getattr(sacrebleu, f"corpus_{metric}")(answers, [[row["a"] for row in rows]]).score
    assert results(task, answers)[metric, "none"].value == pytest.approx(expected)


def test_median_is_of_the_sorted_values(tmp_path):
    code = "def f(doc, results):\n    return {'m': float(results[0])}\n"
    (tmp_path / "utils.py").write_text(code)
    extra = "process_results: !function utils.f\nmetric_list: [{metric: m, aggregation: median}]\n"
    assert results(opened(tmp_path, extra), ["9", "1", "5", "3"])["m", "none"].value == 4.0


@pytest.mark.parametrize("name", ["bypass", "by_pass"])
def test_bypass_under_both_names(tmp_path, name):
    assert results(opened(tmp_path, f"metric_list: [{name}]\n"), ["x"] * 4)[name, "none"].value == 999


@pytest.mark.parametrize("kind", ["generate_until", "multiple_choice", "loglikelihood"])
def test_every_pair_of_metric_and_output_type_is_computed_or_refused(tmp_path, kind):
    extra = {"multiple_choice": CHOICE, "loglikelihood": "output_type: loglikelihood\n"}.get(kind, "")
    for metric in sorted({name for name, _ in VALUES}):
        needed = ", scale: pixels" if metric == "point_in_box" else ""  # it is never guessed
        text = extra + f"metric_list: [{{metric: '{metric}'{needed}}}]\n"
        if (metric, kind) in VALUES:
            opened(tmp_path, text, target="k" if kind == "multiple_choice" else "a")
        else:
            with pytest.raises(PlanError, match="cannot be computed"):
                opened(tmp_path, text)


def test_a_sample_without_a_metrics_key_is_left_out_of_it(tmp_path):
    (tmp_path / "utils.py").write_text("def f(doc, results):\n    return {'m': 1.0} if doc['k'] else {}\n")
    task = opened(tmp_path, "process_results: !function utils.f\nmetric_list: [m]\n")
    found = task.reduce(rows_of(task, ["x"] * 4), ReduceContext(tmp_path))
    assert (found[0].value, found[0].n) == (1.0, 3)


def test_repeats_reach_filters_together(tmp_path):
    extra = """
    repeats: 3
    filter_list:
      - {name: first, filter: [{function: take_first}]}
      - {name: vote, filter: [{function: majority_vote}, {function: take_first}]}
    """
    task = opened(tmp_path, extra)
    assert score(task, 0, "x", "a0", "a0").values == {("exact_match", "first"): 0.0, ("exact_match", "vote"): 1.0}
