"""Answers: one call of ``generate`` for a batch whose requests differ only in their seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.records.truncation import PROMPT
from polymeter.core.request import Error, Generate, Output, Request, Response, Tags, Usage
from polymeter.core.settings.repeats import seed_of
from polymeter.models.hf.answers.decoding import (
    FALLBACK_MAX_NEW_TOKENS,
    Decoding,
    OwnTokens,
    RowNoise,
    StopStrings,
    decoding_of,
)
from polymeter.models.hf.encode import Batch, Encoder
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import ReadPrompt
from polymeter.models.memory import within_memory
from polymeter.reading.reasoning import begins_inside, split_from_inside

CUT_ADVICE = "raise --model-args max_length=N, or set cut_prompts=false to have errors"
"""The advice about prompts that were cut."""
_SPEECH_START = 4
"""Maximum number of tokens that Whisper begins with: start, language, task, no timestamps."""


def answer(loaded: LoadedCheckpoint, encoder: Encoder, requests: Sequence[Request]) -> list[Response]:
    """Answer requests whose parameters differ only in seeds.

    A request that cannot be read or is too long gets an error; the others are answered.

    Raises:
        ModelError: if memory ran out or the network failed, which concerns all of them.
    """
    responses: list[Response | None] = [None] * len(requests)
    prompts: dict[int, ReadPrompt] = {}
    for position, request in enumerate(requests):
        try:
            prompts[position] = encoder.read(request)
        except PolymeterError as error:
            responses[position] = Response.failed(error, "data")
    parameters = requests[0].parameters
    assert isinstance(parameters, Generate)
    decoding = decoding_of(parameters)
    for group in encoder.together(prompts):
        batch, positions = fitting_batch(loaded, encoder, group, decoding, responses)
        if batch is not None:
            per_row = [requests[position].parameters for position in positions]
            rows = answers_together(
                loaded, encoder, [prompts[position] for position in positions], batch, decoding, per_row
            )
            for position, output in zip(positions, rows, strict=True):
                responses[position] = Response((with_cut(output, prompts[position].cut),))
    return [response for response in responses if response is not None]


def fitting_batch(
    loaded: LoadedCheckpoint,
    encoder: Encoder,
    prompts: dict[int, ReadPrompt],
    decoding: Decoding,
    responses: list[Response | None],
) -> tuple[Batch | None, list[int]]:
    """The tensors of all prompts that leave room for an answer; the others' responses are filled in."""
    positions = list(prompts)
    if not positions:
        return None, []
    batch = within_memory(lambda: encoder.encode([prompts[position] for position in positions]))
    room = loaded.max_length
    if not room or loaded.kind.is_encoder_decoder:
        return batch, positions
    wanted = most_new_tokens(loaded, decoding)
    if loaded.settings.cut_prompts and batch.own_ids and max(batch.n_tokens) + wanted > room > wanted:
        for position, n_tokens in zip(positions, batch.n_tokens, strict=True):
            if n_tokens + wanted > room:
                prompts[position].cut[PROMPT] = CUT_ADVICE
        batch = batch.cut(room - wanted)
    fitting = []
    for position, n_tokens in zip(positions, batch.n_tokens, strict=True):
        if n_tokens + wanted <= room:
            fitting.append(position)
        else:
            what = f"The prompt has {n_tokens} tokens and the answer may have {wanted}: together more than {room}."
            responses[position] = Response(error=Error("permanent", what))
    if len(fitting) == len(positions):
        return batch, positions
    return fitting_batch(loaded, encoder, {position: prompts[position] for position in fitting}, decoding, responses)


def with_cut(output: Output, cut: Mapping[str, str]) -> Output:
    """An output to a prompt of which the model was not shown all, if so."""
    return replace(output, cut=dict(cut)) if cut else output


def answers_together(
    loaded: LoadedCheckpoint,
    encoder: Encoder,
    prompts: Sequence[ReadPrompt],
    batch: Batch,
    decoding: Decoding,
    per_row: Sequence[Any],
) -> list[Output]:
    """The output of each row."""
    stops, tags = per_row[0].stop, [tags_of(loaded, prompt) for prompt in prompts]
    if not decoding.is_sampled:
        return _pass(loaded, batch, decoding, stops, tags, None)
    seeds = [seed_of(parameters) for parameters in per_row]
    if decoding.has_beams:
        # Sampled beams use one generator for the whole batch, so each row is computed alone.
        return [
            _seeded_pass(loaded, encoder.encode([prompt]), decoding, stops, own, seed)
            for prompt, own, seed in zip(prompts, tags, seeds, strict=True)
        ]
    return _pass(loaded, batch, decoding, stops, tags, seeds)


def tags_of(loaded: LoadedCheckpoint, prompt: ReadPrompt) -> Tags | None:
    """The tags around reasoning in the answer to a prompt: those of its task, else those of the checkpoint."""
    return loaded.reasoning_tags if prompt.reasoning_tags is None else prompt.reasoning_tags


def _seeded_pass(
    loaded: LoadedCheckpoint, batch: Batch, decoding: Decoding, stops: Sequence[str], tags: Tags | None, seed: int
) -> Output:
    import torch

    devices = [loaded.device] if loaded.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        return _pass(loaded, batch, decoding, stops, [tags], None)[0]


def _pass(
    loaded: LoadedCheckpoint,
    batch: Batch,
    decoding: Decoding,
    stops: Sequence[str],
    tags: Sequence[Tags | None],
    seeds: Sequence[int] | None,
) -> list[Output]:
    """One answer for each row.

    Args:
        loaded: The checkpoint.
        batch: The rows.
        decoding: How tokens are chosen.
        stops: Where an answer may end.
        tags: The tags around reasoning of each row.
        seeds: One for each row, if tokens are drawn row by row.
    """
    arguments: dict[str, Any] = dict(decoding.search)
    arguments["max_new_tokens"] = most_new_tokens(loaded, decoding)
    arguments["do_sample"] = decoding.is_sampled and decoding.has_beams
    if arguments["do_sample"]:
        arguments |= {"top_k": 0, **decoding.warpers}
    eos_ids = decoding.eos_ids or loaded.eos_ids
    with boundary(ModelError, "The generation settings"):
        arguments["logits_processor"] = processors_of(loaded, batch.inputs, decoding, eos_ids, seeds)
    is_thinking = [begins_inside(text, own) for text, own in zip(batch.texts, tags, strict=True)]
    criterion = None
    if stops and not decoding.has_beams:
        criterion = StopStrings(stops, loaded.text_of, is_thinking, tags)
        arguments["stopping_criteria"] = [criterion]
    with boundary(ModelError, "generate"):
        generated = within_memory(lambda: _generate(loaded, batch, arguments, eos_ids))
    rows = generated[:, _n_before(loaded, batch, generated) :].tolist()
    ends = criterion.ends if criterion else [None] * len(rows)
    return [
        output_of(loaded, row, end, n_tokens, eos_ids, own if is_in_thought else ())
        for row, end, n_tokens, own, is_in_thought in zip(rows, ends, batch.n_tokens, tags, is_thinking, strict=True)
    ]


def processors_of(
    loaded: LoadedCheckpoint,
    inputs: Mapping[str, Any],
    decoding: Decoding,
    eos_ids: Sequence[int],
    seeds: Sequence[int] | None,
) -> list[Any]:
    """Logits processors in addition to those of ``generate``."""
    processors: list[Any] = []
    if decoding.penalties and "input_ids" in inputs:
        is_apart = loaded.kind.is_encoder_decoder
        processors.append(OwnTokens(decoding.penalties, inputs, eos_ids, is_apart=is_apart))
    if seeds is not None:
        processors.append(RowNoise(decoding.warpers, seeds, loaded.device))
    return processors


def _generate(loaded: LoadedCheckpoint, batch: Batch, arguments: dict[str, Any], eos_ids: Sequence[int]) -> Any:
    import torch

    with torch.inference_mode():
        return loaded.network.generate(
            **batch.inputs, **arguments, pad_token_id=loaded.pad_id, eos_token_id=list(eos_ids) or None
        )


def _n_before(loaded: LoadedCheckpoint, batch: Batch, generated: Any) -> int:
    """Return the number of columns in the result of ``generate`` before the answer: the prompt, or a decoder's first
    token.
    """
    if not loaded.kind.is_encoder_decoder:
        return int(batch.inputs["input_ids"].shape[1])
    config = loaded.network.generation_config
    start = config.bos_token_id if config.decoder_start_token_id is None else config.decoder_start_token_id
    return int(start is not None and generated.shape[1] > 0 and bool((generated[:, 0] == start).all()))


def most_new_tokens(loaded: LoadedCheckpoint, decoding: Decoding) -> int:
    """As requested, else the fallback, which leaves half of the context to the prompt. An encoder-decoder's answer is
    limited to the decoder's length without the tokens that it begins with.
    """
    wanted, room = decoding.max_new_tokens, loaded.max_length
    if loaded.kind.is_encoder_decoder:
        wanted = wanted or FALLBACK_MAX_NEW_TOKENS
        return min(wanted, room - (_SPEECH_START if loaded.kind.is_speech else 1)) if room else wanted
    return wanted or (min(FALLBACK_MAX_NEW_TOKENS, room // 2) if room else FALLBACK_MAX_NEW_TOKENS)


def output_of(
    loaded: LoadedCheckpoint,
    tokens: list[int],
    end: int | None,
    n_input: int,
    eos_ids: Sequence[int],
    inside: Tags | None,
) -> Output:
    """A row's answer: what it generated up to its end; the rest is padding. ``inside``: the tags around the reasoning
    that its prompt has begun; none if it begins with the answer.
    """
    eos = next((position for position, token in enumerate(tokens) if token in eos_ids), None)
    if eos is not None and (end is None or eos < end):
        end = eos + 1
    is_finished = end is not None
    own = tokens if end is None else tokens[:end]
    if (
        loaded.kind.is_speech and not is_finished
    ):  # windows of audio are joined with padding, which does not mark an end
        own = _without_fill(own, loaded.pad_id)
    text = loaded.text_of(own)
    reasoning = None
    if inside != ():
        reasoning, text = split_from_inside(text, inside, is_finished=is_finished)
    usage = Usage(None if loaded.kind.is_speech else n_input, len(own))
    return Output(text=text, reasoning=reasoning, finish_reason="stop" if is_finished else "length", usage=usage)


def _without_fill(tokens: list[int], pad_id: int) -> list[int]:
    n_kept = len(tokens)
    while n_kept and tokens[n_kept - 1] == pad_id:
        n_kept -= 1
    return tokens[:n_kept]
