"""Continuations scored by real architectures: equal to one forward for each, and cheaper."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from PIL import Image as pil

from polymeter.core.content import Image, Text
from polymeter.core.errors import ModelError
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Message, Request
from polymeter.models.hf.scoring.loglikelihood import ContinuationScorer

WORDS = (
    "the",
    "red",
    "square",
    "is",
    "left",
    "of",
    "a",
    "circle",
    "three",
    "yellow",
    "option",
    "A",
    "B",
    "answer",
    "12",
    ",",
    ".",
    "\n",
)
Opened = Callable[..., ContinuationScorer]
SEEING = ("llava", "llava_next", "idefics3", "gemma3")


@pytest.fixture
def opened(model: Callable[..., Any]) -> Opened:
    """A scorer that knows nothing yet, of an architecture."""

    def make(architecture: str, **options: Any) -> ContinuationScorer:
        made = model(architecture, **options)
        return ContinuationScorer(made._loaded, made._encoder)

    return make


def request(*continuations: str, text: str = "Which colour?", pictures: Sequence[Any] = ()) -> Request:
    parts = (*(Image(picture) for picture in pictures), Text(text))
    return Request((Message("user", parts),), Loglikelihood(continuations))


def drawn(generator: random.Random, *, most_pictures: int) -> Request:
    def words(most: int) -> str:
        return " ".join(generator.choice(WORDS) for _ in range(generator.randint(1, most)))

    def picture() -> Any:
        size = (generator.randint(20, 80), generator.randint(20, 80))
        return pil.effect_noise(size, generator.uniform(20, 120)).convert("RGB")

    choices = [generator.choice((" ", "", "\n", "e")) + words(5) for _ in range(generator.randint(1, 5))]
    pictures = [picture() for _ in range(generator.randint(0, most_pictures))]
    return request(*choices, text=words(14) + generator.choice(("", " ", "\n")), pictures=pictures)


def one_forward_each(scorer: ContinuationScorer, asked: Request) -> list[ChoiceLogprob]:
    """Prompt and continuation through the processor and the network in one piece, continuation by continuation."""
    import torch

    encoder, loaded = scorer._encoder, scorer._loaded
    prompt = encoder.prompt_text(asked)
    kept = prompt.rstrip(" ") if loaded.is_chat else prompt.rstrip()
    assert isinstance(asked.parameters, Loglikelihood)
    scores = []
    for text in asked.parameters.continuations:
        inputs = encoder.encode([asked], [text]).inputs
        ids = inputs["input_ids"][0]
        n_scored = max(1, len(encoder.token_ids(prompt + text)) - len(encoder.token_ids(kept)))
        with torch.inference_mode():
            logprobs = loaded.network(**inputs).logits[0, -n_scored - 1 : -1].log_softmax(-1)
        tokens = ids[-n_scored:]
        is_greedy = bool((logprobs.argmax(-1) == tokens).all())
        scores.append(ChoiceLogprob(float(logprobs.gather(1, tokens[:, None]).sum()), is_greedy, n_scored))
    return scores


def assert_equal(scorer: ContinuationScorer, requests: Sequence[Request]) -> None:
    for asked, response in zip(requests, scorer.score(requests), strict=True):
        assert response.error is None
        for given, expected in zip(response.outputs[0].logprobs, one_forward_each(scorer, asked), strict=True):
            assert given.logprob == pytest.approx(expected.logprob, abs=1e-4)
            assert (given.is_greedy, given.n_tokens) == (expected.is_greedy, expected.n_tokens)


@pytest.mark.parametrize(
    ("architecture", "options"),
    [("llama", {}), ("llama", {"has_template": False}), ("qwen2", {"has_template": False}), *((a, {}) for a in SEEING)],
)
def test_equals_one_forward_for_each_continuation(opened: Opened, architecture: str, options: dict[str, Any]) -> None:
    scorer, generator = opened(architecture, **options), random.Random(7)
    most = 2 if architecture in SEEING else 0

    for size in (1, 3, 4):
        assert_equal(scorer, [drawn(generator, most_pictures=most) for _ in range(size)])

    assert scorer.way == "shared"


def test_a_batch_of_one_and_a_batch_of_many_agree(opened: Opened) -> None:
    scorer, generator = opened("llava"), random.Random(3)
    requests = [drawn(generator, most_pictures=2) for _ in range(6)]

    together = scorer.score(requests)

    for asked, response in zip(requests, together, strict=True):
        alone = scorer.score([asked])[0].outputs[0]
        for one, other in zip(alone.logprobs, response.outputs[0].logprobs, strict=True):
            assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
        assert alone.usage == response.outputs[0].usage


class Spy:
    """Counts what a network computes: forwards, images seen, and positions that logits were made for."""

    def __init__(self, network: Any) -> None:
        self.n_forwards = self.n_images = self.n_positions = 0
        self._handles = [
            network.register_forward_pre_hook(self._forward),
            network.model.vision_tower.register_forward_pre_hook(self._image, with_kwargs=True),
            network.lm_head.register_forward_pre_hook(self._logits),
        ]

    def __enter__(self) -> Spy:
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _forward(self, *_: Any) -> None:
        self.n_forwards += 1

    def _image(self, _: Any, args: Any, kwargs: Any) -> None:
        self.n_images += len(args[0] if args else kwargs["pixel_values"])

    def _logits(self, _: Any, args: Any) -> None:
        self.n_positions += args[0].shape[0] * args[0].shape[1]


def test_letters_take_one_forward_and_one_position_of_logits(opened: Opened) -> None:
    scorer = opened("llava")
    picture = pil.new("RGB", (40, 40), "red")
    asked = request("A", "B", "C", "D", pictures=[picture])

    with Spy(scorer._loaded.network) as spy:
        scorer.score([asked])

    assert (spy.n_forwards, spy.n_images, spy.n_positions) == (1, 1, 1)


def test_longer_choices_take_one_forward_and_logits_of_their_own_positions(opened: Opened) -> None:
    scorer = opened("llava")
    pictures = [pil.new("RGB", (40, 40), colour) for colour in ("red", "blue")]
    asked = [request(" red square", " blue star", text="Which?" * n, pictures=[pictures[n - 1]]) for n in (1, 2)]
    scorer.score(asked)  # the first time, choices are also read apart

    with Spy(scorer._loaded.network) as spy:
        responses = scorer.score(asked)

    longest = max(one.n_tokens for response in responses for one in response.outputs[0].logprobs)
    assert (spy.n_forwards, spy.n_images) == (1, 2)
    assert spy.n_positions <= 2 + 4 * longest


def greedy(scorer: ContinuationScorer, context: str, n_tokens: int) -> str | None:
    """What the network writes greedily; ``None`` if that is tokenised otherwise when it is read."""
    import torch

    begun = scorer._encoder.encode([request(text=context)]).inputs["input_ids"]
    ids = begun
    with torch.inference_mode():
        for _ in range(n_tokens):
            ids = torch.cat([ids, scorer._loaded.network(input_ids=ids).logits[:, -1:].argmax(-1)], dim=1)
    written = str(scorer._loaded.tokenizer.decode(ids[0, begun.shape[1] :]))
    joint = scorer._encoder.token_ids(context + written)
    return written if joint == ids[0, -len(joint) :].tolist() else None


def test_is_greedy_is_what_greedy_generation_writes(opened: Opened) -> None:
    scorer = opened("llama", has_template=False)
    found = [(context, text) for context in WORDS if context.strip() and (text := greedy(scorer, context, 3))]
    assert found

    for context, text in found:
        scores = scorer.score([request(text, text + " A", "A" + text, text=context)])[0].outputs[0].logprobs
        assert scores[0].is_greedy
        assert not scores[2].is_greedy


def test_an_empty_continuation_is_certain(opened: Opened) -> None:
    scores = opened("llava").score([request("", "red")])[0].outputs[0].logprobs

    assert scores[0] == ChoiceLogprob(0.0, True, 0)
    assert scores[1].n_tokens > 0
    assert scores[1].logprob < 0


def test_no_continuations_and_only_empty_ones(opened: Opened) -> None:
    none, empty = opened("llama").score([request(), request("", "")])

    assert none.outputs[0].logprobs == ()
    assert empty.outputs[0].logprobs == (ChoiceLogprob(0.0, True, 0),) * 2


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
def test_an_empty_context_begins_with_the_first_special_token(opened: Opened, architecture: str) -> None:
    import torch

    scorer = opened(architecture, has_template=False)
    tokens = [scorer._loaded.tokenizer.bos_token_id, *scorer._encoder.token_ids("red square")]
    with torch.inference_mode():
        logprobs = scorer._loaded.network(input_ids=torch.tensor([tokens])).logits[0, :-1].log_softmax(-1)
    expected = float(logprobs.gather(1, torch.tensor(tokens[1:])[:, None]).sum())

    alone = scorer.score([request("red square", text="")])
    beside = scorer.score([request(" one", text="a longer context"), request("red square", text="")])

    assert alone[0].outputs[0].logprobs[0].logprob == pytest.approx(expected, abs=1e-4)
    assert beside[1].outputs[0].logprobs[0].logprob == pytest.approx(expected, abs=1e-4)


def test_the_space_before_a_choice_counts(opened: Opened) -> None:
    scores = opened("llama", has_template=False).score([request("A", " A", text="Answer:")])[0].outputs[0].logprobs

    assert scores[0].logprob != pytest.approx(scores[1].logprob, abs=1e-3)


def test_a_space_at_the_end_of_the_context_is_the_choices_own(opened: Opened) -> None:
    scorer = opened("llama", has_template=False)

    with_space = scorer.score([request("circle", "star", text="Answer: ")])[0].outputs[0].logprobs
    without = scorer.score([request(" circle", " star", text="Answer:")])[0].outputs[0].logprobs

    for one, other in zip(with_space, without, strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)


def test_a_request_that_is_too_long_fails_alone(opened: Opened) -> None:
    scorer = opened("llama", positions=64)

    responses = scorer.score([request("A", "B"), request("A", "circle " * 80), request("A", text="star " * 80)])

    assert responses[0].error is None
    for response in responses[1:]:
        assert response.error is not None
        assert response.error.kind == "permanent"
        assert "more than 64" in response.error.message


def test_a_picture_that_cannot_be_read_fails_alone(opened: Opened) -> None:
    broken = Request((Message("user", (Image(b"no picture"), Text("What?"))),), Loglikelihood(("A",)))

    good, bad = opened("llava").score([request("A"), broken])

    assert good.error is None
    assert bad.error is not None
    assert bad.error.kind == "data"


def test_usage_counts_no_padding(opened: Opened) -> None:
    scorer = opened("llava")
    short, long = request("red", text="a"), request("red square", text="circle " * 20)

    usages = [response.outputs[0].usage for response in scorer.score([short, long])]

    for asked, usage in zip((short, long), usages, strict=True):
        assert usage.input_tokens == scorer._encoder.encode([asked]).n_tokens[0]
    assert usages[0].output_tokens < usages[1].output_tokens


def test_running_out_of_memory_is_told_as_such(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = opened("llama")

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    monkeypatch.setattr(type(scorer._loaded.network), "forward", fail)

    with pytest.raises(ModelError, match="Memory ran out") as caught:
        scorer.score([request("A")])
    assert caught.value.kind == "out_of_memory"


# --- with the chat template, and without ------------------------------------------------------------------------------


def by_hand(made: Any, context: str, tails: Sequence[Sequence[int]]) -> list[float]:
    """Log-probabilities of tokens behind a text, one forward for each."""
    import torch

    loaded = made._loaded
    own = loaded.tokenizer(context)["input_ids"]
    sums = []
    for tail in tails:
        with torch.inference_mode():
            logits = loaded.network(torch.tensor([[*own, *tail]])).logits[0].float().log_softmax(-1)
        sums.append(sum(float(logits[len(own) - 1 + at, token]) for at, token in enumerate(tail)))
    return sums


@pytest.mark.parametrize("has_template", [True, False])
def test_log_probabilities_behind_the_text_alone(has_template: bool, checkpoint: Callable[..., Any]) -> None:
    from polymeter.models.hf import HfModel

    folder = str(checkpoint("llama", has_template=has_template))
    raw = HfModel(folder, logprob_template="none")
    raw.load()
    asked = request(" red", " yellow circle", text="the square is")
    token_ids = raw._encoder.token_ids
    expected = by_hand(
        raw,
        "the square is",
        [token_ids("the square is" + one)[len(token_ids("the square is")) :] for one in (" red", " yellow circle")],
    )
    (response,) = raw.respond([asked])
    assert [one.logprob for one in response.outputs[0].logprobs] == pytest.approx(expected, abs=1e-4)


def test_auto_is_the_template_of_a_chat_checkpoint_and_the_text_of_a_base_one(checkpoint: Callable[..., Any]) -> None:
    from polymeter.models.hf import HfModel

    asked = request(" red", " yellow circle", text="the square is")

    def scores(chat: bool, **options: Any) -> list[float]:
        made = HfModel(str(checkpoint("llama", has_template=chat)), **options)
        made.load()
        return [one.logprob for one in made.respond([asked])[0].outputs[0].logprobs]

    assert scores(True) == scores(True, logprob_template="chat") != scores(True, logprob_template="none")
    assert scores(False) == scores(False, logprob_template="none")


def test_a_request_may_demand_the_text_alone_and_the_last_token_of_each_choice(checkpoint: Callable[..., Any]) -> None:
    from polymeter.models.hf import HfModel

    made = HfModel(str(checkpoint("llama", has_template=True)))
    made.load()
    choices = ("yellow circle", "A", "left B")
    message = (Message("user", (Text("the answer is "),)),)
    wanted = Request(message, Loglikelihood(choices, "none", is_last_token=True))
    usual = Request(message, Loglikelihood(choices))
    first, second = made.respond([wanted, usual])
    token_ids = made._encoder.token_ids
    expected = by_hand(made, "the answer is ", [token_ids(choice)[-1:] for choice in choices])
    assert [one.logprob for one in first.outputs[0].logprobs] == pytest.approx(expected, abs=1e-4)
    assert [one.n_tokens for one in first.outputs[0].logprobs] == [1, 1, 1]
    assert first.outputs != second.outputs


def test_the_choice_is_part_of_the_models_identity_and_older_runs_stay_the_same(checkpoint: Callable[..., Any]) -> None:
    from polymeter.core.errors import PlanError
    from polymeter.core.identity import request_fingerprint
    from polymeter.models.hf import HfModel

    chat, base = (str(checkpoint("llama", has_template=is_chat)) for is_chat in (True, False))
    assert "logprob_template" not in HfModel(chat).identity
    assert HfModel(chat, logprob_template="none").identity["logprob_template"] == "none"
    with pytest.raises(PlanError, match="no chat template"):
        HfModel(base, logprob_template="chat")
    with pytest.raises(PlanError, match="cannot be 'chats'"):
        HfModel(chat, logprob_template="chats")
    message = (Message("user", (Text("q"),)),)
    prints = {
        request_fingerprint(Request(message, Loglikelihood(("a",), *more))) for more in ((), ("none",), ("none", True))
    }
    assert len(prints) == 3
