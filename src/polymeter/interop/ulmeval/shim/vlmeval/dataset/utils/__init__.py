"""Stand-in for ``vlmeval.dataset.utils``: judges, and reading options out of answers."""

from polymeter.interop.ulmeval.shim.ulmeval.dataset.utils.judge_util import DEBUG_MESSAGE, build_judge
from polymeter.interop.ulmeval.shim.vlmeval.dataset.utils.multiple_choice import (
    extract_answer_from_item,
    prefetch_answer,
)
from polymeter.interop.ulmeval.shim.vlmeval.dataset.utils.vqa_eval import levenshtein_distance

__all__ = ["DEBUG_MESSAGE", "build_judge", "extract_answer_from_item", "levenshtein_distance", "prefetch_answer"]
