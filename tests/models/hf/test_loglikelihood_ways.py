"""Ways of scoring on networks without a processor: what shares its prefix, what does not, and how that is found out."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from polymeter.core.content import Text
from polymeter.core.request import ChoiceLogprob, Loglikelihood, Message, Request
from polymeter.models.hf.scoring import loglikelihood, prefix, score_encoder_decoder, score_plain, score_shared
from polymeter.models.hf.scoring.score_tokens import Split, Tail

VOCABULARY = 120
IMAGE, IMAGE_START, IMAGE_END, PAD = 10, 11, 12, 0
BASE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": PAD,
}


def made(name: str, **fields: Any) -> Any:
    """A network with random weights, wide enough that every token matters."""
    import torch
    import transformers

    class_name, config_name = {
        "gpt2": ("GPT2LMHeadModel", "GPT2Config"),
        "bloom": ("BloomForCausalLM", "BloomConfig"),
        "mistral": ("MistralForCausalLM", "MistralConfig"),
        "gemma2": ("Gemma2ForCausalLM", "Gemma2Config"),
        "mamba": ("MambaForCausalLM", "MambaConfig"),
        "falcon_h1": ("FalconH1ForCausalLM", "FalconH1Config"),
        "t5": ("T5ForConditionalGeneration", "T5Config"),
        "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLConfig"),
        "qwen3_vl": ("Qwen3VLForConditionalGeneration", "Qwen3VLConfig"),
    }[name]
    torch.manual_seed(0)
    network = getattr(transformers, class_name)(getattr(transformers, config_name)(**fields)).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.15)
    return network


WINDOW = {**BASE, "num_key_value_heads": 2, "sliding_window": 6}
GPT2 = {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2}
BLOOM = {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}
MAMBA = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
FALCON_H1 = {
    **BASE,
    "num_key_value_heads": 2,
    "mamba_d_ssm": 64,
    "mamba_n_heads": 8,
    "mamba_d_head": 8,
    "mamba_d_state": 8,
    "mamba_n_groups": 1,
}
SHARING = [("gpt2", GPT2), ("bloom", BLOOM), ("mistral", WINDOW), ("gemma2", {**WINDOW, "head_dim": 8})]
RUNNING_STATE = [("mamba", MAMBA), ("falcon_h1", FALCON_H1)]


def tokens(generator: random.Random, n: int) -> list[int]:
    return [generator.randrange(20, VOCABULARY) for _ in range(n)]


def drawn(generator: random.Random, context: Sequence[int]) -> Split:
    """Continuations of which some read again one or two of the context's last tokens."""
    n_dropped = min(generator.choice((0, 0, 1, 2)), len(context) - 1)
    tails = []
    for _ in range(generator.randint(1, 4)):
        n_kept = generator.randint(0, n_dropped)
        again = list(context[len(context) - n_dropped :][:n_kept])
        tails.append(Tail((*again, *tokens(generator, generator.randint(1, 6))), n_kept))
    return Split(len(context), n_dropped, tuple(tails))


def batch(contexts: Sequence[Sequence[int]]) -> dict[str, Any]:
    import torch

    width = max(map(len, contexts))
    return {
        "input_ids": torch.tensor([[PAD] * (width - len(one)) + list(one) for one in contexts]),
        "attention_mask": torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in contexts]),
    }


def whole(network: Any, context: Sequence[int], split: Split, **media: Any) -> list[ChoiceLogprob]:
    """One forward over context and continuation, nothing padded."""
    import torch

    scores = []
    for tail in split.tails:
        ids = torch.tensor([[*context[: len(context) - split.n_dropped], *tail.tokens]])
        given = {name: tell(ids) if callable(tell) else tell for name, tell in media.items()}
        with torch.inference_mode():
            logprobs = network(input_ids=ids, **given).logits[0, -tail.n_scored - 1 : -1].log_softmax(-1)
        own = ids[0, -tail.n_scored :]
        is_greedy = bool((logprobs.argmax(-1) == own).all())
        scores.append(ChoiceLogprob(float(logprobs.gather(1, own[:, None]).sum()), is_greedy, tail.n_scored))
    return scores


def assert_close(given: Sequence[ChoiceLogprob], expected: Sequence[ChoiceLogprob]) -> None:
    for one, other in zip(given, expected, strict=True):
        assert one.logprob == pytest.approx(other.logprob, abs=1e-4)
        assert (one.is_greedy, one.n_tokens) == (other.is_greedy, other.n_tokens)


def shared(network: Any, inputs: dict[str, Any], splits: Sequence[Split]) -> list[list[ChoiceLogprob]]:
    """With one scorer, which reads tails together with prefixes, then packed on their cache, and then each apart."""
    import torch

    scorer = score_shared.SharedScorer(network, 1)
    with torch.inference_mode():
        scores = [scorer.score(inputs, splits) for _ in range(2)]
        scorer.is_whole = dict.fromkeys(scorer.is_whole, False)
        scores += [scorer.score(inputs, splits) for _ in range(2)]
        scorer.is_packed = False
        scores.append(scorer.score(inputs, splits))
    for other in scores[1:]:
        for one, same in zip(scores[0], other, strict=True):
            assert_close(one, same)
    return scores[1]


def plain(network: Any, copies: Callable[[int], dict[str, Any]], split: Split) -> list[ChoiceLogprob]:
    import torch

    with torch.inference_mode():
        return score_plain.score_plain(network, copies, split, 1)


@pytest.mark.parametrize(("name", "fields"), SHARING, ids=[name for name, _ in SHARING])
def test_a_plain_cache_is_shared(name: str, fields: dict[str, Any]) -> None:
    network, generator = made(name, **fields), random.Random(1)

    for size in (1, 2, 4):
        contexts = [tokens(generator, generator.randint(1, 20)) for _ in range(size)]
        splits = [drawn(generator, context) for context in contexts]
        for given, context, split in zip(shared(network, batch(contexts), splits), contexts, splits, strict=True):
            assert_close(given, whole(network, context, split))
            assert_close(plain(network, lambda n, own=context: batch([own] * n), split), given)


@pytest.mark.parametrize(("name", "fields"), RUNNING_STATE, ids=[name for name, _ in RUNNING_STATE])
def test_a_state_that_runs_on_is_not_shared(name: str, fields: dict[str, Any]) -> None:
    network, generator = made(name, **fields), random.Random(2)
    context = tokens(generator, 9)
    split = drawn(generator, context)

    with pytest.raises(prefix.UnsharableError, match="no plain cache"):
        shared(network, batch([context]), [split])
    assert_close(plain(network, lambda n: batch([context] * n), split), whole(network, context, split))


@pytest.mark.parametrize("is_small", [True, False])
def test_the_request_that_proves_a_way_gets_its_digits(is_small: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(score_shared, "WHOLE_TOKENS", 2048 if is_small else 0)
    network, generator = made("gpt2", **GPT2), random.Random(6)
    for _ in range(10):
        context = tokens(generator, 12)
        split = Split(12, 0, tuple(Tail(tuple(tokens(generator, 3))) for _ in range(4)))
        scorer = score_shared.SharedScorer(network, 1)
        with torch.inference_mode():
            first, later = (scorer.score(batch([context]), [split]) for _ in range(2))
        assert scorer.is_packed or any(scorer.is_whole.values())
        assert first == later, "to the last digit, whoever came first"


def test_small_budgets_of_memory_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    network, generator = made("mistral", **WINDOW), random.Random(5)
    contexts = [tokens(generator, n) for n in (3, 17, 8)]
    splits = [drawn(generator, context) for context in contexts]
    expected = shared(network, batch(contexts), splits)

    monkeypatch.setattr(prefix, "CACHE_BYTES", 20_000)
    monkeypatch.setattr(prefix, "LOGIT_BYTES", 2_000)
    monkeypatch.setattr(score_plain, "LOGIT_BYTES", 2_000)

    for given, wanted in zip(shared(network, batch(contexts), splits), expected, strict=True):
        assert_close(given, wanted)
    assert_close(plain(network, lambda n: batch([contexts[1]] * n), splits[1]), expected[1])


@pytest.mark.parametrize(("name", "fields"), SHARING)
def test_long_texts_are_read_few_at_a_time_on_the_processor(
    name: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, generator, n_rows = made(name, **fields), random.Random(8), []
    contexts = [tokens(generator, n) for n in (30, 3, 17, 30, 8)]
    splits = [drawn(generator, context) for context in contexts]
    expected = shared(network, batch(contexts), splits)

    # Two rows of the longest context and its tails, of which the last tokens are not read.
    width = 30 + max(sum(len(tail.tokens) for tail in split.tails) for split in splits)
    monkeypatch.setattr(score_shared, "PROCESSOR_BYTES", 2 * 4 * 4 * 32 * width)
    monkeypatch.setattr(score_shared, "_activations", lambda _: 4 * 32)
    read = prefix.PrefixReader.read

    def counted(self: prefix.PrefixReader, inputs: dict[str, Any], **words: Any) -> Any:
        n_rows.append(len(inputs["input_ids"]))
        return read(self, inputs, **words)

    monkeypatch.setattr(prefix.PrefixReader, "read", counted)
    for given, wanted in zip(shared(network, batch(contexts), splits), expected, strict=True):
        assert_close(given, wanted)
    assert set(n_rows) == {2, 1}


def test_what_differs_in_its_last_token_is_read_off_one_row() -> None:
    network, sizes = made("mamba", **MAMBA), []
    split = Split(3, 0, (Tail((30, 40)), Tail((30, 41)), Tail((30, 42))))

    def copies(n: int) -> dict[str, Any]:
        sizes.append(n)
        return batch([[21, 22, 23]] * n)

    scores = plain(network, copies, split)

    assert sizes == [1]
    assert_close(scores, whole(network, [21, 22, 23], split))


VISION = {
    "depth": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_heads": 2,
    "out_hidden_size": 32,
    "patch_size": 8,
}
ROTARY = {
    "qwen2_5_vl": ({**VISION, "window_size": 32, "fullatt_block_indexes": [1]}, {}),
    "qwen3_vl": ({**VISION, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}, {"head_dim": 8}),
}


class RotaryCase:
    """A network whose images have positions in three axes, and prompts with an image or without.

    Args:
        name: Architecture.
    """

    def __init__(self, name: str) -> None:
        vision, text = ROTARY[name]
        rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0}
        self.network = made(
            name,
            vision_config=vision,
            text_config={**BASE, "num_key_value_heads": 2, "rope_parameters": rope, **text},
            image_token_id=IMAGE,
            video_token_id=13,
            vision_start_token_id=IMAGE_START,
            vision_end_token_id=IMAGE_END,
        )
        self._generator = random.Random(4)

    def prompt(self, *, has_image: bool) -> tuple[list[int], Any]:
        """Tokens, and patches with their grid."""
        import torch

        if not has_image:
            return tokens(self._generator, self._generator.randint(2, 9)), None
        height, width = self._generator.choice([(2, 4), (4, 4), (4, 2)])
        image = [IMAGE_START, *[IMAGE] * (height * width // 4), IMAGE_END]
        ids = tokens(self._generator, 3) + image + tokens(self._generator, self._generator.randint(2, 8))
        return ids, (torch.randn(height * width, 3 * 2 * 8 * 8), [1, height, width])

    def batch(self, prompts: Sequence[tuple[list[int], Any]]) -> dict[str, Any]:
        """Tensors as the processor gives them."""
        import torch

        inputs = batch([ids for ids, _ in prompts])
        inputs["mm_token_type_ids"] = (inputs["input_ids"] == IMAGE).long()
        images = [image for _, image in prompts if image is not None]
        if images:
            inputs["pixel_values"] = torch.cat([patches for patches, _ in images])
            inputs["image_grid_thw"] = torch.tensor([grid for _, grid in images])
        return inputs

    def whole(self, prompt: tuple[list[int], Any], split: Split) -> list[ChoiceLogprob]:
        """One forward over everything."""
        inputs = self.batch([prompt])
        media = {name: inputs[name] for name in ("pixel_values", "image_grid_thw") if name in inputs}
        return whole(self.network, prompt[0], split, **media, mm_token_type_ids=lambda ids: (ids == IMAGE).long())


@pytest.mark.parametrize("name", list(ROTARY))
def test_positions_in_three_axes_go_on_behind_images(name: str) -> None:
    case, generator = RotaryCase(name), random.Random(6)

    # A batch without images comes after one with them, whose shifts must be forgotten.
    for has_images in ((True, True), (True, False, True), (False, False)):
        prompts = [case.prompt(has_image=has_image) for has_image in has_images]
        splits = [drawn(generator, prompt[0][-2:]) for prompt in prompts]
        scores = shared(case.network, case.batch(prompts), splits)
        for given, prompt, split in zip(scores, prompts, splits, strict=True):
            own = Split(len(prompt[0]), split.n_dropped, split.tails)
            assert_close(given, case.whole(prompt, own))
            assert_close(plain(case.network, lambda n, one=prompt: case.batch([one] * n), own), given)


def test_text_behind_a_video_does_not_go_on_from_its_times() -> None:
    import torch

    case, generator = RotaryCase("qwen2_5_vl"), random.Random(8)
    grid, video = torch.tensor([[3, 4, 4]]), 13
    ids = [*tokens(generator, 3), IMAGE_START, *[video] * 12, IMAGE_END, *tokens(generator, 4)]
    media = {
        "pixel_values_videos": torch.randn(48, 3 * 2 * 8 * 8),
        "video_grid_thw": grid,
        "second_per_grid_ts": torch.tensor([2.0]),  # so the last frame has a later position than the last token
    }

    def types(given: Any) -> Any:
        return 2 * (given == video).long()

    inputs = batch([ids, tokens(generator, 30)])
    split = [Split(len(ids), 0, (Tail((30, 40, 50)), Tail((41, 31)))), Split(30, 0, (Tail((33, 34)), Tail((35,))))]
    scores = shared(case.network, {**inputs, "mm_token_type_ids": types(inputs["input_ids"]), **media}, split)
    assert_close(scores[0], whole(case.network, ids, split[0], **media, mm_token_type_ids=types))


def test_an_encoder_hears_the_context_once() -> None:
    import torch

    fields = {"d_model": 32, "d_ff": 64, "d_kv": 8, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
    network = made("t5", vocab_size=VOCABULARY, **fields)
    contexts, heard = [[25, 26, 27, 28], [29, 30]], []
    network.get_encoder().register_forward_pre_hook(lambda *_: heard.append(1))
    splits = [Split(0, 0, (Tail((33, 34, 35)), Tail((39,)), Tail(()))), Split(0, 0, (Tail((38, 37)),))]

    with torch.inference_mode():
        scores = score_encoder_decoder.score_encoder_decoder(network, batch(contexts), splits, [0])

    assert len(heard) == 1
    for context, split, given in zip(contexts, splits, scores, strict=True):
        for tail, one in zip(split.tails, given, strict=True):
            fed = torch.tensor([[0, *tail.tokens]])
            with torch.inference_mode():
                logprobs = network(input_ids=torch.tensor([context]), decoder_input_ids=fed).logits[0, :-1]
            own = fed[0, 1:, None]
            assert one.logprob == pytest.approx(float(logprobs.log_softmax(-1).gather(1, own).sum()), abs=1e-4)
            assert one.n_tokens == len(tail.tokens)


def request(*continuations: str, text: str = "Which colour?") -> Request:
    return Request((Message("user", (Text(text),)),), Loglikelihood(continuations))


@pytest.mark.parametrize("is_no_number", [False, True])
def test_sharing_that_does_not_agree_is_given_up(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, is_no_number: bool
) -> None:
    read, position_of = prefix.PrefixReader.read, prefix.PrefixReader._positions
    made_model = model("qwen2", has_template=False)
    trusting = loglikelihood.ContinuationScorer(made_model._loaded, made_model._encoder)
    asked = [request(" red square", " blue star"), request(" one", " two circles", text="How many? " * 5)]
    expected = [response.outputs[0].logprobs for response in trusting.score(asked)]
    monkeypatch.setattr(loglikelihood, "_decides_positions", lambda _: True)

    good = loglikelihood.ContinuationScorer(made_model._loaded, made_model._encoder)
    good.score(asked)
    assert good.way == "shared"

    if is_no_number:
        monkeypatch.setattr(prefix.PrefixReader, "read", lambda *given: read(*given) * float("nan"))
    else:
        monkeypatch.setattr(
            prefix.PrefixReader, "_positions", lambda self, starts, *span: position_of(self, starts * 0, *span)
        )
    wary = loglikelihood.ContinuationScorer(made_model._loaded, made_model._encoder)
    with caplog.at_level(logging.WARNING, logger="polymeter"):
        responses = wary.score(asked)

    assert wary.way == "plain"
    assert "Prefixes are not shared" in caplog.text
    for response, wanted in zip(responses, expected, strict=True):
        assert_close(response.outputs[0].logprobs, wanted)


def test_speech_is_heard_and_its_transcripts_scored(model: Callable[..., Any]) -> None:
    import numpy as np
    import torch

    from polymeter.core.content import Audio

    whisper = model("whisper")
    scorer = loglikelihood.ContinuationScorer(whisper._loaded, whisper._encoder)
    sound = Audio({"array": np.sin(np.arange(8000) / 20).astype("float32"), "sampling_rate": 16000})
    asked = Request((Message("user", (sound,)),), Loglikelihood((" red circle", "A", "")))

    scores = scorer.score([asked, asked])[1].outputs[0].logprobs

    assert scorer.way == "encoder_decoder"
    start = whisper._loaded.network.generation_config.decoder_start_token_id
    for text, score in zip((" red circle", "A"), scores, strict=False):
        own = torch.tensor([start, *whisper._encoder.token_ids(text)])
        inputs = whisper._encoder.encode([asked]).inputs
        with torch.inference_mode():
            logits = whisper._loaded.network(**inputs, decoder_input_ids=own[None]).logits[0, :-1]
        wanted = float(logits.log_softmax(-1).gather(1, own[1:, None]).sum())
        assert score.logprob == pytest.approx(wanted, abs=1e-4)
    assert scores[2] == ChoiceLogprob(0.0, True, 0)
