"""Stand-in for ``lmms_eval.models.model_utils.qwen``."""
