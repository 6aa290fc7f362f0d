"""Each kind of output, imports between a benchmark's files, and what several answers to one prompt come to."""

import json
from pathlib import Path

import pytest

from polymeter.core.content import Image
from polymeter.core.errors import PlanError
from polymeter.core.request import Generate, GenerateImage, Response
from tests.conformance.kit import evaluate, gold, guests_of, likelihoods, model

KINDS = guests_of("evalscope") / "adapter_kinds"


def test_continuous_logits_give_a_list_of_floats_in_the_order_of_the_pairs(tmp_path: Path) -> None:
    asked = []

    def answer(request):
        asked.append((request.text, request.parameters.continuations))
        return likelihoods(request, lambda text: -1.0 if text == " blue" and len(asked) == 1 else -3.0)

    run = evaluate(tmp_path, KINDS, "continued", model(answer))
    assert run.value("continued", "AverageAccuracy") == 1.0
    assert asked == [("The sky is", (" green", " blue", " red")), ("Else", (" blue",))]


def test_continuous_logits_are_refused_where_there_are_none_and_text_is_not_allowed(tmp_path: Path) -> None:
    blind = model(lambda request: "x", requests={"generate": True, "loglikelihood": False})
    with pytest.raises(PlanError, match="'continued' needs log-probabilities, which this model does not give"):
        evaluate(tmp_path, KINDS, "continued", blind)


def test_image_generation_gives_the_path_of_an_image(tmp_path: Path) -> None:
    from PIL import Image as pil

    from polymeter.core.request import Output

    asks = []

    def paint(request):
        asks.append(request.parameters)
        return Response((Output(images=(pil.new("RGB", (32, 16)),)),))

    run = evaluate(tmp_path, KINDS, "painted", model(paint))
    assert run.value("painted", "Width") == 32.0
    assert isinstance(asks[0], GenerateImage)
    assert (asks[0].size, asks[0].extra) == ((1024, 1024), {"num_inference_steps": 50, "guidance_scale": 9.0})


def test_messages_stand_in_place_of_the_prompt_with_their_images(tmp_path: Path) -> None:
    asked = []
    run = evaluate(tmp_path, KINDS, "spoken", model(lambda request: asked.append(request) or "x"))
    assert run.value("spoken", "AverageAccuracy") == 1.0
    system, user = asked[0].messages
    assert (system.role, system.text, user.role) == ("system", "Look.", "user")
    assert user.text == "What is shown?"
    assert isinstance(user.parts[1], Image)
    assert user.parts[1].size() == (1, 1)


def test_a_gold_that_is_the_record_is_not_repeated(tmp_path: Path) -> None:
    from polymeter.store.exports.export import read_samples

    run = evaluate(tmp_path, KINDS, "spoken", "mock")
    sample = next(iter(read_samples(run.folder, "spoken")))
    assert sample["log"]["reviews"] == [{"gold": "*Same as Input*", "pred": "mock", "result": 1.0}]


def test_absolute_and_relative_imports_between_a_benchmarks_files(tmp_path: Path) -> None:
    run = evaluate(tmp_path, KINDS, "bench_tree", model(lambda request: "from helper"))
    assert run.value("bench_tree", "AverageAccuracy") == 1.0


def test_several_answers_to_a_prompt_are_lists_of_results(tmp_path: Path) -> None:
    def answer(request):
        assert isinstance(request.parameters, Generate)
        assert request.parameters.repeat in range(3)
        return ["<think>no</think>yes", "no", "yes"] if request.text == "a" else ["no", "no", "yes"]

    run = evaluate(tmp_path, KINDS, "voted", model(answer), generation={"num_return_sequences": 3})
    assert run.value("voted", "AverageAccuracy") == pytest.approx(3 / 6)
    assert run.value("voted", "Pass@2") == pytest.approx(1 / 2)
    assert run.result("voted", "AverageAccuracy").n == 2


def test_filters_are_applied_before_parsing(tmp_path: Path) -> None:
    run = evaluate(tmp_path, KINDS, "voted", model(lambda request: "<think>no, yes</think>yes"))
    assert run.value("voted", "AverageAccuracy") == 1.0


def test_metrics_may_be_named_when_they_are_computed_and_reviews_are_whole(tmp_path: Path) -> None:
    run = evaluate(tmp_path, KINDS, "reviewed", model(lambda request: "yes"))
    assert run.value("reviewed", "right") == 1.0
    assert run.value("reviewed", "length") == 3.0
    assert run.result("reviewed", "length").stderr == 0.0


def test_defaults_of_a_checkpoint_count_only_where_nothing_is_set(tmp_path: Path) -> None:
    asks = []

    def answer(request):
        asks.append(request.parameters)
        return "yes"

    evaluate(tmp_path / "a", KINDS, "voted", model(answer), limit=1)
    evaluate(tmp_path / "b", KINDS, "voted", model(answer), limit=1, generation={"temperature": 0.3})
    service = {"adapter": {"eval_type": "service"}}
    evaluate(tmp_path / "c", KINDS, "voted", model(answer), limit=1, dialect_options=service)
    assert [(ask.max_new_tokens, ask.temperature) for ask in asks] == [(512, 0.0), (None, 0.3), (2048, 0.0)]


def test_the_report_is_written_and_the_results_have_errors(tmp_path: Path) -> None:
    run = evaluate(tmp_path, KINDS, "voted", model(lambda request: "yes" if request.text == "a" else "no"))
    report = json.loads((run.folder.artifacts / "reports/MockBatch/voted.json").read_text())
    assert (report["score"], report["metrics"][0]["name"]) == (0.5, "AverageAccuracy")
    result = run.result("voted", "AverageAccuracy")
    assert (result.value, result.stderr, result.stderr_method) == (0.5, 0.5, "mean")
    assert result.artifacts == ("artifacts/reports/MockBatch/voted.json",)


def test_gold_answers_of_a_mock(tmp_path: Path) -> None:
    assert gold(tmp_path, KINDS, "voted").value("voted", "AverageAccuracy") == 1.0
