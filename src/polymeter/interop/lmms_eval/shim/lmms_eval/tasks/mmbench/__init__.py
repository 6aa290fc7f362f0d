"""Stand-in for what tasks import from ``lmms_eval.tasks.mmbench``."""
