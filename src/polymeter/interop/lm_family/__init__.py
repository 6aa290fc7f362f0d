"""What lm-eval and lmms-eval have in common: lmms-eval began as a copy of lm-eval and kept its names and files.

A family is no system: it has no ``SYSTEM``, imports no system, and is used by those that say how they differ.
"""
