"""Numbers of a subset from the scores of its samples, with values seen from the wheel 1.14.1."""

from typing import Any

import pytest

from polymeter.interop.evalscope.v1.registries import get_aggregation
from polymeter.interop.evalscope.v1.scoring.aggregators import METRIC_WEIGHTS_KEY
from polymeter.interop.evalscope.v1.scoring.bayes import BayesAtN
from polymeter.interop.evalscope.v1.types.scores import SampleScore, Score


def repeated(*attempts: tuple[float | None, str], repeats: int = 3) -> list[SampleScore]:
    return [
        SampleScore(
            score=Score(value={} if value is None else {"acc": value}, extracted_prediction=answer),
            sample_id=at,
            group_id=at // repeats,
            generation_index=at % repeats,
        )
        for at, (value, answer) in enumerate(attempts)
    ]


def plain(*values: dict[str, float], **metadata: Any) -> list[SampleScore]:
    return [SampleScore(score=Score(value=value, metadata=metadata), sample_id=at) for at, value in enumerate(values)]


# The last attempt at the second question has no score: it is eligible for k = 1 and 2 alone.
ATTEMPTS = repeated((1, "A"), (0, "B"), (0, "B"), (1, "A"), (1, "A"), (None, "C"))


@pytest.mark.parametrize(
    ("name", "kind", "numbers"),
    [
        ("mean_and_pass_at_k", "pass_at_k", [2 / 3, 5 / 6, 1]),
        ("mean_and_vote_at_k", "vote_at_k", [1, 1, 0]),
        ("mean_and_pass_hat_k", "pass_hat_k", [2 / 3, 0.5, 0]),
    ],
)
def test_numbers_of_the_first_k_answers(name: str, kind: str, numbers: list[float]) -> None:
    mean, *at_k = get_aggregation(name)()(ATTEMPTS)
    assert (mean.score, mean.num, mean.metric_name, mean.aggregation) == (0.6, 5, "accuracy", "mean")
    assert [each.score for each in at_k] == pytest.approx(numbers)
    assert [(each.aggregation, each.dimensions, each.num) for each in at_k] == [
        (kind, {"k": 1}, 2),
        (kind, {"k": 2}, 2),
        (kind, {"k": 3}, 1),
    ]
    assert at_k[2].metadata == {"eligible": 1, "total": 2, "coverage": 0.5, "excluded": 1}
    assert at_k[2].ids == [0]


def test_empty_answers_have_no_vote() -> None:
    votes = get_aggregation("mean_and_vote_at_k")()(repeated((0, " "), (0, ""), (1, "A")))
    assert [each.score for each in votes[1:]] == [0, 0, 1]


def test_a_mean_counts_the_samples_that_have_the_metric() -> None:
    scores = plain({"acc": 1, "len": 4}, {}, {"len": 8}, {"acc": 0})
    means = get_aggregation("mean")()(scores)
    assert [(each.metric_name, each.score, each.num, each.ids) for each in means] == [
        ("accuracy", 0.5, 2, [0, 3]),
        ("len", 6.0, 2, [0, 2]),
    ]
    assert get_aggregation("clipped_mean")(0.6, 2)(scores)[0].score == 0.6
    assert get_aggregation("mean")()([]) == []


def test_weights_count_if_every_sample_declares_one() -> None:
    scores = plain({"acc": 1.0}, {"acc": 0.0})
    scores[0].score.metadata = {METRIC_WEIGHTS_KEY: {"acc": 3}}
    (unweighted,) = get_aggregation("weighted_mean")()(scores)
    assert (unweighted.score, unweighted.aggregation, unweighted.num) == (0.5, "mean", 2)
    scores[1].score.metadata = {METRIC_WEIGHTS_KEY: {"acc": 1.0}}
    (weighted,) = get_aggregation("weighted_mean")()(scores)
    assert (weighted.score, weighted.aggregation, weighted.num) == (0.75, "weighted_mean", 4)
    assert weighted.metadata == {"weighted": True, "samples": 2, "total_weight": 4}


def test_bayes_at_n_is_a_posterior_mean_with_its_deviation() -> None:
    mean, deviation = BayesAtN(repeats=2)(repeated((1, "A"), (1, "A"), (0, "A"), (1, "A"), repeats=2))
    assert (mean.aggregation, mean.dimensions, mean.num) == ("bayes_at_n", {"n": 2}, 2)
    assert mean.score == pytest.approx((3 / 4 + 2 / 4) / 2)
    assert deviation.score == pytest.approx(((3 * 1 + 2 * 2) / 80) ** 0.5 / 2)


@pytest.mark.parametrize(
    ("scores", "need"),
    [
        ([], "question"),
        (repeated((1, "A"), repeats=2), "all answers"),
        (repeated((1, "A"), (None, "A"), repeats=2), "score of each"),
        (repeated((1, "A"), (0.5, "A"), repeats=2), "0 or 1"),
    ],
)
def test_bayes_at_n_needs_every_answer(scores: list[SampleScore], need: str) -> None:
    with pytest.raises(ValueError, match=need):
        BayesAtN(repeats=2)(scores)
