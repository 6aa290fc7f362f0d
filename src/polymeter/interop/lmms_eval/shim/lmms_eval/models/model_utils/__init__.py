"""Stand-in for ``lmms_eval.models.model_utils``: helpers that wrappers share."""
