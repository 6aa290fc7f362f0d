"""Code that lm-eval and lmms-eval share: lmms-eval began as a copy of lm-eval and kept its names and files.

A family is not a system: it has no ``SYSTEM``, imports no system, and is used by the two systems, each of which passes
its own values.
"""
