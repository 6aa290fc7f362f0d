"""Stand-in for ``lmms_eval.models.simple``. Wrappers themselves come from their authors."""
