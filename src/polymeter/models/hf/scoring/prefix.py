"""Prefixes and what follows them: the forwards of decoders with a plain cache of keys and values.

One forward reads the prefixes of all requests, media included, and gives the distribution over the token that follows
each. The text that follows is read on the cached keys and values or, if it is known beforehand, in the same forward.
Logits are computed at the last position of a prefix and at the positions of tails, never over a prefix.

Prefixes are padded on the left and tails on the right, so that each tail lies right behind its prefix.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from polymeter.models.hf.heads import PromptHead
from polymeter.models.hf.plain_cache import gathered, is_plain_cache, keeps_everything
from polymeter.models.hf.scoring.packed import Layout
from polymeter.models.hf.scoring.score_plain import extended
from polymeter.models.hf.scoring.score_rows import (
    LOGIT_BYTES,
    ContinuationRow,
    RowScores,
    accepted,
    right_padded,
    vocabulary,
)

if TYPE_CHECKING:
    import torch

CACHE_BYTES: Final = 1 << 30
"""Maximum bytes of keys and values that are copied for tails that are read together."""


class UnsharableError(Exception):
    """Tails cannot be read on this model's cache. ``Scorer`` catches it and scores without sharing."""


class PrefixReader:
    """Reads prefixes once, then any number of tails on their cache.

    Args:
        model: The model.
        head: The text read before each prefix; the prefixes continue behind it.

    Attributes:
        cache: The keys and values of the prefixes.
        starts: The position behind each.
    """

    def __init__(self, model: Any, head: PromptHead | None = None) -> None:
        self._model = model
        self._head = head
        self._n_head = 0 if head is None else len(head.tokens)
        self._takes = accepted(model)
        self._rotary = rotary_owner(model)
        self._mask: Any = None
        self.starts: Any = None
        self.cache: Any = None

    def read(self, inputs: Mapping[str, torch.Tensor], *, keeps_cache: bool = True) -> torch.Tensor:
        """Read the prefixes.

        Args:
            inputs: Their tensors, padded on the left.
            keeps_cache: Whether something will be read behind them.

        Returns:
            Logits after the last token of each, shape ``(requests, vocabulary)``.

        Raises:
            UnsharableError: if the model's cache is not plain keys and values. A recurrent state is not usable either,
                because padding changes it.
        """
        mask = inputs["attention_mask"]
        rotary = self._rotary
        given: dict[str, Any] = {**inputs, "use_cache": keeps_cache}
        if "logits_to_keep" in self._takes:
            given["logits_to_keep"] = 1
        if rotary is not None:
            rotary.rope_deltas = None  # left over from an earlier batch
        elif "position_ids" in self._takes:
            given["position_ids"] = _places(mask) + self._n_head
        if self._head is not None:
            mask = given["attention_mask"] = self._behind_head(mask)
            given["past_key_values"] = self._head.copies(len(mask))
        output = self._model(**given)
        if not keeps_cache:
            return output.logits[:, -1]
        self.cache = getattr(output, "past_key_values", None)
        self._mask = mask
        if not is_plain_cache(self.cache):
            raise UnsharableError(f"{type(self._model).__name__} keeps no plain cache of keys and values.")
        self.starts = mask.sum(-1)
        if rotary is not None:
            deltas = rotary.rope_deltas
            if hasattr(rotary, "compute_3d_position_ids"):
                self.starts = self._positions_along_axes(inputs)[:, :, -1].amax(0) + 1
            elif deltas is not None:
                self.starts = self.starts + deltas[:, 0]
            else:  # without media, such a model counts positions from the left edge, padding included
                self.starts = mask.new_full((len(mask),), mask.shape[1])
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
        """The number of prefixes, and their width with padding."""
        n_prefixes, width = self._mask.shape
        return n_prefixes, width

    @property
    def is_packable(self) -> bool:
        """True if positions can be set for tails, and tails see the whole of their prefix."""
        return "position_ids" in self._takes and keeps_everything(self.cache)

    def score_apart(self, numbers: Sequence[int], rows: Sequence[ContinuationRow], scores: RowScores) -> None:
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

    def read_whole(self, inputs: Mapping[str, torch.Tensor], layout: Layout) -> torch.Tensor:
        """Read prefixes, and one pack of tails behind each, in one forward that keeps no cache.

        Args:
            inputs: The prefixes' tensors, padded on the left.
            layout: A pack for each prefix.

        Returns:
            The logits after each prefix and after each token of its pack, shape ``(requests, 1 + width, vocabulary)``.
        """
        import torch

        mask = inputs["attention_mask"]
        device, n_before = mask.device, mask.shape[1]
        sees, tokens = layout.sees.to(device), layout.tokens.to(device)
        n_read = 1 + tokens.shape[1]
        own = mask.bool()[:, None]
        # Padding sees itself, since a token that sees nothing has no attention scores that add up to 1.
        itself = torch.eye(n_before, dtype=torch.bool, device=device)
        before = own & torch.ones_like(itself).tril() | itself
        seen = torch.cat(
            [
                torch.nn.functional.pad(before, (0, n_read - 1)),
                torch.cat([own.expand(-1, n_read - 1, -1), sees], dim=-1),
            ],
            dim=1,
        )
        given = extended(inputs, tokens, torch.ones_like(tokens))
        given |= {"attention_mask": self._added(self._behind_head(seen)), "use_cache": False}
        if self._head is not None:
            given["past_key_values"] = self._head.copies(len(mask))
        if self._rotary is None:
            prefix, starts = _places(mask) + self._n_head, mask.sum(-1) + self._n_head
        else:
            prefix = self._positions_along_axes(inputs)
            starts = prefix[:, :, -1].amax(0) + 1
        tails = self._along_axes(starts[:, None] + layout.offsets.to(device))
        given["position_ids"] = torch.cat([prefix, tails], dim=-1)
        if "logits_to_keep" in self._takes:
            given["logits_to_keep"] = n_read
        return self._model(**given).logits[:, -n_read:]

    def read_packed(self, requests: Sequence[int], layout: Layout) -> torch.Tensor:
        """Read one pack of tails behind each of some prefixes.

        Args:
            requests: The prefixes.
            layout: Their packs.

        Returns:
            The logits, shape ``(packs, width, vocabulary)``.
        """
        import torch

        device = self._mask.device
        of = torch.tensor(requests, device=device)
        before = self._mask[of].bool()[:, None].expand(-1, layout.tokens.shape[1], -1)
        mask = self._added(torch.cat([before, layout.sees.to(device)], dim=-1))
        given = {"input_ids": layout.tokens.to(device), "attention_mask": mask, "use_cache": True}
        given["past_key_values"] = gathered(self.cache, of)
        given["position_ids"] = self._along_axes(self.starts[of][:, None] + layout.offsets.to(device))
        return self._model(**given).logits

    def _behind_head(self, mask: torch.Tensor) -> torch.Tensor:
        """A mask over prefixes as one over head and prefixes: all see the head."""
        import torch

        return torch.nn.functional.pad(mask, (self._n_head, 0), value=1)

    def _added(self, sees: torch.Tensor) -> torch.Tensor:
        """Return a mask as numbers that are added to attention scores. Every implementation accepts these; only some
        accept truth values.
        """
        import torch

        mask = torch.zeros(sees.shape, dtype=self._model.dtype, device=sees.device)
        return mask.masked_fill_(~sees, torch.finfo(mask.dtype).min)[:, None]

    def _positions_along_axes(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Positions of prefixes in time, height and width. A text continues behind its last token: the frames of a
        video that came before may have later times, which ``rope_deltas`` counts from.
        """
        import torch

        mask, rotary = inputs["attention_mask"], self._rotary
        rotary.rope_deltas = None  # left over from an earlier batch
        tell = rotary.compute_3d_position_ids
        names = inspect.signature(tell).parameters
        given = dict.fromkeys(names) | {name: one for name, one in inputs.items() if name in names}
        if "audio_feature_lengths" in names and "feature_attention_mask" in inputs:  # as its forward computes them
            given["audio_feature_lengths"] = inputs["feature_attention_mask"].sum(-1)
        positions = tell(**given)
        if positions is None:  # without media, such a model counts positions from the left edge, padding included
            return torch.arange(mask.shape[1], device=mask.device).expand(3, *mask.shape)
        axes: torch.Tensor = positions
        return axes

    def _n_rows(self, length: int, most: int) -> int:
        """Return the number of tails of this length that are read at a time, so that copies of the cache stay within
        ``CACHE_BYTES``.
        """
        n_prefixes, width = self._mask.shape
        held = sum(layer.keys.nbytes + layer.values.nbytes for layer in self.cache.layers if layer.is_initialized)
        return max(1, min(most, int(CACHE_BYTES * width * n_prefixes / max(1, held) / (width + length))))

    def _score(self, numbers: Sequence[int], rows: Sequence[ContinuationRow], scores: RowScores) -> None:
        """Read some rows' tails beyond their first tokens, in windows that keep logits within ``LOGIT_BYTES``."""
        import torch

        device = self._mask.device
        tails = [rows[number].tail for number in numbers]
        of = torch.tensor([rows[number].request for number in numbers], device=device)
        tokens, is_real, is_scored = (tensor.to(device) for tensor in right_padded(tails))
        cache = gathered(self.cache, of)
        mask = self._mask[of]
        starts = self.starts[of]
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


def _places(mask: torch.Tensor) -> torch.Tensor:
    """Positions of tokens, counted from the first that is not padding."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


def rotary_owner(model: Any) -> Any:
    """The module that remembers how far media shift the positions of a model with rotary axes for time, height and
    width; ``None`` for all other models.
    """
    return next((module for module in model.modules() if "rope_deltas" in vars(module)), None)
