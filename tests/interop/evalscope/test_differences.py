"""Each switch of ``--parity evalscope``, both ways."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from PIL import Image

import polymeter
from polymeter.core.errors import PlanError, UnscoredError
from polymeter.core.guest_context import answering_through, guest_context_with
from polymeter.core.model import ModelTraits
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Loglikelihood, Origin, Response
from polymeter.interop.evalscope.tasks.base import DataAdapter
from polymeter.interop.evalscope.tasks.prompts import RequestForm, requests_for
from polymeter.interop.evalscope.tasks.scoring import metrics
from polymeter.interop.evalscope.tasks.scoring.filters import Filter
from polymeter.interop.evalscope.tasks.scoring.judging import LLMJudge
from polymeter.interop.evalscope.tasks.scoring.parsers import lmsys_parser
from polymeter.interop.evalscope.tasks.settings import choose_mode
from polymeter.metrics.image_text import ImageTextScorer, image_scorer
from polymeter.models.openai.model import OpenAIModel
from polymeter.store.exports.export import read_samples
from tests.conformance.evalscope.facade_kit import benchmarks
from tests.helpers.differences import difference

pytestmark = pytest.mark.needs_system("evalscope")

CHECKPOINT = ModelTraits("m", requests={"generate": True, "loglikelihood": True})
ENDPOINT = ModelTraits("m", requests={"generate": True}, is_endpoint=True)
WRAPPED = ModelTraits("m", requests={"generate": True})
LOGITS = ["multiple_choice_logits", "generation"]


# --- filters ----------------------------------------------------------------------------------------------------------


class _Base(DataAdapter):
    def get_gold_answer(self, input_d: Any) -> Any:
        return ""

    def match(self, gold: Any, pred: Any) -> Any:
        return 0


class _Parsing(_Base):
    def parse_pred_result(self, result: Any, raw_input_d: Any = None, eval_type: str = "checkpoint") -> Any:
        return f"({result})"


class _Below(_Parsing):
    pass


class _Calling(_Below):
    def parse_pred_result(self, result: Any, raw_input_d: Any = None, eval_type: str = "checkpoint") -> Any:
        return super().parse_pred_result(result, raw_input_d, eval_type=eval_type) + "!"


def _parsed(kind: type[DataAdapter], parity: str) -> Any:
    Filter.register("longer")(lambda value, tail: value + tail)
    try:
        adapter = kind("n", "d", "generation", [], [], filters={"longer": "+"})
        with guest_context_with(parity=parity_with(parity)):
            return adapter.parse_pred_result(result="x", raw_input_d={}, eval_type="checkpoint")
    finally:
        del Filter._registry["longer"]


@difference("filters", here=["x+", "(x+)", "(x+)", "(x+)!"], there=["x+", "(x+)", "(x++)", "(x+++)!"])
def test_filters_are_applied_for_each_class(parity: str, expected: list[str]) -> None:
    assert [_parsed(kind, parity) for kind in (_Base, _Parsing, _Below, _Calling)] == expected


# --- requests ---------------------------------------------------------------------------------------------------------


@difference("answers-at-once", here=False, there=True)
def test_answers_to_one_prompt_are_asked_for_in_one_request(parity: str, expected: bool) -> None:
    model = OpenAIModel("m", base_url="http://127.0.0.1:9/v1")
    model.parity = parity_with(parity)
    assert model.joins_repeats is expected


# --- modes and log-probabilities --------------------------------------------------------------------------------------


@difference("adapter-mode", here="generation", there="multiple_choice_logits")
def test_the_mode_that_an_adapter_is_told_at_an_endpoint(parity: str, expected: str) -> None:
    mode = choose_mode("b", LOGITS[0], LOGITS, ENDPOINT, None, parity=parity_with(parity))
    assert (mode.told, mode.request_kind, mode.output_type) == (expected, "generate", "generation")


@difference("unknown-logprobs", here=["generate", "loglikelihood"], there=["loglikelihood", "generate"])
def test_how_a_model_is_asked_of_which_nothing_is_known(parity: str, expected: list[str]) -> None:
    of_wrapped = choose_mode("b", LOGITS[0], LOGITS, WRAPPED, None, parity=parity_with(parity))
    wanted = choose_mode("b", LOGITS[0], LOGITS, ENDPOINT, None, is_wanted_by_run=True, parity=parity_with(parity))
    assert [of_wrapped.request_kind, wanted.request_kind] == expected


def _asked(parity: str, **prompt: Any) -> list[Any]:
    switches = parity_with(parity)
    kind = "continuous_logits" if "multi_choices" not in prompt else LOGITS[0]
    form = RequestForm(
        kind,
        Loglikelihood(()),
        has_raw_contexts=switches.on("raw-logprobs"),
        counts_last_tokens=switches.on("choice-tokens"),
    )
    requests = requests_for({"system_prompt": "Be brief.", **prompt}, form, Origin("t", "s"))
    return [([message.text for message in request.messages], request.parameters) for request in requests]


@difference("raw-logprobs", here=(["Be brief.", "Say"], "auto"), there=(["Say"], "none"))
def test_what_log_probabilities_are_taken_behind(parity: str, expected: tuple[list[str], str]) -> None:
    ((texts, parameters),) = _asked(parity, data=[("Say ", "a"), ("Say ", "b")])
    assert (texts, parameters.template) == expected
    assert parameters.continuations == (" a", " b")


@difference("choice-tokens", here=False, there=True)
def test_which_tokens_of_a_choice_count(parity: str, expected: bool) -> None:
    ((_, parameters),) = _asked(parity, data=["Say "], multi_choices=["A", "B"])
    assert (parameters.continuations, parameters.is_last_token) == (("A", "B"), expected)


# --- judges -----------------------------------------------------------------------------------------------------------


_CUT_OFF = Response.of_text("<think>it is B, or")


def _score(judge: LLMJudge, text: str, parity: str) -> Any:
    with guest_context_with(parity=parity_with(parity)):
        try:
            return judge.get_score(text)
        except UnscoredError:
            return None


@difference("judge-reading", here=[None, None, 1.0, 0.0, None], there=[1.0, 0.0, 1.0, 0.0, 0.0])
def test_verdicts_that_are_hidden_or_missing(parity: str, expected: list[Any]) -> None:
    said = ["As an expert I say B.", "no verdict", "A", "B", ""]
    assert [_score(LLMJudge(), text, parity) for text in said] == expected


@difference("judge-reading", here=[None, 0.5, None, None], there=[0.2, 0.5, 7.0, None])
def test_ratings(parity: str, expected: list[Any]) -> None:
    said = ["first [[0.2]], no: [[0.4]]", "[[0.5]]", "[[7]]", "none at all"]
    assert [_score(LLMJudge(score_type="numeric"), text, parity) for text in said] == expected


@difference("judge-reading", here=None, there=0.0)
def test_a_judge_that_was_cut_off_in_its_reasoning(parity: str, expected: Any) -> None:
    with guest_context_with(parity=parity_with(parity)), answering_through(lambda role, request: _CUT_OFF):
        if expected is None:
            with pytest.raises(UnscoredError, match="ended inside its reasoning"):
                LLMJudge()("p")
        else:
            judge = LLMJudge()
            assert judge.get_score(judge("p")) == expected


@difference("judge-prompt", here="p", there="<think>B</think>p")
def test_a_judge_sees_reasoning_only_as_there(parity: str, expected: str) -> None:
    with guest_context_with(parity=parity_with(parity)):
        prompt = LLMJudge().build_prompt("<think>B</think>p", "g", "q")
        own = LLMJudge(prompt_template="{pred}").build_prompt("<think>B</think>p", "g", "q")
    assert f"\n{expected}\n" in prompt
    assert own == expected


@difference("judge-reading", here=None, there=0.0)
def test_an_unknown_grade_of_an_own_pattern(parity: str, expected: Any) -> None:
    judge = LLMJudge(score_pattern="(A|B|C)", score_mapping={"A": 1.0})
    assert _score(judge, "C", parity) == expected


@difference(
    "judge-prompt", here="Compare a candidate's answer", there="Your job is to look at a question, a gold target"
)
def test_the_prompt_of_a_judge(parity: str, expected: str) -> None:
    judge, own = LLMJudge(), LLMJudge(prompt_template="{pred}?")
    with guest_context_with(parity=parity_with(parity)):
        assert judge.build_prompt("p", "g", "q").startswith(expected)
        assert own.build_prompt("p", "g", "q") == "p?"


@difference("judge-prompt", here="Rate how good", there="Please act as an impartial judge")
def test_the_prompt_for_a_rating(parity: str, expected: str) -> None:
    with guest_context_with(parity=parity_with(parity)):
        assert LLMJudge(score_type="numeric").build_prompt("p", "g").startswith(expected)


# --- metrics and parsers ----------------------------------------------------------------------------------------------


@difference("rouge-parts", here=(0.5, 1.0), there=(1.0, 0.5))
def test_recall_and_precision(parity: str, expected: tuple[float, float]) -> None:
    with guest_context_with(parity=parity_with(parity)):
        scores = metrics.compute_rouge_score_one_sample(["a b"], ["a b c d"])
    assert (scores["rouge-1-r"], scores["rouge-1-p"]) == expected
    assert scores["rouge-1-f"] == pytest.approx(2 / 3)


@difference("rouge-empty", here=9, there=0)
def test_scores_of_an_empty_answer(parity: str, expected: int) -> None:
    with guest_context_with(parity=parity_with(parity)):
        assert len(metrics.compute_rouge_score_one_sample_zh([""], ["a b"])) == expected


@difference("number-words", here="1002000", there="1003002")
def test_a_scale_word_at_the_end(parity: str, expected: str) -> None:
    with guest_context_with(parity=parity_with(parity)):
        assert metrics.strip_answer_string("one million two thousand") == expected
        assert metrics.extract_answer("The answer is one million two thousand") == expected
        assert metrics.strip_answer_string("two million three") == "2000003"
        assert metrics.strip_answer_string("five thousand") == "5000"


@difference("latex-first", here=False, there=True)
def test_what_follows_an_expression(parity: str, expected: bool) -> None:
    with guest_context_with(parity=parity_with(parity)):
        assert metrics.math_equal("2^{9}.Iamsure", "2^{9}") is expected
        assert metrics.math_equal("x=2^{9}.Iamsure", "2^{9}") is expected
        assert metrics.math_equal("y+x=2^{9}.Iamsure", "x+y=512") is expected
        assert metrics.math_equal(r"\frac{1}{2}+x", "x+1/2")
        assert not metrics.math_equal("2^{9}.Iamsure", "2^{8}")


@difference("no-verdict-pair", here="unknown", there="tie")
def test_a_pair_that_says_nothing(parity: str, expected: str) -> None:
    with guest_context_with(parity=parity_with(parity)):
        winner, scores = lmsys_parser("-1 -1", "[[rating_a,rating_b]]")
    assert expected in str(winner).lower()
    assert scores == [-1, -1]


@difference("bleu-words", here=0.5, there=0.0)
def test_whose_words_bleu_counts(parity: str, expected: float, monkeypatch: pytest.MonkeyPatch) -> None:
    toolkit: Any = ModuleType("nltk")
    toolkit.word_tokenize = lambda text: [text]
    monkeypatch.setitem(sys.modules, "nltk", toolkit)
    with guest_context_with(parity=parity_with(parity)):
        assert metrics.bleu_ngram_one_sample("a b", "a c")["bleu-1"] == expected


def test_words_of_a_package_that_is_missing_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nltk", None)
    with guest_context_with(parity=parity_with("evalscope")), pytest.raises(PlanError, match="needs NLTK"):
        metrics.bleu_ngram_one_sample("a b", "a c")


# --- whole runs -------------------------------------------------------------------------------------------------------


@difference("judge-reading", here=("unscored", None), there=("ok", 0.0))
def test_a_run_counts_an_unreadable_verdict_as_there(
    tmp_path: Path, parity: str, expected: tuple[str, float | None]
) -> None:
    run = polymeter.evaluate(
        "mock",
        "capitals",
        roles={"judge": "mock"},
        include_paths=[benchmarks(tmp_path)],
        output=tmp_path / "run",
        limit=1,
        parity=parity,
        dialect_options={"adapter": {"judge_strategy": "llm"}},
    )
    assert run.results["tasks"]["capitals"]["statuses"] == {expected[0]: 2}
    assert run.value("capitals", "AverageAccuracy") == expected[1]


@difference("judge-prompt", here="Compare a candidate's answer", there="Your job is to look at a question")
def test_a_run_asks_its_judge_as_there(tmp_path: Path, parity: str, expected: str) -> None:
    run = polymeter.evaluate(
        "mock",
        "capitals",
        roles={"judge": "mock"},
        include_paths=[benchmarks(tmp_path)],
        output=tmp_path / "run",
        limit=1,
        parity=parity,
        dialect_options={"adapter": {"judge_strategy": "llm"}},
    )
    sample = next(iter(read_samples(run.folder, "capitals")))
    (asked,) = [one["request"] for one in sample["exchanges"] if one["role"] == "judge"]
    assert expected in str(asked)


# --- images -----------------------------------------------------------------------------------------------------------


@difference("clip-network", here="transformers", there="open_clip")
def test_whose_network_clip_score_is(parity: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("open_clip", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with guest_context_with(parity=parity_with(parity)), pytest.raises(PlanError, match=f"'{expected}'"):
        image_scorer("CLIPScore")


@difference("image-transparency", here=(255, 255, 255), there=(0, 0, 0))
@pytest.mark.parametrize("is_file", [True, False])
def test_transparent_parts_of_an_image_that_is_scored(
    tmp_path: Path, is_file: bool, parity: str, expected: tuple[int, int, int]
) -> None:
    clear = Image.new("RGBA", (2, 2), (0, 0, 0, 0))
    clear.save(tmp_path / "clear.png")
    scorer = ImageTextScorer(lambda image, texts: image.getpixel((0, 0)))
    with guest_context_with(parity=parity_with(parity)):
        assert scorer([tmp_path / "clear.png" if is_file else clear], ["a text"]) == [expected]


@difference("blip-tokens", here={}, there={"max_length": 35})
def test_how_much_of_a_text_blip_reads(
    tmp_path: Path, parity: str, expected: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    asked: list[dict[str, Any]] = []

    class Inputs(dict[str, Any]):
        def to(self, device: Any) -> Inputs:
            return self

    def prepare(**named: Any) -> Inputs:
        asked.append({name: value for name, value in named.items() if name == "max_length"})
        return Inputs()

    matching = SimpleNamespace(from_pretrained=lambda place: _Network(torch))
    toolkit: Any = ModuleType("transformers")
    toolkit.AutoProcessor = SimpleNamespace(from_pretrained=lambda place: prepare)
    toolkit.Blip2ForImageTextRetrieval = matching
    monkeypatch.setitem(sys.modules, "transformers", toolkit)
    Image.new("RGB", (2, 2)).save(tmp_path / "one.png")
    with guest_context_with(parity=parity_with(parity)):
        image_scorer("BLIPv2Score")(str(tmp_path / "one.png"), "a text")
    assert asked == [expected]


class _Network:
    """Gives the same logits for every image and text."""

    device = "cpu"

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def eval(self) -> _Network:
        return self

    def to(self, device: Any) -> _Network:
        return self

    def __call__(self, **inputs: Any) -> Any:
        return SimpleNamespace(logits_per_image=self._torch.zeros((1, 2)))
