"""Stand-in for ``lmms_eval.api.instance``: requests and answers as wrappers see them."""

from polymeter.interop.lmms_eval.models.base import (
    GenerationOutput,
    GenerationResult,
    TokenCounts,
    unwrap_generation_output,
)
from polymeter.interop.lmms_eval.tasks import Instance

__all__ = ["GenerationOutput", "GenerationResult", "Instance", "TokenCounts", "unwrap_generation_output"]
