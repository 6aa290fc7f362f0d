"""``vlmeval.dataset.utils.judge_util``: judges see images at full size, unless a class sets ``img_size``."""

from __future__ import annotations

from typing import Any

from polymeter.interop.ulmeval.shim.ulmeval import judges

__all__ = ["build_judge"]

_FULL_SIZE = -1


def build_judge(**kwargs: Any) -> Any:
    """The run's judge. ULMEvalKit's default of 512 pixels is not VLMEvalKit's, so it does not count at parity either.

    Args:
        **kwargs: As for ULMEvalKit's function.
    """
    return judges.build_judge(**{"img_size": _FULL_SIZE, **kwargs})
