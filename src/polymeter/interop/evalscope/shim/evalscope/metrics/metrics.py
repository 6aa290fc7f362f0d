"""Scores of one sample, and means of many."""

from polymeter.interop.evalscope.tasks.metrics import (
    bleu_ngram_one_sample,
    calculate_pass_at_k,
    exact_match,
    macro_mean,
    mean,
    micro_mean,
    pass_at_k,
    simple_f1_score,
    weighted_mean,
)

__all__ = [
    "bleu_ngram_one_sample",
    "calculate_pass_at_k",
    "exact_match",
    "macro_mean",
    "mean",
    "micro_mean",
    "pass_at_k",
    "simple_f1_score",
    "weighted_mean",
]
