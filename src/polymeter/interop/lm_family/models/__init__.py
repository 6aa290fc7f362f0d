"""Subclasses of lm-eval's ``LM`` and lmms-eval's ``lmms``: what both systems do to find and call them."""
