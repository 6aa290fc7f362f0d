"""Answers of more requests than are computed at a time: as soon as one is answered, the next takes its place."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.request import Generate, Request, Response
from polymeter.core.settings.repeats import seed_of
from polymeter.models.hf.answers.cached_rows import CachedRows
from polymeter.models.hf.answers.decoding import Decoding, StopStrings
from polymeter.models.hf.answers.generate import (
    answers_together,
    fitting_batch,
    most_new_tokens,
    output_of,
    processors_of,
    tags_of,
    with_cut,
)
from polymeter.models.hf.answers.refill import AnswerRow, Refiller, choose
from polymeter.models.hf.encode import Batch, Encoder
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import ReadPrompt
from polymeter.models.memory import within_memory
from polymeter.reading.reasoning import begins_inside


def answer_in_turn(
    loaded: LoadedCheckpoint,
    encoder: Encoder,
    refiller: Refiller,
    requests: Sequence[Request],
    decoding: Decoding,
    *,
    at_once: int,
) -> list[Response]:
    """Answer requests whose parameters differ only in seeds.

    A request that cannot be read or is too long gets an error; the others are answered.

    Args:
        loaded: The checkpoint.
        encoder: Its encoder.
        refiller: It ``takes`` the decoding.
        requests: The requests.
        decoding: How tokens are chosen.
        at_once: Maximum requests that are computed at a time.

    Raises:
        ModelError: if memory ran out or the network failed, which concerns all of them.
    """
    import torch

    def answer() -> list[Response]:
        with torch.inference_mode():  # the turns are made here, so that a failure lets go of what they hold
            return _Turns(loaded, encoder, refiller, requests, decoding, at_once).answers()

    with boundary(ModelError, "generate"):
        return within_memory(answer)


class _Turns:
    """Requests on their way from waiting to answered.

    Args:
        loaded: The checkpoint.
        encoder: Its encoder.
        refiller: Continues rows.
        requests: The requests.
        decoding: How tokens are chosen.
        at_once: Maximum rows that are computed at a time.
    """

    def __init__(
        self,
        loaded: LoadedCheckpoint,
        encoder: Encoder,
        refiller: Refiller,
        requests: Sequence[Request],
        decoding: Decoding,
        at_once: int,
    ) -> None:
        self._loaded = loaded
        self._encoder = encoder
        self._refiller = refiller
        self._requests = requests
        self._decoding = decoding
        self._eos_ids = decoding.eos_ids or loaded.eos_ids
        self._most = most_new_tokens(loaded, decoding)
        self._responses: list[Response | None] = [None] * len(requests)
        self._waiting = deque(range(len(requests)))
        self._cuts: dict[int, Mapping[str, str]] = {}
        self._rows: list[AnswerRow] = []
        self._at_once = at_once
        self._cached = CachedRows(at_once)

    def answers(self) -> list[Response]:
        """The responses, in the order of the requests."""
        while self._waiting or self._rows:
            n_free = self._at_once - len(self._rows)
            if self._waiting and n_free > 0:
                self._enter([self._waiting.popleft() for _ in range(min(n_free, len(self._waiting)))])
            elif self._rows:
                logits = self._refiller.step(self._cached, [row.tokens[-1] for row in self._rows])
                going = self._advanced(self._rows, logits)
                if len(going) < len(self._rows):
                    going = self._cached.keep(going)
                self._rows = [self._rows[place] for place in going]
        return [response for response in self._responses if response is not None]

    def _enter(self, positions: Sequence[int]) -> None:
        """Read some prompts, and let their answers begin beside the others."""
        prompts: dict[int, ReadPrompt] = {}
        for position in positions:
            try:
                prompts[position] = self._encoder.read(self._requests[position])
            except PolymeterError as error:
                self._responses[position] = Response.failed(error, "data")
        for group in self._encoder.together(prompts):
            self._begin(group)

    def _begin(self, prompts: dict[int, ReadPrompt]) -> None:
        batch, fitting = fitting_batch(self._loaded, self._encoder, prompts, self._decoding, self._responses)
        if batch is None:
            return
        own = [prompts[position] for position in fitting]
        self._cuts |= {position: prompts[position].cut for position in fitting}
        if not self._refiller.takes_prompts(batch.inputs, lambda: self._probe(own, batch.n_tokens)):
            self._answer_together(fitting, own, batch)
            return
        begun, logits = self._refiller.begin(batch.inputs)
        rows = self._begun(fitting, own, batch)
        going = self._advanced(rows, logits)
        if going:
            self._cached.add(begun, going)
            self._rows.extend(rows[number] for number in going)

    def _advanced(self, rows: Sequence[AnswerRow], logits: Any) -> list[int]:
        """Choose each row's next token. Returns which rows' answers have not ended."""
        going = []
        for number, (row, token) in enumerate(zip(rows, choose(rows, logits), strict=True)):
            row.tokens.append(token)
            if row.stopping is not None:
                row.stopping.add(0, token)
            if token in self._eos_ids or row.end is not None or len(row.tokens) >= self._most:
                self._responses[row.position] = Response((self._output(row),))
            else:
                going.append(number)
        return going

    def _begun(self, positions: Sequence[int], prompts: Sequence[ReadPrompt], batch: Batch) -> list[AnswerRow]:
        ids, mask = batch.inputs["input_ids"], batch.inputs["attention_mask"].bool()
        stops = self._parameters(positions[0]).stop
        rows = []
        for number, position in enumerate(positions):
            prompt, tags = ids[number][mask[number]], tags_of(self._loaded, prompts[number])
            is_thinking = begins_inside(batch.texts[number], tags)
            seeds = [seed_of(self._parameters(position))] if self._decoding.is_sampled else None
            inputs: Mapping[str, Any] = {"input_ids": prompt[None], "attention_mask": mask[number][mask[number]][None]}
            with boundary(ModelError, "The generation settings"):
                processors = processors_of(self._loaded, inputs, self._decoding, self._eos_ids, seeds)
            rows.append(
                AnswerRow(
                    position,
                    batch.n_tokens[number],
                    prompt.tolist() if self._decoding.penalties else [],
                    processors,
                    StopStrings(stops, self._loaded.text_of, [is_thinking], [tags]) if stops else None,
                    tags if is_thinking else (),
                )
            )
        return rows

    def _probe(self, prompts: Sequence[ReadPrompt], n_tokens: Sequence[int]) -> dict[str, Any]:
        chosen = [n_tokens.index(min(n_tokens)), n_tokens.index(max(n_tokens))]
        return self._encoder.encode([prompts[number] for number in chosen]).inputs

    def _answer_together(self, positions: Sequence[int], prompts: Sequence[ReadPrompt], batch: Batch) -> None:
        parameters = [self._parameters(position) for position in positions]
        outputs = answers_together(self._loaded, self._encoder, prompts, batch, self._decoding, parameters)
        for position, output in zip(positions, outputs, strict=True):
            self._responses[position] = Response((with_cut(output, self._cuts[position]),))

    def _output(self, row: AnswerRow) -> Any:
        output = output_of(self._loaded, row.tokens, row.end, row.n_prompt, self._eos_ids, row.inside)
        return with_cut(output, self._cuts[row.position])

    def _parameters(self, position: int) -> Generate:
        parameters = self._requests[position].parameters
        assert isinstance(parameters, Generate)
        return parameters
