"""Comparing mathematical answers."""

from polymeter.metrics.maths import extract_answer, math_equal, strip_answer_string

__all__ = ["extract_answer", "math_equal", "strip_answer_string"]
