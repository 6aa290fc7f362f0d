"""Scoring of benchmarks in Python: scorers, the values for each answer, and the results."""
