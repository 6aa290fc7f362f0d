"""Utilities that adapters of EvalScope 1.x import."""
