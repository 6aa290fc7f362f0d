"""Log-probabilities of continuations: encode, tokenise jointly, choose how to compute, and answer.

A context is the prompt as the model sees it. A checkpoint with a chat template sees it there, open for the answer,
since that is the text it was trained to continue; one without sees the text alone, and so does a chat model if the user
(``logprob_template``) or the request demands it. A continuation follows the context directly, exactly as written (" A"
and "A" differ). ``score_tokens`` decides where the one ends and the other begins. An empty continuation has
log-probability 0, is greedy, and has no tokens. A context without any token begins with the tokenizer's
beginning-of-sequence token, else its end-of-sequence token; one without text with the token that the user names
(``prefix_token_id``).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from polymeter.core.errors import ModelError, PolymeterError, boundary
from polymeter.core.records.truncation import PROMPT
from polymeter.core.request import ChoiceLogprob, Error, Loglikelihood, Output, Request, Response, Usage
from polymeter.models.hf.answers.generate import CUT_ADVICE, with_cut
from polymeter.models.hf.encode import Batch, Encoder
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.prompts import ReadPrompt
from polymeter.models.hf.scoring.agreement import scores_agree
from polymeter.models.hf.scoring.joint_tokens import JointTokens
from polymeter.models.hf.scoring.prefix import UnsharableError, rotary_owner
from polymeter.models.hf.scoring.score_encoder_decoder import score_encoder_decoder, start_tokens
from polymeter.models.hf.scoring.score_plain import score_plain
from polymeter.models.hf.scoring.score_rolling import Window, score_windows, windows
from polymeter.models.hf.scoring.score_shared import SharedScorer
from polymeter.models.hf.scoring.score_tokens import Split, Tail, move_white_space, split
from polymeter.models.memory import within_memory

Way = Literal["shared", "plain", "encoder_decoder"]
_LOG = logging.getLogger("polymeter")
_TOLERANCE: Final = 1e-3


@dataclass(frozen=True, slots=True)
class _Encoded:
    """The requests of a batch that can be answered: their positions in it, their prompts, tensors and tokens."""

    positions: tuple[int, ...]
    prompts: tuple[ReadPrompt, ...]
    batch: Batch
    splits: tuple[Split, ...]


@dataclass(frozen=True, slots=True)
class _Manner:
    """The way in which the requests of a batch are read: without the existing chat template, and with only the last
    token of each continuation.
    """

    is_raw: bool
    is_last_token: bool


class ContinuationScorer:
    """Scores continuations with one loaded checkpoint, and remembers which way of computing is correct for it.

    Prefixes are shared if the model keeps a plain cache of keys and values. If its own code determines positions
    (rotary axes for media, cross-attention, code from a checkpoint), the first batch is computed both ways, and
    sharing is kept only if they agree.

    Args:
        loaded: The checkpoint.
        encoder: Its encoder.
        moves_line_breaks: Whether all white space at the end of a context belongs to the continuations, even that of a
            chat template.
        softmax_dtype: See ``RowScores``.
    """

    def __init__(
        self, loaded: LoadedCheckpoint, encoder: Encoder, *, moves_line_breaks: bool = False, softmax_dtype: str = ""
    ) -> None:
        self._loaded = loaded
        self._encoder = encoder
        self._keeps_line_breaks = loaded.is_chat and not moves_line_breaks
        self._network = loaded.network
        self._joint_tokens = JointTokens(loaded.tokenizer)
        self.way: Way = "encoder_decoder" if loaded.kind.is_encoder_decoder else "shared"
        self._is_sure = not _decides_positions(loaded.network)
        self._first = _first_token(loaded)
        self._softmax_dtype = softmax_dtype
        self.shared = SharedScorer(loaded.network, self._first, softmax_dtype)
        is_apart = self.way == "encoder_decoder"
        self._start = start_tokens(loaded.network, loaded.tokenizer) if is_apart else []

    def score(self, requests: Sequence[Request]) -> list[Response]:
        """Answer requests for log-probabilities.

        A request that cannot be read or is too long gets an error; the others are answered.

        Args:
            requests: The requests, with parameters of type ``Loglikelihood`` that differ only in continuations.

        Returns:
            For each request, one output with a score per continuation, or an error.

        Raises:
            ModelError: if memory ran out (``out_of_memory``), or the processor or the network failed, which concerns
                all of them.
        """
        texts = [_continuations(request) for request in requests]
        if _is_rolling(requests[0]):
            return self._rolling(texts)
        responses: dict[int, Response] = {}
        prompts: dict[int, ReadPrompt] = {}
        manner = self._manner(requests[0])
        for position, request in enumerate(requests):
            try:
                prompts[position] = self._read(request, manner)
            except PolymeterError as error:
                responses[position] = Response.failed(error, "data")
        for group in self._encoder.together(prompts):
            encoded_batch = self._fitting(group, texts, responses, manner)
            if encoded_batch is not None:
                self._answer(encoded_batch, responses)
        return [responses[position] for position in range(len(requests))]

    def _answer(self, encoded_batch: _Encoded, responses: dict[int, Response]) -> None:
        with boundary(ModelError, "Scoring continuations"):
            scores = within_memory(lambda: self._scores(encoded_batch))
        for position, prompt, own, n_context in zip(
            encoded_batch.positions, encoded_batch.prompts, scores, encoded_batch.batch.n_tokens, strict=True
        ):
            usage = Usage(int(n_context) or None, sum(one.n_tokens for one in own))
            output = Output(logprobs=tuple(own), usage=usage)
            responses[position] = Response((with_cut(output, prompt.cut),))

    def _rolling(self, texts: Sequence[Sequence[str]]) -> list[Response]:
        """Answer requests whose continuations are whole texts."""
        import torch

        if self.way == "encoder_decoder":
            what = "An encoder-decoder has no log-probabilities of whole texts: it only continues an input."
            return [Response(error=Error("permanent", what)) for _ in texts]
        own = [windows(self._whole_tokens(text), self._first, self._loaded.max_length) for row in texts for text in row]
        with boundary(ModelError, "Scoring texts"), torch.inference_mode():
            scores = iter(within_memory(lambda: score_windows(self._network, own, self._softmax_dtype)))
        scored = [tuple(next(scores) for _ in row) for row in texts]
        return [
            Response((Output(logprobs=row, usage=Usage(None, sum(one.n_tokens for one in row))),)) for row in scored
        ]

    def _whole_tokens(self, text: str) -> list[int]:
        """The tokens of a text without a context: with the tokenizer's special ones, if the first is missing."""
        tokenizer, named = self._loaded.tokenizer, self._loaded.settings.prefix_token_id
        first = tokenizer.bos_token if named is None else tokenizer.decode([named])
        return self._encoder.token_ids(text, adds_special=not (first and text.startswith(first))) if text else []

    def _contexts(self, prompts: Sequence[ReadPrompt]) -> Batch:
        """The tensors of contexts. One without text is the token that the user names, and not the tokenizer's own."""
        batch = self._encoder.encode(prompts)
        if self._loaded.settings.prefix_token_id is not None:
            for row, (text, n_tokens) in enumerate(zip(batch.texts, batch.n_tokens, strict=True)):
                if not text and n_tokens == 1:
                    batch.inputs["input_ids"][row, -1] = self._first
        return batch

    def _fitting(
        self,
        prompts: Mapping[int, ReadPrompt],
        texts: Sequence[Sequence[str]],
        responses: dict[int, Response],
        manner: _Manner,
    ) -> _Encoded | None:
        """The requests that are not too long for the model; the responses of the others are filled in."""
        if not prompts:
            return None
        positions, own = tuple(prompts), tuple(prompts.values())
        batch = within_memory(lambda: self._contexts(own))
        splits = tuple(self._split(batch, row, texts[position], manner) for row, position in enumerate(positions))
        fitting = {}
        for row, (position, n_context, parts) in enumerate(zip(positions, batch.n_tokens, splits, strict=True)):
            refusal = self._refusal(int(n_context), parts)
            if refusal is None:
                fitting[position] = prompts[position]
            else:
                responses[position] = self._cut(batch, row, parts) or Response.failed(refusal)
        if len(fitting) == len(positions):
            return _Encoded(positions, own, batch, splits)
        return self._fitting(fitting, texts, responses, manner)

    def _cut(self, batch: Batch, row: int, parts: Split) -> Response | None:
        """The answer to a request that is too long, with as much of the end of its context as fits before each
        continuation; ``None`` if that is not requested or not possible.
        """
        import torch

        most = self._loaded.max_length
        longest = max(tail.n_scored for tail in parts.tails)
        if not self._loaded.settings.cut_prompts or not batch.own_ids or longest > most:
            return None
        n_context = int(batch.n_tokens[row])
        context = batch.inputs["input_ids"][row, -n_context:].tolist()[: n_context - parts.n_dropped]
        own = []
        for tail in parts.tails:
            before = (*context, *tail.tokens[: tail.n_context]) or (self._first,)
            kept = tuple(before[-(most + 1 - tail.n_scored) :])
            own.append([Window(kept, tail.tokens[tail.n_context :])] if tail.n_scored else [])
        with boundary(ModelError, "Scoring continuations"), torch.inference_mode():
            scores = within_memory(lambda: score_windows(self._network, own, self._softmax_dtype))
        usage = Usage(n_context, sum(one.n_tokens for one in scores))
        note, cut = "the context was cut at its beginning", {PROMPT: CUT_ADVICE}
        return Response((Output(logprobs=tuple(scores), usage=usage, note=note, cut=cut),))

    def _manner(self, request: Request) -> _Manner:
        parameters = request.parameters
        assert isinstance(parameters, Loglikelihood)
        template = self._loaded.settings.logprob_template if parameters.template == "auto" else parameters.template
        return _Manner(template == "none" and self._loaded.is_chat, parameters.is_last_token)

    def _read(self, request: Request, manner: _Manner) -> ReadPrompt:
        return self._encoder.read(request, is_plain=manner.is_raw)

    def _split(self, batch: Batch, row: int, continuations: Sequence[str], manner: _Manner) -> Split:
        token_ids = self._encoder.token_ids
        if manner.is_last_token:
            n_context = 0 if self.way == "encoder_decoder" else len(token_ids(batch.texts[row]))
            return Split(n_context, 0, tuple(Tail(tuple(token_ids(one)[-1:])) for one in continuations))
        if self.way == "encoder_decoder":
            return Split(0, 0, tuple(Tail(tuple(token_ids(text))) for text in continuations))
        text = batch.texts[row]
        kept, space = move_white_space(text, is_templated=self._keeps_line_breaks and not manner.is_raw)
        encoded = batch.own_ids[row] if batch.own_ids else token_ids(text)
        longer = dict.fromkeys([*([kept] if space else []), *(text + one for one in continuations if one)])
        tokens = dict(zip(longer, self._joint_tokens(text, encoded, list(longer)), strict=True))
        context = tokens[kept] if space else encoded
        parts = split(encoded, context, [tokens[text + one] if one else encoded for one in continuations])
        dropped = encoded[len(encoded) - parts.n_dropped :]
        if dropped and batch.inputs["input_ids"][row, -len(dropped) :].tolist() != dropped:
            # The processor appends tokens to the prompt, so continuations are tokenised separately after them.
            return Split(len(encoded), 0, tuple(Tail(tuple(token_ids(one))) for one in continuations))
        return parts

    def _refusal(self, n_context: int, parts: Split) -> ModelError | None:
        longest = max((len(tail.tokens) for tail in parts.tails), default=0)
        before = len(self._start) if self.way == "encoder_decoder" else n_context - parts.n_dropped
        most = self._loaded.max_length
        if not most or before + longest <= most:
            return None
        return ModelError(
            f"The prompt and its longest continuation have {before + longest} tokens: more than {most}.",
            hint="To set another limit, use max_length=N.",
        )

    def _scores(self, encoded_batch: _Encoded) -> list[list[ChoiceLogprob]]:
        import torch

        with torch.inference_mode():
            if self.way == "encoder_decoder":
                return score_encoder_decoder(
                    self._network, encoded_batch.batch.inputs, encoded_batch.splits, self._start, self._softmax_dtype
                )
            if self.way == "shared":
                scores = self._shared(encoded_batch)
                if scores is not None:
                    return scores
            return [self._plain(encoded_batch, row) for row in range(len(encoded_batch.prompts))]

    def _shared(self, encoded_batch: _Encoded) -> list[list[ChoiceLogprob]] | None:
        """Scores over shared prefixes; ``None`` if that turns out to be wrong for this model."""
        try:
            scores = self.shared.score(encoded_batch.batch.inputs, encoded_batch.splits)
        except UnsharableError as reason:
            self._go_plain(str(reason))
            return None
        return scores if self._is_sure or self._is_proven(encoded_batch, scores) else None

    def _plain(self, encoded_batch: _Encoded, row: int) -> list[ChoiceLogprob]:
        def copies(n: int) -> dict[str, Any]:
            return self._contexts([encoded_batch.prompts[row]] * n).inputs

        return score_plain(self._network, copies, encoded_batch.splits[row], self._first, self._softmax_dtype)

    def _is_proven(self, encoded_batch: _Encoded, scores: Sequence[Sequence[ChoiceLogprob]]) -> bool:
        """Return whether shared and plain computation agree on the requests that differ most easily: the one with most
        tokens to score and, in a batch of several, the shortest, which is padded.
        """
        longest = [max((len(tail.tokens) for tail in split.tails), default=0) for split in encoded_batch.splits]
        if max(longest) < 2:
            return True  # nothing was read on a cache; the next batch may decide
        telling = {longest.index(max(longest)), encoded_batch.batch.n_tokens.index(min(encoded_batch.batch.n_tokens))}
        for row in telling:
            plain = self._plain(encoded_batch, row)
            if not scores_agree(scores[row], plain, self._loaded.dtype, per_token=_TOLERANCE):
                own, given = ([round(one.logprob, 4) for one in scored] for scored in (plain, scores[row]))
                self._go_plain(f"sharing gives {given}, one forward for each gives {own}")
                return False
        self._is_sure = True
        return True

    def _go_plain(self, reason: str) -> None:
        self.way = "plain"
        self._is_sure = True
        _LOG.warning("Prefixes are not shared, which is slower: %s.", reason.rstrip("."))


def _decides_positions(network: Any) -> bool:
    """Return whether a model's own code determines attention or positions, so that sharing has to be verified."""
    inner = network.get_base_model() if hasattr(network, "get_base_model") else network
    text = inner.config.get_text_config(decoder=True)
    return (
        rotary_owner(inner) is not None
        or inner is not network
        or bool(getattr(text, "cross_attention_layers", None))
        or not type(inner).__module__.startswith("transformers.")
    )


def _continuations(request: Request) -> tuple[str, ...]:
    parameters = request.parameters
    if not isinstance(parameters, Loglikelihood):
        raise ModelError(f"Continuations cannot be scored for a request of kind {parameters.kind!r}.")
    return parameters.continuations


def _is_rolling(request: Request) -> bool:
    return isinstance(request.parameters, Loglikelihood) and request.parameters.is_rolling


def _first_token(loaded: LoadedCheckpoint) -> int:
    """The token of an otherwise empty context."""
    tokenizer = loaded.tokenizer
    for token in (loaded.settings.prefix_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id):
        if token is not None:
            return int(token)
    return loaded.pad_id
