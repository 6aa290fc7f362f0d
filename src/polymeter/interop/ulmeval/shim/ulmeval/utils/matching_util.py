"""Stand-in for ``ulmeval.utils.matching_util``: which option an answer names, by rules alone."""

from polymeter.formats.table.classes.multiple_choice.extract import (
    can_infer,
    can_infer_lego,
    can_infer_option,
    can_infer_sequence,
    can_infer_text,
)

__all__ = ["can_infer", "can_infer_lego", "can_infer_option", "can_infer_sequence", "can_infer_text"]
