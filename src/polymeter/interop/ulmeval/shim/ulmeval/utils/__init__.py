"""Stand-in for ``ulmeval.utils``: calls in parallel, and reading an option out of an answer."""

from polymeter.interop.ulmeval.shim.ulmeval.utils.matching_util import (
    can_infer,
    can_infer_lego,
    can_infer_option,
    can_infer_sequence,
    can_infer_text,
)
from polymeter.interop.ulmeval.shim.ulmeval.utils.mp_util import track_progress_rich

__all__ = [
    "can_infer",
    "can_infer_lego",
    "can_infer_option",
    "can_infer_sequence",
    "can_infer_text",
    "track_progress_rich",
]
