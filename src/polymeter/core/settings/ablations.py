"""Ablations: the named ways to ask every sample of a run without a part of its prompt.

The run makes the changed requests (``polymeter.run.ablation``); names and words stand here, for options and reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from polymeter.core.content import Modality
from polymeter.core.errors import PlanError, did_you_mean
from polymeter.core.text.phrases import in_words

Way = Literal["removed", "blank", "shuffled", "unasked"]
"""``removed``: the media are left out; ``blank``: each is replaced by one of its size without content; ``shuffled``: by
those of another sample; ``unasked``: the question is left out, and the media stay."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """A way to ask without a part of the prompt.

    Attributes:
        name: Its name.
        way: What is done.
        modalities: The media that it changes; empty: none.
        words: What prompts are then, behind *the model was asked*.
    """

    name: str
    way: Way
    modalities: frozenset[Modality]
    words: str

    @property
    def is_blind(self) -> bool:
        """True if media are left out, so that a right answer needs none of them."""
        return self.way == "removed"


_MEDIA: tuple[Modality, ...] = ("image", "video", "audio")
_PLURAL: Mapping[str, str] = {"image": "images", "video": "videos", "audio": "audio"}
ABLATIONS: Mapping[str, Ablation] = {
    one.name: one
    for one in (
        *(Ablation(f"no-{kind}", "removed", frozenset({kind}), f"without {_PLURAL[kind]}") for kind in _MEDIA),
        Ablation("no-media", "removed", frozenset(_MEDIA), "without media"),
        Ablation("blank", "blank", frozenset(_MEDIA), "with grey images, grey videos and silence"),
        *(
            Ablation(f"shuffled-{kind}", "shuffled", frozenset({kind}), f"with the {_PLURAL[kind]} of another sample")
            for kind in _MEDIA
        ),
        Ablation("no-question", "unasked", frozenset(), "without the question"),
    )
}
USUAL = ("no-image", "blank", "shuffled-image", "no-question")
"""The ablations of a run if none is named."""


def ablation_named(name: str, where: str) -> Ablation:
    """Return the ablation of a name.

    Args:
        name: The name.
        where: The option that gives it, for messages.

    Raises:
        PlanError: if there is none of this name.
    """
    if name not in ABLATIONS:
        hint = did_you_mean(name, ABLATIONS) or f"Known: {in_words(ABLATIONS)}."
        raise PlanError(f"There is no ablation {name!r}.", where=where, hint=hint)
    return ABLATIONS[name]


def shown_media(modalities: frozenset[Modality]) -> str:
    """Return kinds of media in words, in a fixed order: ``images and audio``."""
    return in_words(_PLURAL[kind] for kind in _MEDIA if kind in modalities)
