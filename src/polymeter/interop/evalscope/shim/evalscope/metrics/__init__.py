"""Metrics and parsers by name; each is also a module."""

from polymeter.interop.evalscope.shim.evalscope.metrics.completion_parsers import (
    ResponseParser,
    lmsys_parser,
    ranking_parser,
)
from polymeter.interop.evalscope.shim.evalscope.metrics.llm_judge import LLMJudge
from polymeter.interop.evalscope.shim.evalscope.metrics.math_parser import (
    extract_answer,
    math_equal,
    strip_answer_string,
)
from polymeter.interop.evalscope.shim.evalscope.metrics.metrics import (
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
from polymeter.interop.evalscope.shim.evalscope.metrics.named_metrics import Metric, metric_registry
from polymeter.interop.evalscope.shim.evalscope.metrics.rouge_metric import (
    compute_rouge_score,
    compute_rouge_score_one_sample,
    compute_rouge_score_one_sample_zh,
)

__all__ = [
    "LLMJudge",
    "Metric",
    "ResponseParser",
    "bleu_ngram_one_sample",
    "calculate_pass_at_k",
    "compute_rouge_score",
    "compute_rouge_score_one_sample",
    "compute_rouge_score_one_sample_zh",
    "exact_match",
    "extract_answer",
    "lmsys_parser",
    "macro_mean",
    "math_equal",
    "mean",
    "metric_registry",
    "micro_mean",
    "pass_at_k",
    "ranking_parser",
    "simple_f1_score",
    "strip_answer_string",
    "weighted_mean",
]
