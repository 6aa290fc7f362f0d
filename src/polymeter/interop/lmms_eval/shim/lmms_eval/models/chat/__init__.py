"""Stand-in for ``lmms_eval.models.chat``: what chat wrappers share. Wrappers themselves come from their authors."""
