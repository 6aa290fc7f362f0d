"""Scores, metrics and filters by the names that adapters use."""

import math
from types import SimpleNamespace

import pytest

from polymeter.core.errors import PlanError
from polymeter.interop.evalscope.tasks import constants
from polymeter.interop.evalscope.tasks.scoring.filters import Filter
from polymeter.interop.evalscope.tasks.scoring.metrics import (
    Metric,
    MetricRegistry,
    bleu_ngram_one_sample,
    calculate_pass_at_k,
    compute_rouge_score,
    compute_rouge_score_one_sample,
    compute_rouge_score_one_sample_zh,
    exact_match,
    macro_mean,
    mean,
    metric_registry,
    micro_mean,
    pass_at_k,
    simple_f1_score,
    weighted_mean,
)


@pytest.mark.parametrize(
    ("gold", "pred", "score"), [("A", " A\n", 1), ("A", "a", 0), ("A", "", 0), ("", "", 0), (" ", " ", 1)]
)
def test_exact_match(gold: str, pred: str, score: int) -> None:
    assert exact_match(gold, pred) == score


def test_exact_match_takes_text_only() -> None:
    with pytest.raises(AttributeError):
        exact_match(5, "5")  # type: ignore[arg-type]
    assert exact_match("A", None) == 0  # type: ignore[arg-type]


def test_means() -> None:
    assert mean([]) == 0.0
    assert mean([1, 0, True]) == pytest.approx(2 / 3)
    assert mean([[1, 0], [1]]) == pytest.approx(2 / 3)
    assert weighted_mean([(0, 1), (0.5, 1), (1, 2)]) == 0.375
    with pytest.raises(ValueError, match="no weighted mean of no pairs"):
        weighted_mean([])
    assert simple_f1_score(([1, 0], [1, 1])) == pytest.approx(2 / 3)
    assert simple_f1_score(([], [])) == 0.0


def test_pass_at_k_is_the_share_with_a_success_among_the_first_k() -> None:
    tries = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert [pass_at_k(tries, k) for k in (1, 2, 3, 9)] == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert pass_at_k([1, 0], 5) == 0.5
    assert pass_at_k([]) == 0.0


def test_the_unbiased_estimate() -> None:
    assert calculate_pass_at_k(5, [2, 4, 5], 1) == pytest.approx([0.4, 0.8, 1.0])
    assert calculate_pass_at_k([4, 2], [1, 0], 2) == pytest.approx([0.5, 0.0])


def test_means_of_scores_leave_out_what_has_none() -> None:
    parts = [
        SimpleNamespace(score=1.0, num=1),
        SimpleNamespace(score=0.0, num=3),
        SimpleNamespace(score=math.nan, num=9),
    ]
    assert micro_mean(parts) == 0.25
    assert macro_mean(parts) == 0.5
    assert math.isnan(micro_mean(parts[2:]))
    assert micro_mean([]) == 0.0
    assert micro_mean([SimpleNamespace(score=1.0, num=0)]) == 0.0


def test_overlap_under_its_names() -> None:
    assert list(bleu_ngram_one_sample("a b c d e", "a b c d e").values()) == [1.0] * 4
    found = compute_rouge_score_one_sample(["a b x y"], ["a b"])
    assert (found["rouge-1-r"], found["rouge-1-p"]) == (1.0, 0.5)
    assert list(found) == list(constants.MetricsConstant.ROUGE_KEYS)
    assert compute_rouge_score_one_sample_zh([""], ["a b"])["Rouge-L-F"] == 0.0
    assert compute_rouge_score_one_sample_zh(["a b"], ["a b"])["Rouge-L-R"] == 1.0
    assert compute_rouge_score([["a"], ["b"]], [["a"], ["a"]])["rouge-1-f"] == 50.0
    assert set(compute_rouge_score([], []).values()) == {0.0}


def test_built_in_metrics() -> None:
    names = metric_registry.list_metrics()
    assert {"AverageAccuracy", "AverageBLEU", "AverageRouge", "AveragePass@1", "Pass@1", "Pass@16"} <= set(names)
    assert {"WeightedAverageAccuracy", "WeightedAverageBLEU", "VQAScore", "HPSv2.1Score", "MPS"} <= set(names)
    assert metric_registry.get("Pass@2").object([[0, 1], [0, 0]]) == 0.5
    assert metric_registry.get("WeightedAverageAccuracy").object([(1, 2)]) == 0.5
    with pytest.raises(
        PlanError, match="image scorer 'MPS' cannot be built: it needs the cross-attention network of MPS"
    ):
        metric_registry.get("MPS").object()


def test_metrics_of_an_adapter() -> None:
    registry = MetricRegistry()
    registry.register(Metric(name="winrate", object=max))
    registry.register(Metric(name="winrate"))
    assert registry.get("winrate").object([1, 0]) == 0.5
    assert registry.list_metrics() == ["winrate"]
    with pytest.raises(PlanError, match=r"There is no metric 'AverageAcuracy'\. \[metric_list\] .*'AverageAccuracy'"):
        metric_registry.get("AverageAcuracy")


def test_filters() -> None:
    assert Filter.apply("remove_until", "a</think>b</think>c", "</think>") == "c"
    assert Filter.apply("remove_until", "no marker", "</think>") == "no marker"
    assert Filter.apply("extract", "x = (12), 13", r"\((\d+)\)") == "(12)"
    assert Filter.apply("extract", "none", r"\d") == ""
    assert Filter.get_filter("upper") is None
    with pytest.raises(
        PlanError, match=r"There is no filter 'remove_untill'\. \[filters\] Did you mean 'remove_until'"
    ):
        Filter.apply("remove_untill", "", "")


def test_an_authors_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Filter, "_registry", dict(Filter._registry))

    @Filter.register("upper")
    def upper(value: str, _: object) -> str:
        return value.upper()

    assert Filter.apply("upper", "a", None) == "A"


def test_caches_follow_the_environment_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELSCOPE_CACHE", "/elsewhere")
    assert constants.DEFAULT_DATASET_CACHE_DIR == "/elsewhere/datasets"
    monkeypatch.delenv("MODELSCOPE_CACHE")
    assert constants.DEFAULT_DATASET_CACHE_DIR.endswith(".cache/modelscope/hub/datasets")
    with pytest.raises(AttributeError, match="no attribute 'DEFAULT_NOTHING'"):
        constants.DEFAULT_NOTHING  # type: ignore[attr-defined]  # noqa: B018
