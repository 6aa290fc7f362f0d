"""Settings that look back at the prompt see a row's own tokens, however far it is filled up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from polymeter.core.request import Generate
from polymeter.models.hf import HfModel
from polymeter.models.hf.answers.decoding import OwnTokens, token_ids_of
from tests.helpers.checkpoints import make_checkpoint
from tests.helpers.mixed_requests import mixed_requests, request

PENALTIES: list[dict[str, Any]] = [
    {"repetition_penalty": 3.0},
    {"no_repeat_ngram_size": 1},
    {"encoder_repetition_penalty": 2.0},
    {"encoder_no_repeat_ngram_size": 1},
    {"min_length": 20},
    {"num_beams": 2, "repetition_penalty": 2},
]


@pytest.fixture(scope="module")
def ending(tmp_path_factory: pytest.TempPathFactory) -> HfModel:
    """A model that would rather end than say anything else, and fills rows up with the token that ends answers."""
    import torch
    from safetensors.torch import load_file, save_file

    folder = make_checkpoint("llama", tmp_path_factory.mktemp("ending"))
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"][2] = weights["lm_head.weight"].mean(dim=0) + 0.5 * torch.sign(
        weights["model.norm.weight"]
    )
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    file = folder / "tokenizer_config.json"
    told = json.loads(file.read_text())
    del told["pad_token"]
    file.write_text(json.dumps(told))
    made = HfModel(str(folder))
    made.load()
    assert made._loaded is not None
    assert made._loaded.pad_id in made._loaded.eos_ids
    return made


@pytest.mark.parametrize("extra", PENALTIES, ids=str)
def test_padding_is_not_penalised(ending: HfModel, extra: dict[str, Any]) -> None:
    ask = Generate(12, 0.0, extra=extra)
    requests = [replace(one, parameters=ask) for one in mixed_requests(ending.traits.modalities)]
    together = [response.outputs for response in ending.respond(requests)]
    assert together == [ending.respond([one])[0].outputs for one in requests]


def test_the_model_of_these_tests_ends_its_answers(ending: HfModel) -> None:
    responses = ending.respond(mixed_requests(ending.traits.modalities))
    assert "stop" in {response.outputs[0].finish_reason for response in responses}


def test_scores_are_those_of_the_row_alone() -> None:
    import torch

    penalties = {"repetition_penalty": 2, "no_repeat_ngram_size": 1, "encoder_no_repeat_ngram_size": 2}
    ids, mask = torch.tensor([[0, 0, 3], [4, 5, 6]]), torch.tensor([[0, 0, 1], [1, 1, 1]])
    scores = torch.tensor([[4.0] * 8, [4.0] * 8])
    made = OwnTokens(penalties, {"input_ids": ids, "attention_mask": mask}, [0], is_apart=False)(ids, scores)
    assert made[0].tolist() == [4.0, 4.0, 4.0, float("-inf"), 4.0, 4.0, 4.0, 4.0]
    beams = OwnTokens(penalties, {"input_ids": ids, "attention_mask": mask}, [0], is_apart=False)(
        ids.repeat_interleave(2, dim=0), scores.repeat_interleave(2, dim=0)
    )
    assert beams.tolist() == made.repeat_interleave(2, dim=0).tolist()
    told = {"input_ids": ids, "attention_mask": mask}
    shortest = OwnTokens({"min_length": 2}, told, [0], is_apart=False)(ids, scores)
    assert shortest[:, 0].tolist() == [float("-inf"), 4.0]


def test_end_tokens_may_be_named(model: Callable[..., Any]) -> None:
    made = model("llama")
    plain = request("Hi", ask=Generate(8, 0.0))
    named = request("Hi", ask=Generate(8, 0.0, extra={"eos_token_id": list(range(480)), "pad_token_id": 0}))
    before, ended, after = (made.respond([one])[0].outputs[0] for one in (plain, named, plain))
    assert (ended.finish_reason, ended.usage.output_tokens) == ("stop", 1)
    assert before == after
    assert before.usage.output_tokens == 8
    assert set(made.ignores(named.parameters)) == {"pad_token_id"}
    assert [token_ids_of(value) for value in (None, 7, [7, 8])] == [(), (7,), (7, 8)]


def test_encoder_reads_rows_from_their_left_edge(tmp_path: Path) -> None:
    import torch
    import transformers as hf

    from tests.helpers.checkpoints import make_tokenizer

    tokenizer = make_tokenizer()
    torch.manual_seed(0)
    config = hf.BartConfig(
        vocab_size=480,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=128,
        decoder_start_token_id=None,
        forced_eos_token_id=None,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        init_std=0.5,
    )
    hf.BartForConditionalGeneration(config).save_pretrained(tmp_path / "bart")
    tokenizer.save_pretrained(tmp_path / "bart")
    made = HfModel(str(tmp_path / "bart"))
    made.load()
    for extra in ({}, {"encoder_repetition_penalty": 2.0}):
        ask = Generate(8, 0.0, extra=extra)
        requests = [replace(one, parameters=ask) for one in mixed_requests(made.traits.modalities)]
        together = [response.outputs for response in made.respond(requests)]
        assert together == [made.respond([one])[0].outputs for one in requests]
        assert len({outputs[0].text for outputs in together}) > 1
