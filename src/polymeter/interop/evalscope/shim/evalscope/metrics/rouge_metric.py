"""ROUGE."""

from polymeter.interop.evalscope.tasks.metrics import (
    compute_rouge_score,
    compute_rouge_score_one_sample,
    compute_rouge_score_one_sample_zh,
)

__all__ = ["compute_rouge_score", "compute_rouge_score_one_sample", "compute_rouge_score_one_sample_zh"]
