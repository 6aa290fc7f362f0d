"""Which metric goes with which output type, and which keyword arguments it takes."""

import subprocess
import sys

import pytest

from polymeter.core.errors import PlanError, ScoreError
from polymeter.core.metric import Metric
from polymeter.core.names.registries import AGGREGATIONS, METRICS
from polymeter.metrics import DEFAULT_METRICS, check_kwargs, check_pair, default_metrics


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_is_whole(name: str) -> None:
    metric = METRICS.get(name)
    assert metric.aggregation in AGGREGATIONS
    assert METRICS.find(name).summary
    assert metric.output_types
    assert all(metric.values.values()), "Say in a phrase what the value of one sample is."
    assert metric.values.keys() <= {*DEFAULT_METRICS, "generate_with_tools"}  # one way of generating has its own


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_every_aggregation_loads(name: str) -> None:
    assert callable(AGGREGATIONS.get(name).aggregate)


def test_one_metric_under_two_names() -> None:
    assert METRICS.get("mcc") is METRICS.get("matthews_corrcoef")
    assert METRICS.get("bypass") is METRICS.get("by_pass")


@pytest.mark.parametrize("output_type", DEFAULT_METRICS)
def test_defaults_are_possible(output_type: str) -> None:
    for name in default_metrics(output_type):
        check_pair(METRICS.get(name), output_type)


def test_every_way_of_generating_has_the_same_defaults() -> None:
    for output_type in ("generate_until_multi_round", "generate_until_agentic", "generate_visual_cot"):
        assert default_metrics(output_type) == ("exact_match",)
        check_pair(METRICS.get("anls"), output_type)


@pytest.mark.parametrize(
    ("name", "output_type"),
    [
        ("perplexity", "generate_until"),
        ("bleu", "multiple_choice"),
        ("acc_norm", "loglikelihood"),
        ("f1", "generate_until"),
    ],
)
def test_impossible_pair(name: str, output_type: str) -> None:
    with pytest.raises(PlanError, match=f"{name!r} cannot be computed for output type {output_type!r}") as caught:
        check_pair(METRICS.get(name), output_type, where="task.yaml")
    assert caught.value.where == "task.yaml"
    assert "process_results" in caught.value.hint


def test_unknown_output_type() -> None:
    with pytest.raises(PlanError, match=r"'generate_untl'.*Did you mean 'generate_until'"):
        default_metrics("generate_untl")


def test_a_users_metric_may_name_its_own_output_type() -> None:
    check_pair(Metric("mine", values={"generate_image": "width"}), "generate_image")


def test_known_kwargs() -> None:
    check_kwargs(METRICS.get("exact_match"), {"ignore_case": True, "regexes_to_ignore": [","]})
    check_kwargs(METRICS.get("anls"), {"thresh_hold": 0.5})
    check_kwargs(METRICS.get("anls"), ["threshold"])


def test_unknown_kwarg_names_the_nearest() -> None:
    with pytest.raises(PlanError, match="'exact_match' does not accept 'ignore_cse'") as caught:
        check_kwargs(METRICS.get("exact_match"), {"ignore_cse": True}, where="mme.yaml")
    assert "'ignore_case'" in caught.value.hint
    assert caught.value.where == "mme.yaml"


def test_metric_without_arguments() -> None:
    for name in ("acc", "perplexity"):
        with pytest.raises(PlanError, match="It accepts no arguments"):
            check_kwargs(METRICS.get(name), {"zzz": 1})


def test_a_metric_that_takes_anything() -> None:
    def score(references: object, predictions: object, **kwargs: object) -> float:
        return 0.0

    check_kwargs(Metric("mine", score=score), {"whatever": 1})


@pytest.mark.parametrize("name", ["acc", "exact_match", "anls", "cer", "wer", "bleu", "mcc"])
def test_no_gold_is_an_error_and_not_a_zero(name: str) -> None:
    score = METRICS.get(name).score
    assert score is not None
    with pytest.raises(ScoreError, match="0 references and 1 predictions"):
        score(references=[], predictions=["x"])


def test_exact_match_needs_no_heavy_package() -> None:
    code = (
        "import sys; from polymeter.core.names.registries import AGGREGATIONS, METRICS;"
        "[METRICS.get(n) for n in METRICS]; [AGGREGATIONS.get(n) for n in AGGREGATIONS];"
        "METRICS.get('exact_match').score(references=['a'], predictions=['b']);"
        "AGGREGATIONS.get('mean').aggregate([1, 2]);"
        "print([m for m in ('scipy', 'sklearn', 'sacrebleu', 'rapidfuzz', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
