"""Whole texts scored in windows, and prompts that are read without the chat template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from polymeter.core.content import Text
from polymeter.core.names.parity import parity_with
from polymeter.core.request import Generate, Loglikelihood, Message, Request
from polymeter.models.hf.scoring.score_rolling import Window, windows
from tests.helpers.differences import difference

pytest.importorskip("torch")
from polymeter.models.hf import HfModel

TEXT = "the red square is left of a circle, three yellow option A B answer 12 . " * 3


@pytest.mark.parametrize(
    ("n_tokens", "longest", "expected"),
    [
        (3, 4, [((-1,), (0, 1, 2))]),
        (4, 4, [((-1,), (0, 1, 2, 3))]),
        # The last window, which scores two, reads as many as the others.
        (10, 4, [((-1,), (0, 1, 2, 3)), ((3,), (4, 5, 6, 7)), ((5, 6, 7), (8, 9))]),
        (5, 1, [((-1,), (0,)), ((0,), (1,)), ((1,), (2,)), ((2,), (3,)), ((3,), (4,))]),
        (6, 0, [((-1,), (0, 1, 2, 3, 4, 5))]),
        (0, 4, []),
    ],
)
def test_windows_score_each_token_once_and_are_full(
    n_tokens: int, longest: int, expected: list[tuple[tuple[int, ...], tuple[int, ...]]]
) -> None:
    assert windows(range(n_tokens), -1, longest) == [Window(*window) for window in expected]


def rolling(*texts: str) -> Request:
    return Request((Message("user", (Text(""),)),), Loglikelihood(texts, is_rolling=True))


def token_by_token(model: Any, text: str, longest: int) -> float:
    """Each token's log-probability from a forward of its own."""
    import torch

    loaded = model._loaded
    tokens = loaded.tokenizer(text)["input_ids"]
    total = 0.0
    for window in windows(tokens, model._scorer._first, longest):
        for place, token in enumerate(window.scored):
            read = torch.tensor([[*window.context, *window.scored[:place]]])
            with torch.inference_mode():
                total += float(loaded.network(read).logits[0, -1].log_softmax(-1)[token])
    return total


@pytest.mark.parametrize("max_length", [0, 16])
def test_a_text_has_the_sum_of_its_tokens_log_probabilities(max_length: int, checkpoint: Callable[..., Any]) -> None:
    made = HfModel(str(checkpoint("llama")), max_length=max_length)
    made.load()
    texts = [TEXT, "circle", ""]
    longest = made._loaded.max_length

    responses = made.respond([rolling(*texts[:2]), rolling(texts[2])])

    given = [choice for response in responses for choice in response.outputs[0].logprobs]
    assert [choice.logprob for choice in given[:2]] == pytest.approx(
        [token_by_token(made, text, longest) for text in texts[:2]], abs=1e-3
    )
    assert (given[2].logprob, given[2].n_tokens) == (0.0, 0)
    assert given[0].n_tokens == len(made._loaded.tokenizer(TEXT)["input_ids"])


def test_batches_of_texts_change_no_number(model: Callable[..., Any]) -> None:
    made = model("llama")
    alone = [made.respond([rolling(TEXT[:n])])[0].outputs[0].logprobs[0].logprob for n in (5, 60, 200)]
    together = [one.outputs[0].logprobs[0].logprob for one in made.respond([rolling(TEXT[:n]) for n in (5, 60, 200)])]
    assert together == pytest.approx(alone, abs=1e-4)


def test_an_encoder_decoder_says_that_it_scores_no_whole_texts(model: Callable[..., Any]) -> None:
    response = model("whisper").respond([rolling("circle")])[0]
    assert response.error is not None
    assert "no log-probabilities of whole texts" in response.error.message


def asked(template: str, *, text: str = "the red square") -> Request:
    return Request((Message("user", (Text(text),)),), Generate(4, 0.0, template=template))  # type: ignore[arg-type]


def test_a_request_may_demand_its_text_without_the_chat_template(model: Callable[..., Any]) -> None:
    made = model("llama")
    assert made._loaded.is_chat
    shown = [made._encoder.read(asked(template)).text for template in ("auto", "none")]

    answers = made.respond([asked("none"), asked("auto"), asked("none")])

    assert shown[1] == "the red square"
    assert shown[0] != shown[1]
    assert answers[0].outputs == answers[2].outputs
    assert answers[0].outputs[0].usage.input_tokens == len(made._loaded.tokenizer("the red square")["input_ids"])
    assert greedy(made, "the red square", 4) == answers[0].text


def greedy(model: Any, text: str, n: int) -> str:
    import torch

    loaded = model._loaded
    ids = torch.tensor([loaded.tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        out = loaded.network.generate(ids, max_new_tokens=n, do_sample=False, pad_token_id=loaded.pad_id)
    return str(loaded.tokenizer.decode(_without_end(out[0, ids.shape[1] :].tolist(), loaded.eos_ids)))


def _without_end(tokens: Sequence[int], ends: Sequence[int]) -> list[int]:
    return [token for token in tokens if token not in ends]


def test_a_text_that_is_too_long_is_cut_at_its_beginning_if_that_is_wanted(checkpoint: Callable[..., Any]) -> None:
    import torch

    folder = str(checkpoint("llama", has_template=False))
    strict, cutting = (HfModel(folder, max_length=24, cut_prompts=cuts) for cuts in (False, True))
    for made in (strict, cutting):
        made.load()
    text, continuations = TEXT.rstrip(), (" A", " red square is left", "")
    short = Request((Message("user", (Text("the red"),)),), Loglikelihood(continuations))
    long = Request((Message("user", (Text(text),)),), Loglikelihood(continuations))
    wordy = Request((Message("user", (Text(text),)),), Generate(4, 0.0))

    refused = strict.respond([long])[0]
    given = cutting.respond([short, long])
    answered = cutting.respond([wordy, wordy])

    assert "more than 24" in refused.error.message
    assert given[0].outputs == strict.respond([short])[0].outputs
    network, tokenizer = cutting._loaded.network, cutting._loaded.tokenizer
    for choice, continuation in zip(given[1].outputs[0].logprobs[:2], continuations, strict=False):
        context, joint = tokenizer(text)["input_ids"], tokenizer(text + continuation)["input_ids"]
        n_scored = len(joint) - len(context)
        read = torch.tensor([joint[-25:-1]])
        with torch.inference_mode():
            logprobs = network(read).logits[0, -n_scored:].log_softmax(-1)
        own = torch.tensor(joint[-n_scored:])
        assert choice.logprob == pytest.approx(float(logprobs.gather(1, own[:, None]).sum()), abs=1e-4)
    assert given[1].outputs[0].note == "the context was cut at its beginning"
    assert given[1].outputs[0].logprobs[2].n_tokens == 0
    assert [response.outputs[0].usage.input_tokens for response in answered] == [20, 20]


@difference("cut-prompts", here="more than 24", there="")
def test_a_run_at_parity_with_lm_eval_cuts_long_texts(
    checkpoint: Callable[..., Any], parity: str, expected: str
) -> None:
    made = loaded_at(checkpoint("llama", has_template=False), parity, max_length=24)
    long = Request((Message("user", (Text(TEXT),)),), Loglikelihood((" A",)))
    error = made.respond([long])[0].error
    assert (expected in error.message) if expected else error is None


@difference("template-line-break", here=1, there=2)
def test_a_run_at_parity_with_lm_eval_scores_the_line_break_of_a_template(
    checkpoint: Callable[..., Any], parity: str, expected: int
) -> None:
    template = "{% for m in messages %}{{ m.content if m.content is string else m.content[0].text }}\nA\n{% endfor %}"
    made = loaded_at(checkpoint("llama"), parity, chat_template=template)
    prompt = made._encoder.read(asked("auto")).text
    assert prompt.endswith("\n")
    asking = Request((Message("user", (Text("the red square"),)),), Loglikelihood((" A",)))
    assert made.respond([asking])[0].outputs[0].logprobs[0].n_tokens == expected


def loaded_at(folder: Any, parity: str, **options: Any) -> HfModel:
    made = HfModel(str(folder), **options)
    made.parity = parity_with(parity)
    made.load()
    return made


def test_double_precision_keeps_its_digits(checkpoint: Callable[..., Any]) -> None:
    import torch

    made = loaded_at(checkpoint("llama", has_template=False), "none", dtype="float64")
    texts = ("the red square is", "left of a circle")
    asking = Request((Message("user", (Text(texts[0]),)),), Loglikelihood((f" {texts[1]}",)))
    choice = made.respond([asking])[0].outputs[0].logprobs[0]
    context, joint = (made._loaded.tokenizer(text)["input_ids"] for text in (texts[0], " ".join(texts)))
    with torch.inference_mode():
        logprobs = made._loaded.network(torch.tensor([joint])).logits[0, :-1].log_softmax(-1)
    own = torch.tensor(joint[1:])
    each = logprobs.gather(1, own[:, None])[len(context) - 1 :]
    assert choice.logprob == pytest.approx(float(each.sum()), abs=1e-12)
