"""All tails of a prefix read as one sequence, in place of one copy of the prefix's keys and values for each.

A mask in four dimensions lets each token see its prefix and its own tail, and positions begin anew with each tail, so
the numbers are those of tails read apart. Not every architecture takes such a mask as it is: the first batch in which
it matters is computed both ways, and tails are packed from then on only if the two agree.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.errors import is_out_of_memory
from polymeter.models.hf.agreement import scores_agree
from polymeter.models.hf.score_rows import LOGIT_BYTES, Row, RowScores, right_padded, vocabulary

if TYPE_CHECKING:
    from polymeter.models.hf.prefix import PrefixReader

PACK_TOKENS: Final = 512
"""Maximum tokens of a pack: each is compared with all others of its pack, though it sees only those of its tail."""
_ATTENTION = ("sdpa", "eager")
"""Implementations of attention that take a mask in four dimensions."""
_TOLERANCE: Final = 1e-4
_LOG = logging.getLogger("polymeter")


@dataclass(frozen=True, slots=True)
class Pack:
    """Tails of one request, one behind the other.

    Attributes:
        request: Position of the request in the batch.
        numbers: Numbers of the tails' rows.
    """

    request: int
    numbers: tuple[int, ...]


class Packer:
    """Reads packed tails, and remembers whether the model takes them.

    Args:
        model: A Transformers model.

    Attributes:
        is_used: Whether tails are packed; ``None``: the first batch with several tails of one request will show.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        text = model.config.get_text_config(decoder=True)
        self.is_used = None if getattr(text, "_attn_implementation", None) in _ATTENTION else False

    def score(self, reader: PrefixReader, numbers: Sequence[int], rows: Sequence[Row], scores: RowScores) -> bool:
        """Add what the tails of some rows score beyond their first tokens.

        Args:
            reader: It has read the prefixes.
            numbers: Numbers of rows whose tails have more than one token, the longest first.
            rows: All rows.
            scores: Of all rows.

        Returns:
            Whether it was done; if not, nothing was added.
        """
        if self.is_used is None and not reader.is_packable:
            self.is_used = False
        most = _most_tokens(reader, vocabulary(self._model))
        requests = [rows[number].request for number in numbers]
        if self.is_used is False or len(set(requests)) == len(requests) or len(rows[numbers[0]].tail.tokens) - 1 > most:
            return False
        if self.is_used is None:
            return self._prove(reader, numbers, rows, scores, most)
        for packs in rounds(numbers, rows, most):
            _read(reader, packs, rows, scores)
        return True

    def _prove(
        self, reader: PrefixReader, numbers: Sequence[int], rows: Sequence[Row], scores: RowScores, most: int
    ) -> bool:
        """Score the tails apart, and compare that with scoring them packed."""
        packed = copy.deepcopy(scores)
        reader.score_apart(numbers, rows, scores)
        try:
            for packs in rounds(numbers, rows, most):
                _read(reader, packs, rows, packed)
        except Exception as error:  # an architecture's own code may refuse such a mask with anything
            if is_out_of_memory(error):
                raise
            self.is_used = False
            _LOG.debug("Choices are not packed: %s", error)
            return True
        self.is_used = scores_agree(packed.result(rows), scores.result(rows), self._model.dtype, per_token=_TOLERANCE)
        return True


def rounds(numbers: Sequence[int], rows: Sequence[Row], most: int) -> list[list[Pack]]:
    """Divide tails into packs of at most ``most`` tokens, and packs into rounds that hold one pack of a request each."""
    packs: dict[int, list[list[int]]] = {}
    room: dict[int, int] = {}
    for number in numbers:
        request, n_fed = rows[number].request, len(rows[number].tail.tokens) - 1
        if room.get(request, 0) < n_fed:
            packs.setdefault(request, []).append([])
            room[request] = most
        packs[request][-1].append(number)
        room[request] -= n_fed
    columns = zip_longest(*([Pack(request, tuple(one)) for one in own] for request, own in packs.items()))
    return [[pack for pack in column if pack is not None] for column in columns]


def _most_tokens(reader: PrefixReader, n_words: int) -> int:
    """Tokens of a pack whose logits and mask stay within ``LOGIT_BYTES``."""
    n_requests, width = reader.shape
    return min(PACK_TOKENS, LOGIT_BYTES // (4 * n_requests * max(n_words, width + PACK_TOKENS)))


def _read(reader: PrefixReader, packs: Sequence[Pack], rows: Sequence[Row], scores: RowScores) -> None:
    import torch

    numbers = [number for pack in packs for number in pack.numbers]
    of = [place for place, pack in enumerate(packs) for _ in pack.numbers]
    tokens, is_real, is_scored = right_padded([rows[number].tail for number in numbers])
    is_fed = is_real[:, 1:]
    ends = is_fed.sum(-1).cumsum(0)
    begins_pack = torch.tensor([sum(o < place for o in of) for place in of])
    n_before = torch.cat([ends.new_zeros(1), ends])
    begins = n_before[:-1] - n_before[begins_pack]
    # Where in its pack each token of a tail stands; the last token of a tail is scored and not fed.
    places = begins[:, None] + torch.arange(tokens.shape[1] - 1)
    width = int((begins + is_fed.sum(-1)).max())
    fed, tail, offset = torch.zeros(3, len(packs), width, dtype=torch.long)
    row, column = torch.tensor(of)[:, None].expand_as(places)[is_fed], places[is_fed]
    fed[row, column] = tokens[:, :-1][is_fed]
    tail[row, column] = torch.arange(1, len(numbers) + 1)[:, None].expand_as(places)[is_fed]
    offset[row, column] = torch.arange(tokens.shape[1] - 1).expand_as(places)[is_fed]
    sees = (tail[:, :, None] == tail[:, None, :]) & torch.ones(width, width, dtype=torch.bool).tril()
    logits = reader.read_packed([pack.request for pack in packs], fed, offset, sees)
    scores.add(numbers, logits, tokens[:, 1:], is_scored[:, 1:], of, places.clamp(max=width - 1))
