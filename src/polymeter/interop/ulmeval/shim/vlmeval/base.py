"""``vlmeval.vlm.base``: the base class of wrappers."""

from __future__ import annotations

from typing import Any

from polymeter.guests.own_classes import own_class
from polymeter.interop.ulmeval.models import base as ulm_base

__all__ = ["BaseModel"]


@own_class
class BaseModel(ulm_base.BaseModel):
    """A model that answers with text: ``generate_inner`` returns one answer, and so does ``generate``."""

    allowed_types = ["text", "image", "video"]  # noqa: RUF012  (as its authors read and replace it)

    def generate(self, message: Any, dataset: str | None = None, num_generations: int | None = None) -> Any:
        """The answer to a message; a list of answers if ``num_generations`` is given. See
        ``ulmeval.ulm.base.BaseModel``.
        """
        answers = super().generate(message, dataset, num_generations or 1)
        return answers[0] if num_generations is None else answers
