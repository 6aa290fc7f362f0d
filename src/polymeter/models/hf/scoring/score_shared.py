"""Log-probabilities over a shared prefix, for decoders with a plain cache of keys and values: each prefix is computed
once, media included, and what its continuations add is computed on top of it. What all prefixes of a batch begin with
(few-shot examples) is computed once for all of them (``heads``).

There are three ways, with the same numbers. The fastest is one forward over each prefix and all its tails, without a
cache. If that needs too much memory, prefixes are read first, and then their tails, packed into one sequence. Both need
a mask in four dimensions. Not every architecture accepts it unchanged, and some replace it for media. So the first
batch of each kind that could differ is also computed the third way: each tail on its own copy of its prefix's cache.
The others must agree with it.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.errors import is_out_of_memory
from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.heads import TEXT, Heads, PromptHead, without_head
from polymeter.models.hf.scoring.agreement import scores_agree
from polymeter.models.hf.scoring.packed import Layout, Pack, rounds
from polymeter.models.hf.scoring.prefix import PrefixReader, rotary_owner
from polymeter.models.hf.scoring.score_rows import (
    LOGIT_BYTES,
    ContinuationRow,
    RowScores,
    longest_first,
    shifted,
    vocabulary,
)
from polymeter.models.hf.scoring.score_tokens import Split

if TYPE_CHECKING:
    import torch

PACK_TOKENS: Final = 512
"""Maximum tokens of a pack: each is compared with all others of its pack, though it sees only those of its tail."""
WHOLE_TOKENS: Final = 2048
"""Maximum tokens of a prefix and its tails in one forward. Attention without a mask of its own is faster on more."""
PROCESSOR_BYTES: Final = 1 << 24
"""Maximum bytes of a layer's activations on the processor, which gains nothing from more rows: arrays that leave its
caches are slow, and the C library maps the largest ones anew each time.
"""
_ATTENTION = ("sdpa", "eager")
"""Implementations of attention that accept a mask in four dimensions."""
_TOLERANCE: Final = 1e-4
_HEAD: Final = "head"
_LOG = logging.getLogger("polymeter")


class SharedScorer:
    """Scores continuations over shared prefixes, and remembers which ways are correct for the model.

    Args:
        model: A Transformers model.
        first_token: Token of an otherwise empty prefix.
        softmax_dtype: See ``RowScores``.

    Attributes:
        is_whole: For each kind of batch, by the names of its tensors, whether prefixes and tails are read in one
            forward. What is missing is not known yet.
        is_packed: Whether tails that are read on a cache are packed; ``None``: not known yet.
        has_heads: Whether prefixes that begin alike are read behind what they share; ``None``: not known yet.
    """

    def __init__(self, model: Any, first_token: int, softmax_dtype: str = "") -> None:
        self._model = model
        self._first_token = first_token
        self._softmax_dtype = softmax_dtype
        text = model.config.get_text_config(decoder=True)
        self._takes_masks = getattr(text, "_attn_implementation", None) in _ATTENTION
        self.is_whole: dict[frozenset[str], bool] = {}
        self.is_packed: bool | None = None
        self.has_heads: bool | None = None if rotary_owner(model) is None else False
        self._heads = Heads(model)

    def score(self, inputs: Mapping[str, torch.Tensor], splits: Sequence[Split]) -> list[list[ChoiceLogprob]]:
        """Score every continuation of every request with one computation of each prefix.

        Args:
            inputs: The encoded contexts, padded on the left: ``input_ids`` and ``attention_mask`` of shape
                ``(requests, width)``, and any media that the model accepts.
            splits: The shared part of each context, and the tails.

        Returns:
            For each request one score for each of its tails.

        Raises:
            UnsharableError: if the model has no cache that tails could be read on.
        """
        inputs = shifted(inputs, [split.n_dropped for split in splits], self._first_token)
        scored: list[list[ChoiceLogprob]] = []
        for part in self._parts(inputs, splits):
            own = splits[part]
            rows = [ContinuationRow(request, tail) for request, split in enumerate(own) for tail in split.tails]
            results = iter(self._scores(_rows_of_batch(inputs, part), rows).result(rows))
            scored.extend([next(results) for _ in split.tails] for split in own)
        return scored

    def _parts(self, inputs: Mapping[str, torch.Tensor], splits: Sequence[Split]) -> list[slice]:
        """The requests that are read together. On the processor these are few where they are long."""
        n_requests = len(splits)
        if inputs["input_ids"].device.type != "cpu" or frozenset(inputs) != TEXT:
            return [slice(0, n_requests)]
        n_tails = max(sum(len(tail.tokens) for tail in split.tails) for split in splits)
        n_bytes = 4 * _activations(self._model) * (inputs["input_ids"].shape[1] + n_tails)
        n_taken = max(1, PROCESSOR_BYTES // n_bytes)
        return [slice(begin, min(begin + n_taken, n_requests)) for begin in range(0, n_requests, n_taken)]

    def _scores(self, inputs: Mapping[str, torch.Tensor], rows: Sequence[ContinuationRow]) -> RowScores:
        """Scores behind the head that the prefixes have in common, if that is worth while and correct."""
        if self.has_heads is False:
            return self._behind(None, inputs, rows)
        head = self._heads.of(inputs)
        if head is None:
            return self._behind(None, inputs, rows)
        shorter = without_head(inputs, len(head.tokens))
        if self.has_heads:
            return self._behind(head, shorter, rows)
        scores = self._behind(None, inputs, rows)
        proven = self._proven(lambda: self._behind(head, shorter, rows), rows, scores)
        self.has_heads = proven is not None
        return proven or scores

    def _behind(
        self, head: PromptHead | None, inputs: Mapping[str, torch.Tensor], rows: Sequence[ContinuationRow]
    ) -> RowScores:
        """Scores of tails behind prefixes, themselves behind a head or without one."""
        longer = longest_first(rows)
        n_head = 0 if head is None else len(head.tokens)
        kind = frozenset(inputs) if head is None else frozenset({*inputs, _HEAD})
        is_small = self._is_small(inputs, rows, n_head)
        scores = None
        if is_small and self.is_whole.get(kind):
            scores = self._tried(lambda: self._whole(head, inputs, rows, longer))
        if scores is None:
            reader = PrefixReader(self._model, head)
            begun = self._begun(rows, reader.read(inputs))
            if not longer:
                scores = begun
            elif not (self._takes_masks and reader.is_packable):
                scores = _apart(reader, rows, longer, begun)
            elif is_small and kind not in self.is_whole:
                scores = _apart(reader, rows, longer, begun)
                proven = self._proven(lambda: self._whole(head, inputs, rows, longer), rows, scores)
                self.is_whole[kind] = proven is not None
                scores = proven or scores
            else:
                scores = self._on_cache(reader, rows, longer, begun)
        return scores

    def _is_small(self, inputs: Mapping[str, torch.Tensor], rows: Sequence[ContinuationRow], n_head: int) -> bool:
        """Return whether one forward over prefixes and tails has a mask and logits within ``LOGIT_BYTES``."""
        n_requests, n_before = inputs["input_ids"].shape
        n_read = [0] * n_requests
        for row in rows:
            n_read[row.request] += row.n_read
        width = n_before + max(n_read)
        n_numbers = max(width * (n_head + width), (1 + max(n_read)) * vocabulary(self._model))
        return width <= WHOLE_TOKENS and max(n_read) <= PACK_TOKENS and 4 * n_requests * n_numbers <= LOGIT_BYTES

    def _whole(
        self,
        head: PromptHead | None,
        inputs: Mapping[str, torch.Tensor],
        rows: Sequence[ContinuationRow],
        longer: Sequence[int],
    ) -> RowScores:
        """Scores by one forward over each prefix and its tails."""
        reader = PrefixReader(self._model, head)
        if not longer:
            return self._begun(rows, reader.read(inputs, keeps_cache=False))
        own: list[list[int]] = [[] for _ in inputs["input_ids"]]
        for number in longer:
            own[rows[number].request].append(number)
        layout = Layout([Pack(request, tuple(numbers)) for request, numbers in enumerate(own)], rows)
        logits = reader.read_whole(inputs, layout)
        scores = self._begun(rows, logits[:, 0])
        layout.score(logits[:, 1:], scores)
        return scores

    def _on_cache(
        self, reader: PrefixReader, rows: Sequence[ContinuationRow], longer: Sequence[int], begun: RowScores
    ) -> RowScores:
        """Scores by tails on the cache of prefixes that were read, packed if that is correct."""
        n_requests, width = reader.shape
        most = min(PACK_TOKENS, LOGIT_BYTES // (4 * n_requests * max(vocabulary(self._model), width + PACK_TOKENS)))

        def packed() -> RowScores:
            scores = copy.deepcopy(begun)
            for packs in rounds(longer, rows, most):
                layout = Layout(packs, rows)
                layout.score(reader.read_packed([pack.request for pack in packs], layout), scores)
            return scores

        is_alone = len({rows[number].request for number in longer}) == len(longer)
        fits = not is_alone and rows[longer[0]].n_read <= most
        if fits and self.is_packed:
            return packed()
        scores = _apart(reader, rows, longer, begun)
        if fits and self.is_packed is None:
            proven = self._proven(packed, rows, scores)
            self.is_packed = proven is not None
            scores = proven or scores
        return scores

    def _begun(self, rows: Sequence[ContinuationRow], last: torch.Tensor) -> RowScores:
        """Scores of the tails' first tokens.

        Args:
            rows: The rows.
            last: Logits after each prefix, shape ``(requests, vocabulary)``.
        """
        scores = RowScores(len(rows), last.device, self._softmax_dtype)
        scores.add_first(rows, last)
        return scores

    def _proven(
        self, read: Callable[[], RowScores], rows: Sequence[ContinuationRow], expected: RowScores
    ) -> RowScores | None:
        """Return the scores of one way if they agree with those of the slowest one; else ``None``. They are used at
        once, so that the last digits of a request do not depend on whether it was the first of its replica, which
        checks the way.
        """
        given = self._tried(read)
        if given is None:
            return None
        agrees = scores_agree(given.result(rows), expected.result(rows), self._model.dtype, per_token=_TOLERANCE)
        return given if agrees else None

    def _tried(self, read: Callable[[], RowScores]) -> RowScores | None:
        """Return the scores of one way; ``None`` if it fails, since an architecture's own code may refuse a mask with
        any exception.
        """
        try:
            return read()
        except Exception as error:
            if is_out_of_memory(error):
                raise
            _LOG.debug("Choices are not read together: %s", error)
            return None


def _activations(model: Any) -> int:
    """The most numbers that a layer computes for each token."""
    text = model.config.get_text_config(decoder=True)
    return int(getattr(text, "intermediate_size", None) or 4 * text.hidden_size)


def _rows_of_batch(inputs: Mapping[str, torch.Tensor], part: slice) -> dict[str, torch.Tensor]:
    """Some rows of a batch of texts, without the columns that are padding in all of them."""
    if part == slice(0, len(inputs["input_ids"])):
        return dict(inputs)
    width = int(inputs["attention_mask"][part].sum(-1).max())
    return {name: tensor[part, -width:] for name, tensor in inputs.items()}


def _apart(reader: PrefixReader, rows: Sequence[ContinuationRow], longer: Sequence[int], begun: RowScores) -> RowScores:
    """Scores by tails, each on its own copy of its prefix's cache."""
    scores = copy.deepcopy(begun)
    reader.score_apart(longer, rows, scores)
    return scores
