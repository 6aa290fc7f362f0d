"""Stand-in for ``lmms_eval.tasks._task_utils``: what many tasks share."""
