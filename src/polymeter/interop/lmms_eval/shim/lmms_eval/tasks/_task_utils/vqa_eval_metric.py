"""Stand-in for ``lmms_eval.tasks._task_utils.vqa_eval_metric``: answers as the VQA challenge compares them."""

from polymeter.metrics.vqa import EvalAIAnswerProcessor

__all__ = ["EvalAIAnswerProcessor"]
