"""Differences from lm-eval that are deliberate, by the row of docs/differences.md that states them."""

from conformance.comparing import Expected

_EXAMPLES = "examples from the measured rows, where the task names no split for them"
_NO_CHOICE = "a target that names no choice"
_REASONING = "stop strings in visible reasoning (`<think>…</think>`)"

EXPECTED: tuple[Expected, ...] = ()
