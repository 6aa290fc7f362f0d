"""Metrics of answers that are values: numbers and JSON."""
