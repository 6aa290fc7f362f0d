"""Answers: how tokens are chosen, where answers end, what is counted, and what fails alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.content import Image
from polymeter.core.errors import ModelError
from polymeter.core.request import Generate, GenerateImage
from polymeter.models.hf import HfModel
from polymeter.models.hf.answers.decoding import RowNoise, StopStrings, ignored
from polymeter.models.memory import within_memory
from polymeter.reading.reasoning import begins_inside, split_from_inside, tags_in_template
from tests.helpers.checkpoints import make_tokenizer
from tests.helpers.mixed_requests import picture, request, texts

LONG = "Which of the choices is right? A. square B. circle C. star D. none. "


def answer(model: Any, ask: Generate, *parts: Any) -> Any:
    return model.respond([request(*(parts or ("How many circles are there?",)), ask=ask)])[0]


def test_greedy_is_what_transformers_gives(model: Callable[..., Any], checkpoint: Callable[..., Path]) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = checkpoint("llama")
    network, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    chat = [{"role": "user", "content": "How many circles are there?"}]
    inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    made = network.generate(**inputs, max_new_tokens=12, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    given = answer(model("llama"), Generate(12, 0.0))
    assert given.text == tokenizer.decode(made, skip_special_tokens=True)
    assert given.outputs[0].usage.input_tokens == inputs["input_ids"].shape[1]


def test_seeds_make_answers_and_nothing_else_does(model: Callable[..., Any]) -> None:
    made = model("llama")
    one, other, again = (answer(made, Generate(10, 1.0, seed=seed)) for seed in (1, 2, 1))
    assert one == again != other
    import torch

    torch.manual_seed(99)
    assert answer(made, Generate(10, 1.0, seed=2)) == other
    assert answer(made, Generate(10, 1.0, repeat=2)) == other, "without a seed the number of the repeat stands for it"


def test_several_greedy_answers_are_one(model: Callable[..., Any]) -> None:
    made = model("llama")
    assert answer(made, Generate(5, 0.0, seed=1)) == answer(made, Generate(5, 0.0, seed=2, repeat=1))


def test_sampling_from_one_token_is_greedy(model: Callable[..., Any]) -> None:
    made = model("llama")
    assert answer(made, Generate(10, 0.7, seed=5, extra={"top_k": 1})) == answer(made, Generate(10, 0.0))


def test_every_warper_shapes_what_is_drawn(model: Callable[..., Any]) -> None:
    made = model("llama")
    greedy, free = (answer(made, Generate(10, heat, seed=5)).text for heat in (0.0, 2.0))
    assert greedy != free
    narrow = {"top_k": 1, "min_p": 1.0, "top_h": 0.001, "typical_p": 0.001, "epsilon_cutoff": 0.9, "eta_cutoff": 0.9}
    for name, value in narrow.items():
        assert answer(made, Generate(10, 2.0, seed=5, extra={name: value})).text != free, name
    assert ignored(Generate(4, 0.0, extra={"top_h": 0.5})) == {"top_h": "The answer is greedy: nothing is sampled."}


def test_noise_draws_from_the_shaped_distribution() -> None:
    import torch

    logits = torch.tensor([2.0, 1.0, 0.5, 0.0, -1.0])
    n = 4000
    noise = RowNoise({"temperature": 0.8, "top_k": 4}, range(n), torch.device("cpu"))
    drawn = noise(torch.zeros(n, 1, dtype=torch.long), logits.repeat(n, 1)).argmax(dim=1)
    share = torch.bincount(drawn, minlength=5) / n
    expected = torch.softmax(logits[:4] / 0.8, dim=0)
    assert share[4] == 0
    assert torch.allclose(share[:4], expected, atol=4 * 0.5 / n**0.5)  # four standard errors


def test_sampling_is_wanted_by_temperature_or_by_name(model: Callable[..., Any]) -> None:
    made = model("llama")
    greedy = answer(made, Generate(10, 0.0)).text
    assert answer(made, Generate(10)).text == greedy
    assert answer(made, Generate(10, 0.9, seed=3, extra={"do_sample": False})).text == greedy
    assert answer(made, Generate(10, 0.0, seed=3, extra={"do_sample": True})).text == greedy
    by_name = answer(made, Generate(10, seed=3, extra={"do_sample": True})).text
    assert by_name == answer(made, Generate(10, 1.0, seed=3)).text != greedy


def test_generation_keys_reach_generate(model: Callable[..., Any]) -> None:
    made = model("llama")
    plain = answer(made, Generate(12, 0.0)).text
    assert answer(made, Generate(12, 0.0, extra={"repetition_penalty": 5.0})).text != plain
    usage = answer(made, Generate(30, 0.0, extra={"min_new_tokens": 30})).outputs[0].usage
    assert usage.output_tokens == 30


def test_settings_that_change_nothing_are_named(model: Callable[..., Any]) -> None:
    made = model("llama")
    ask = Generate(4, 0.0, 0.9, extra={"image_aspect_ratio": "pad", "num_return_sequences": 3, "top_k": 50})
    told = made.ignores(ask)
    assert told["image_aspect_ratio"] == "Transformers has no such generation setting."
    assert told["num_return_sequences"] == "n sets the number of answers."
    assert told["top_p"] == told["top_k"] == "The answer is greedy: nothing is sampled."
    near = made.ignores(Generate(4, 0.0, extra={"num_beamss": 2}))
    assert near["num_beamss"].endswith("has no such generation setting. Did you mean 'num_beams'?")
    assert answer(made, ask) == answer(made, Generate(4, 0.0))
    assert ignored(Generate(4, 0.0, 1.0, extra={"num_beams": 1, "do_sample": False})) == {}
    assert ignored(Generate(4, 0.7, 0.9, extra={"top_k": 5})) == {}
    assert made.ignores(GenerateImage()) == {}


def test_defaults_of_the_checkpoint_do_not_leak(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "tuned"
    shutil.copytree(checkpoint("llama"), folder)
    file = folder / "generation_config.json"
    told = json.loads(file.read_text()) | {
        "do_sample": True,
        "temperature": 3.0,
        "top_k": 2,
        "repetition_penalty": 3.0,
        "num_beams": 4,
        "max_new_tokens": 2,
    }
    file.write_text(json.dumps(told))
    tuned, plain = HfModel(str(folder)), HfModel(str(checkpoint("llama")))
    for ask in (Generate(8, 0.0), Generate(8, 1.0, seed=4)):
        given = []
        for made in (tuned, plain):
            made.load()
            given.append(answer(made, ask))
        assert given[0] == given[1]


def test_answer_ends_early_at_a_stop_string(model: Callable[..., Any]) -> None:
    made = model("llama")
    whole = answer(made, Generate(24, 0.0))
    stop = whole.text[8:11]
    given = answer(made, Generate(24, 0.0, stop=("never", stop))).outputs[0]
    assert stop in given.text
    assert given.finish_reason == "stop"
    assert whole.text.startswith(given.text)
    assert given.usage.output_tokens < whole.outputs[0].usage.output_tokens == 24


def test_rows_that_ended_count_no_padding(model: Callable[..., Any]) -> None:
    """Of two rows one stops early: what fills it up is neither counted nor shown."""
    made = model("llama")
    first, second = request("How many circles are there?"), request(LONG)
    whole = [output for response in made.respond([first, second]) for output in response.outputs]
    stop = whole[0].text[3:6]
    ask = Generate(8, 0.0, stop=(stop,))
    both = made.respond([request(*one.messages[-1].parts, ask=ask) for one in (first, second)])
    short, long = (response.outputs[0] for response in both)
    assert short.finish_reason == "stop"
    assert short.usage.output_tokens < long.usage.output_tokens == 8
    assert long == whole[1]


def test_end_token_is_a_stop_and_the_limit_is_a_length(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "ends"
    shutil.copytree(checkpoint("llama"), folder)
    made = HfModel(str(folder))
    made.load()
    tokens = made._encoder.token_ids(answer(made, Generate(6, 0.0)).text)
    file = folder / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"eos_token_id": [2, tokens[-1]]}))
    ends = HfModel(str(folder))
    ends.load()
    given, limited = answer(ends, Generate(12, 0.0)).outputs[0], answer(ends, Generate(1, 0.0)).outputs[0]
    assert given.finish_reason == "stop"
    assert given.usage.output_tokens <= 6
    assert (limited.finish_reason, limited.usage.output_tokens) == ("length", 1)


def test_too_long_prompt_fails_alone(model: Callable[..., Any]) -> None:
    made = model("llama")
    ask = Generate(8, 0.0)
    short, long = request("Hi", ask=ask), request(LONG * 40, ask=ask)
    responses = made.respond([short, long, short])
    assert responses[0] == responses[2] == made.respond([short])[0]
    assert "and the answer may have 8: together more than 512." in responses[1].error.message
    none_fits = made.respond([long])
    assert none_fits[0].error == responses[1].error


def test_unread_medium_fails_alone(model: Callable[..., Any]) -> None:
    made = model("llava")
    good, bad = request(picture(30, 30), "What?"), request(Image(b"no image"), "What?")
    responses = made.respond([good, bad, good])
    assert responses[1].error.kind == "data"
    assert texts([responses[0], responses[2]]) == texts(made.respond([good])) * 2


def test_other_asks_are_refused(model: Callable[..., Any]) -> None:
    given = model("llama").respond([request("Draw", ask=GenerateImage())])[0]
    assert "cannot answer 'generate_image'" in given.error.message


def test_without_a_limit_the_fallback_leaves_room(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    from tests.helpers.checkpoints import make_checkpoint

    made = HfModel(str(make_checkpoint("llama", tmp_path / "short", positions=64)))
    made.load()
    assert answer(made, Generate(None, 0.0)).outputs[0].usage.output_tokens <= 32
    refused = made.respond([request(LONG, ask=Generate(None, 0.0))])[0]
    assert "the answer may have 32: together more than 64" in refused.error.message


@pytest.mark.parametrize(
    "message",
    [
        "CUDA out of memory. Tried to allocate 20.00 MiB.",
        "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.",
        "MPS backend out of memory (MPS allocated: 5 GB)",
    ],
)
@pytest.mark.parametrize("texts", [("Hi",), ("Hi", "Hello")])
def test_running_out_of_memory_is_told_as_such(
    model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, message: str, texts: tuple[str, ...]
) -> None:
    made = model("llama")

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError(message)

    monkeypatch.setattr(made._loaded.network, "forward", fail)
    with pytest.raises(ModelError, match="Memory ran out") as caught:
        made.respond([request(text) for text in texts])
    assert caught.value.kind == "out_of_memory"
    assert caught.value.__context__ is None


def test_other_failures_keep_their_kind(model: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = model("llama")

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(made._loaded.network, "generate", fail)
    with pytest.raises(ModelError, match="generate raised RuntimeError: shapes do not fit") as caught:
        made.respond([request("Hi")])
    assert caught.value.kind == "permanent"
    with pytest.raises(RuntimeError):
        within_memory(fail)


def test_stop_strings_wait_until_reasoning_is_over() -> None:
    tokenizer = make_tokenizer()

    def fed(text: str, *, is_thinking: bool = False, tags: Any = None) -> str:
        """What has been generated when the criterion stops."""
        import torch

        criterion = StopStrings(("\n",), tokenizer.decode, [is_thinking], [tags])
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        for number in range(1, len(tokens) + 1):
            if criterion(torch.tensor([tokens[:number]]), None).all():
                return str(tokenizer.decode(tokens[: criterion.ends[0]]))
        return "all"

    assert fed("one\ntwo") == "one\n"
    assert fed("one\ntwo", is_thinking=True) == "all"
    assert fed("let me\nsee</think>four\nfive", is_thinking=True) == "let me\nsee</think>four\n"
    assert fed("<think>let me\nsee and think for long enough</think>four\nfive").endswith("</think>four\n")
    assert fed("let me\nsee</think>\n\nfour\nfive", is_thinking=True).endswith("\n\nfour\n")
    assert fed("\n\nfour\nfive") == "\n\nfour\n"
    assert fed("<deep>let me\nsee</deep>\nfour\nfive", tags=(("<deep>", "</deep>"),)).endswith("</deep>\nfour\n")
    assert fed("<think>let me\nsee</think>four", tags=()).endswith("let me\n")


def test_reasoning_that_the_template_begins_is_set_apart() -> None:
    assert begins_inside("ASSISTANT: <think>\n")
    assert not begins_inside("ASSISTANT: <think></think>\n")
    assert not begins_inside("Say <think> first. ASSISTANT: ")
    assert split_from_inside("hm\n</think>\n\nfour", is_finished=True) == ("hm", "four")
    assert split_from_inside("a <think> b</think>four", is_finished=True) == ("a <think> b", "four")
    assert split_from_inside("hm</think>or</think>four", is_finished=True) == ("hm</think>or", "four")
    assert split_from_inside("hm</think>four <think>or</think>", is_finished=True) == ("hm", "four <think>or</think>")
    assert split_from_inside("four", is_finished=True) == (None, "four")
    assert split_from_inside("hm, hm", is_finished=False) == ("hm, hm", "")


def test_tags_that_only_a_template_knows_are_found() -> None:
    template = "{% if '</deep_thought>' in content %}{{ content.split('</deep_thought>')[-1] }}{% endif %}"
    assert tags_in_template(template) == (("<deep_thought>", "</deep_thought>"),)
    assert tags_in_template({"default": template, "tool_use": "[/REASON]"})[1:] == (("[REASON]", "[/REASON]"),)
    assert tags_in_template("{{ content.split('</think>')[-1] }}</Think></tool_call>") == ()
    assert tags_in_template(None) == ()


def test_reasoning_reaches_the_output(model: Callable[..., Any], checkpoint: Callable[..., Path]) -> None:
    made = HfModel(str(checkpoint("llama")), chat_template="{{ messages[0]['content'] }} <think>\n")
    made.load()
    output = answer(made, Generate(6, 0.0)).outputs[0]
    assert output.text == ""
    assert output.reasoning
    assert output.finish_reason == "length"


def test_speech_is_written_down(model: Callable[..., Any]) -> None:
    from tests.helpers.mixed_requests import sound

    made = model("whisper")
    assert made.traits.modalities == {"text": True, "image": False, "audio": True, "video": False}
    given, refused = made.respond([request(sound(8000), ask=Generate(6, 0.0)), request("Hi", ask=Generate(6, 0.0))])
    assert given.outputs[0].usage.output_tokens <= 6
    assert given.outputs[0].usage.input_tokens is None
    assert "accepts one audio, not 0" in refused.error.message


def test_speech_leaves_room_for_what_its_decoder_begins_with(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    """A Whisper of several languages begins with language and task, and refuses what would not fit behind them."""
    from tests.helpers.mixed_requests import sound

    folder = tmp_path / "languages"
    shutil.copytree(checkpoint("whisper"), folder)
    file = folder / "generation_config.json"
    told = json.loads(file.read_text())
    told.pop("_from_model_config", None)
    languages = {"is_multilingual": True, "lang_to_id": {"<|en|>": 10}, "task_to_id": {"transcribe": 11}}
    file.write_text(json.dumps(told | languages | {"no_timestamps_token_id": 12, "suppress_tokens": [20]}))
    made = HfModel(str(folder))
    made.load()
    assert made._loaded.network.generation_config.suppress_tokens == [20]
    for limit in (None, 63):
        assert answer(made, Generate(limit, 0.0), sound(8000)).outputs[0].usage.output_tokens <= 60
    beams = Generate(6, 0.0, extra={"num_beams": 2})
    requests = [request(sound(n), ask=beams) for n in (4000, 16_000, 9000)]
    assert [one.outputs for one in made.respond(requests)] == [made.respond([one])[0].outputs for one in requests]
