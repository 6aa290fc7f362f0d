"""Answers of a batch that stays full: a row leaves it when its answer ends, and a waiting request takes its place.

Each row is computed as it would be alone: positions and keys are its own, and so are its penalties, its noise and its
stop strings. Families of models may do more in ``generate``. So the first requests of each kind are begun both ways,
and ``generate`` answers a kind for which the two differ.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from polymeter.core.errors import is_out_of_memory
from polymeter.core.request import Tags
from polymeter.models.hf.answers.cached_rows import BegunRow, CachedRows
from polymeter.models.hf.answers.decoding import Decoding, StopStrings
from polymeter.models.hf.load import LoadedCheckpoint
from polymeter.models.hf.scoring.agreement import distributions_agree
from polymeter.models.hf.scoring.prefix import PrefixReader

if TYPE_CHECKING:
    import torch

_PROBE_TOKENS: Final = 3
_TOLERANCE: Final = 1e-3
_PLAIN_SEARCH = {"num_beams": 1, "use_cache": True}
"""Settings of ``generate`` that change nothing here."""
_FORCING = (
    "bad_words_ids",
    "begin_suppress_tokens",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "suppress_tokens",
    "watermarking_config",
)
"""Fields of a checkpoint's ``GenerationConfig`` that only ``generate`` heeds."""
_LOG = logging.getLogger("polymeter")


@dataclass(slots=True)
class AnswerRow:
    """An answer that is being written.

    Attributes:
        position: Of its request.
        n_prompt: Tokens of its prompt.
        prompt: Those tokens, where a processor looks back at them.
        processors: What is done to its scores before the largest is taken.
        stopping: Its stop strings.
        inside: The tags around the reasoning that its prompt has begun; none if it begins with the answer.
        tokens: The answer so far.
    """

    position: int
    n_prompt: int
    prompt: list[int]
    processors: list[Callable[[Any, Any], Any]]
    stopping: StopStrings | None
    inside: Tags | None
    tokens: list[int] = field(default_factory=list)

    @property
    def end(self) -> int | None:
        """After how many tokens a stop string ended it."""
        return self.stopping.ends[0] if self.stopping else None


class Refiller:
    """Continues rows with one loaded checkpoint, and remembers for which kinds of prompts that is correct.

    Args:
        loaded: The checkpoint.
    """

    def __init__(self, loaded: LoadedCheckpoint) -> None:
        self._loaded = loaded
        self._reader = PrefixReader(loaded.network)
        self._is_faithful: dict[frozenset[str], bool] = {}

    def takes(self, decoding: Decoding) -> bool:
        """Return whether answers decoded so can be computed here."""
        config = self._loaded.network.generation_config
        return (
            not self._loaded.kind.is_encoder_decoder
            and searches_plainly(decoding)
            and all(getattr(config, name, None) is None for name in _FORCING)
        )

    def takes_prompts(self, inputs: dict[str, Any], probe: Callable[[], dict[str, Any]]) -> bool:
        """Return whether prompts of this kind can be computed here.

        Args:
            inputs: The tensors of some prompts.
            probe: Returns the tensors of two of them, the shortest and the longest.
        """
        kind = frozenset(inputs)
        if kind not in self._is_faithful:
            try:
                self._is_faithful[kind] = self._agrees(probe())
            except Exception as error:  # an architecture's own code may fail with anything
                if is_out_of_memory(error):
                    raise
                self._is_faithful[kind] = False
                _LOG.debug("Finished rows keep their places: %s", error)
        return self._is_faithful[kind]

    def begin(self, inputs: dict[str, Any]) -> tuple[BegunRow, torch.Tensor]:
        """Read prompts.

        Returns:
            Their rows, and the logits after each, of shape ``(rows, vocabulary)``.
        """
        reader = self._reader
        logits = reader.read(inputs)
        cache, reader.cache = reader.cache, None  # which would otherwise be held while the rows continue without it
        return BegunRow(cache, inputs["attention_mask"], reader.starts), logits

    def step(self, rows: CachedRows, tokens: Sequence[int]) -> torch.Tensor:
        """Read one more token of each row; returns the logits after it."""
        import torch

        rows.widen()
        fed = torch.tensor(tokens, device=rows.mask.device)
        logits = self._reader.step(fed, rows.mask, rows.positions, rows.cache)
        rows.positions = rows.positions + 1
        return logits

    def _agrees(self, inputs: dict[str, Any]) -> bool:
        """Return whether two prompts, read apart and joined, continue as they do together in ``generate``."""
        loaded = self._loaded
        told = loaded.network.generate(
            **inputs,
            min_new_tokens=_PROBE_TOKENS,
            max_new_tokens=_PROBE_TOKENS,
            do_sample=False,
            pad_token_id=loaded.pad_id,
            output_logits=True,
            return_dict_in_generate=True,
        )
        tokens = told.sequences[:, -_PROBE_TOKENS:]
        begun, logits = self.begin(inputs)
        rows = CachedRows(1)
        rows.add(begun, [1])
        rows.add(begun, [1, 0])
        rows.keep([1, 2])  # the last moves up, so that they stand as they did
        for number, expected in enumerate(told.logits):
            if not distributions_agree(logits, expected, loaded.dtype, on_average=_TOLERANCE):
                _LOG.debug("Finished rows keep their places: generate() returns other logits for token %d.", number)
                return False
            if number + 1 < len(told.logits):
                logits = self.step(rows, tokens[:, number].tolist())
        return True


def searches_plainly(decoding: Decoding) -> bool:
    """Return whether the next token is that of the largest score, without settings that only ``generate`` knows."""
    return all(value is None or value == _PLAIN_SEARCH.get(name) for name, value in decoding.search.items())


def choose(rows: Sequence[AnswerRow], logits: torch.Tensor) -> list[int]:
    """The next token of each row."""
    import torch

    scores = logits.float()
    if not any(row.processors for row in rows):
        return [int(token) for token in scores.argmax(-1).tolist()]
    chosen = []
    for row, own in zip(rows, scores.split(1), strict=True):
        so_far = torch.tensor([[*row.prompt, *row.tokens]], dtype=torch.long, device=own.device)
        shaped = own
        for processor in row.processors:
            shaped = processor(so_far, shaped)
        chosen.append(int(shaped.argmax(-1)))
    return chosen
