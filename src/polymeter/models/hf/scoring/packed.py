"""Tails of one prefix laid out as one sequence, so that they are read together and each as if it were alone.

Each token sees its prefix and its own tail, and positions begin anew with each tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from polymeter.models.hf.scoring.score_rows import ContinuationRow, RowScores, right_padded

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Pack:
    """Tails of one request, one behind the other.

    Attributes:
        request: Position of the request in the batch.
        numbers: Numbers of the tails' rows.
    """

    request: int
    numbers: tuple[int, ...]


def rounds(numbers: Sequence[int], rows: Sequence[ContinuationRow], most: int) -> list[list[Pack]]:
    """Divide tails into packs of at most ``most`` tokens, and packs into rounds that hold one pack of a request each.

    Args:
        numbers: Numbers of the rows.
        rows: All rows.
        most: Not less than the longest tail has tokens to read.
    """
    packs: dict[int, list[list[int]]] = {}
    room: dict[int, int] = {}
    for number in numbers:
        request, n_read = rows[number].request, rows[number].n_read
        if room.get(request, 0) < n_read:
            packs.setdefault(request, []).append([])
            room[request] = most
        packs[request][-1].append(number)
        room[request] -= n_read
    columns = zip_longest(*([Pack(request, tuple(one)) for one in own] for request, own in packs.items()))
    return [[pack for pack in column if pack is not None] for column in columns]


class Layout:
    """Packs as tensors of shape ``(packs, width)``, shorter ones with padding on the right.

    Args:
        packs: At least one of them has a tail.
        rows: All rows.

    Attributes:
        tokens: What is read. The last token of a tail is scored and not read.
        offsets: How far each token is behind the end of its prefix.
        sees: Which tokens of its pack each token sees, shape ``(packs, width, width)``.
    """

    def __init__(self, packs: Sequence[Pack], rows: Sequence[ContinuationRow]) -> None:
        import torch

        self._numbers = [number for pack in packs for number in pack.numbers]
        self._of = [place for place, pack in enumerate(packs) for _ in pack.numbers]
        self._tokens, is_real, self._is_scored = right_padded([rows[number].tail for number in self._numbers])
        is_read = is_real[:, 1:]
        begins = []
        for pack in packs:
            n_before = 0
            for number in pack.numbers:
                begins.append(n_before)
                n_before += rows[number].n_read
        step = torch.arange(is_read.shape[1])
        self._places = torch.tensor(begins)[:, None] + step
        self._width = int((torch.tensor(begins) + is_read.sum(-1)).max())
        self.tokens, tail, self.offsets = torch.zeros(3, len(packs), self._width, dtype=torch.long)
        at = torch.tensor(self._of)[:, None].expand_as(is_read)[is_read], self._places[is_read]
        self.tokens[at] = self._tokens[:, :-1][is_read]
        tail[at] = torch.arange(1, len(begins) + 1)[:, None].expand_as(is_read)[is_read]
        self.offsets[at] = step.expand_as(is_read)[is_read]
        self.sees = (tail[:, :, None] == tail[:, None, :]) & torch.ones(self._width, self._width).tril().bool()

    def score(self, logits: torch.Tensor, scores: RowScores) -> None:
        """Add what the tails score beyond their first tokens.

        Args:
            logits: After each token that was read, shape ``(packs, width, vocabulary)``.
            scores: Of all rows.
        """
        places = self._places.clamp(max=self._width - 1)
        scores.add(self._numbers, logits, self._tokens[:, 1:], self._is_scored[:, 1:], self._of, places)
