"""Comparison of runs: other differences between them, and differences of scores beyond noise."""
