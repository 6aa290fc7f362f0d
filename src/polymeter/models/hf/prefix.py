"""Log-probabilities over a shared prefix: the tensor side, for decoders with a plain cache of keys and values.

One forward reads the prefixes of all requests, media included, and gives the distribution over each continuation's
first token; for choices of one token that is all. Longer tails are then read as a batch of their own, on the cached
keys and values of their prefixes. Logits are computed at the last position of a prefix and at the positions of tails,
never over a prefix.

Prefixes are padded on the left and tails on the right, so that each tail lies right behind its prefix.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.request import ChoiceLogprob
from polymeter.models.hf.packed import Packer
from polymeter.models.hf.score_rows import (
    LOGIT_BYTES,
    Row,
    RowScores,
    accepted,
    longest_first,
    right_padded,
    shifted,
    vocabulary,
)
from polymeter.models.hf.score_tokens import Split

if TYPE_CHECKING:
    import torch

CACHE_BYTES: Final = 1 << 30
"""Maximum bytes of keys and values that are copied for tails that are read together."""


def score_shared(
    model: Any, inputs: Mapping[str, torch.Tensor], splits: Sequence[Split], first_token: int, packer: Packer
) -> list[list[ChoiceLogprob]]:
    """Score every continuation of every request with one computation of each prefix.

    Args:
        model: A Transformers model whose cache ``is_plain_cache``.
        inputs: The encoded contexts, padded on the left: ``input_ids`` and ``attention_mask`` of shape
            ``(requests, width)``, and whatever media the model takes.
        splits: The shared part of each context, and the tails.
        first_token: Token of an otherwise empty prefix.
        packer: Reads several tails of one prefix as one sequence, where the model takes that.

    Returns:
        For each request one score for each of its tails.

    Raises:
        UnsharableError: if the model has no cache that tails could be read on.
    """
    inputs = shifted(inputs, [split.n_dropped for split in splits], first_token)
    rows = [Row(request, tail) for request, split in enumerate(splits) for tail in split.tails]
    reader = PrefixReader(model)
    last = reader.read(inputs)
    scores = RowScores(len(rows), last.device)
    scores.add_first(rows, last)
    longer = longest_first(rows)
    if longer and not packer.score(reader, longer, rows, scores):
        reader.score_apart(longer, rows, scores)
    results = iter(scores.result(rows))
    return [[next(results) for _ in split.tails] for split in splits]


class UnsharableError(Exception):
    """Tails cannot be read on this model's cache. ``Scorer`` catches it and scores without sharing."""


class PrefixReader:
    """Reads prefixes once, then any number of tails on their cache.

    Args:
        model: The model.

    Attributes:
        cache: The keys and values of the prefixes.
        starts: The position behind each.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._takes = accepted(model)
        self._rotary = rotary_owner(model)
        self._mask: Any = None
        self.starts: Any = None
        self.cache: Any = None

    def read(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Read the prefixes.

        Returns:
            Logits after the last token of each, shape ``(requests, vocabulary)``.

        Raises:
            UnsharableError: if the model's cache is not plain keys and values. A recurrent state is not usable either,
                because padding changes it.
        """
        mask = inputs["attention_mask"]
        rotary = self._rotary
        given: dict[str, Any] = {**inputs, "use_cache": True}
        if "logits_to_keep" in self._takes:
            given["logits_to_keep"] = 1
        if rotary is not None:
            rotary.rope_deltas = None  # left over from an earlier batch
        elif "position_ids" in self._takes:
            given["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        output = self._model(**given)
        self.cache, self._mask = getattr(output, "past_key_values", None), mask
        if not is_plain_cache(self.cache):
            raise UnsharableError(f"{type(self._model).__name__} keeps no plain cache of keys and values.")
        self.starts = mask.sum(-1)
        if rotary is not None:
            deltas = rotary.rope_deltas
            # Without media, such a model counts positions from the left edge, padding included.
            self.starts = mask.new_full((len(mask),), mask.shape[1]) if deltas is None else self.starts + deltas[:, 0]
        return output.logits[:, -1]

    def step(self, tokens: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any) -> torch.Tensor:
        """Read one more token of each row of a cache, which grows.

        Args:
            tokens: Shape ``(rows,)``.
            mask: Which columns are the row's own, the new one among them.
            positions: The positions of the tokens.
            cache: A plain cache.

        Returns:
            The logits, shape ``(rows, vocabulary)``.
        """
        given = {"input_ids": tokens[:, None], "attention_mask": mask, "past_key_values": cache}
        if "position_ids" in self._takes:
            given["position_ids"] = self._along_axes(positions[:, None])
        logits: torch.Tensor = self._model(**given, use_cache=True).logits
        return logits[:, -1]

    @property
    def shape(self) -> tuple[int, int]:
        """How many prefixes there are, and how wide they are with their padding."""
        n_prefixes, width = self._mask.shape
        return n_prefixes, width

    @property
    def is_packable(self) -> bool:
        """Whether tails can be told where they stand, and see the whole of their prefix."""
        from transformers.cache_utils import DynamicLayer

        return "position_ids" in self._takes and all(type(layer) is DynamicLayer for layer in self.cache.layers)

    def score_apart(self, numbers: Sequence[int], rows: Sequence[Row], scores: RowScores) -> None:
        """Read some rows' tails beyond their first tokens, each on its own copy of its prefix.

        Args:
            numbers: Numbers of the rows, the longest tail first.
            rows: All rows.
            scores: What they score is added here.
        """
        waiting = list(numbers)
        while waiting:
            n_taken = self._n_rows(1 + len(rows[waiting[0]].tail.tokens), len(waiting))
            taken, waiting = waiting[:n_taken], waiting[n_taken:]
            self._score(taken, rows, scores)

    def read_packed(
        self, requests: Sequence[int], tokens: torch.Tensor, offsets: torch.Tensor, sees: torch.Tensor
    ) -> torch.Tensor:
        """Read one pack of tails behind each of some prefixes.

        Args:
            requests: The prefixes.
            tokens: Shape ``(packs, width)``; padding on the right.
            offsets: How far each token is behind the end of its prefix, the same shape.
            sees: Which tokens of its pack each token sees, shape ``(packs, width, width)``.

        Returns:
            The logits, shape ``(packs, width, vocabulary)``.
        """
        import torch

        device = self._mask.device
        of = torch.tensor(requests, device=device)
        before = self._mask[of].bool()[:, None].expand(-1, tokens.shape[1], -1)
        seen = torch.cat([before, sees.to(device)], dim=-1)[:, None]
        # Added to the attention scores: every implementation takes that, not every one a mask of truth values.
        dtype = self._model.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill(~seen, torch.finfo(dtype).min)
        given = {"input_ids": tokens.to(device), "attention_mask": mask, "past_key_values": gathered(self.cache, of)}
        given["position_ids"] = self._along_axes(self.starts[of][:, None] + offsets.to(device))
        return self._model(**given, use_cache=True).logits

    def _n_rows(self, length: int, most: int) -> int:
        """How many tails of this length are read at a time, so that copies of the cache stay within ``CACHE_BYTES``."""
        n_prefixes, width = self._mask.shape
        held = sum(layer.keys.nbytes + layer.values.nbytes for layer in self.cache.layers if layer.is_initialized)
        return max(1, min(most, int(CACHE_BYTES * width * n_prefixes / max(1, held) / (width + length))))

    def _score(self, numbers: Sequence[int], rows: Sequence[Row], scores: RowScores) -> None:
        """Read some rows' tails beyond their first tokens, in windows that keep logits within ``LOGIT_BYTES``."""
        import torch

        device = self._mask.device
        tails = [rows[number].tail for number in numbers]
        of = torch.tensor([rows[number].request for number in numbers], device=device)
        tokens, is_real, is_scored = (tensor.to(device) for tensor in right_padded(tails))
        cache, mask, starts = gathered(self.cache, of), self._mask[of], self.starts[of]
        window = max(1, LOGIT_BYTES // (4 * len(numbers) * vocabulary(self._model)))
        for begin in range(0, tokens.shape[1] - 1, window):
            end = min(begin + window, tokens.shape[1] - 1)
            mask = torch.cat([mask, is_real[:, begin:end].to(mask.dtype)], dim=1)
            given = {"input_ids": tokens[:, begin:end], "attention_mask": mask, "past_key_values": cache}
            if "position_ids" in self._takes:
                given["position_ids"] = self._positions(starts, begin, end)
            logits = self._model(**given, use_cache=True).logits
            step = slice(begin + 1, end + 1)
            scores.add(numbers, logits, tokens[:, step], is_scored[:, step])

    def _positions(self, starts: torch.Tensor, begin: int, end: int) -> torch.Tensor:
        import torch

        return self._along_axes(starts[:, None] + torch.arange(begin, end, device=starts.device))

    def _along_axes(self, positions: torch.Tensor) -> torch.Tensor:
        return positions if self._rotary is None else positions.expand(3, *positions.shape)


def is_plain_cache(cache: Any) -> bool:
    """Whether a cache is rows of keys and values and nothing else, so that its rows can be repeated.

    A window that slides is fine; a recurrent state, a buffer of fixed size, quantised values or an encoder's cache is
    not.
    """
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    plain = (DynamicLayer, DynamicSlidingWindowLayer)
    return isinstance(cache, DynamicCache) and all(type(layer) in plain for layer in cache.layers)


def gathered(cache: Any, rows: torch.Tensor) -> Any:
    """A plain cache of the chosen rows; the given one is not changed."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    held = [layer for layer in chosen.layers if layer.is_initialized]
    n_held = held[0].keys.shape[0]
    if rows.tolist() == list(range(n_held)):
        return chosen
    if n_held > 1:
        chosen.reorder_cache(rows)
        return chosen
    for layer in held:  # a single prefix is not copied here: adding the first tokens copies it
        layer.keys = layer.keys.expand(len(rows), -1, -1, -1)
        layer.values = layer.values.expand(len(rows), -1, -1, -1)
    return chosen


def rotary_owner(model: Any) -> Any:
    """The module that remembers how far media shift the positions of a model with rotary axes for time, height and
    width; ``None`` for all other models.
    """
    return next((module for module in model.modules() if "rope_deltas" in vars(module)), None)
