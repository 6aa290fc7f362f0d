"""Modules of lm-eval that have behaviour."""

__version__ = "0.4.13"
