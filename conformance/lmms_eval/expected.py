"""Differences from lmms-eval that are deliberate, by the row of docs/differences.md that states them."""

from conformance.comparing import Expected

EXPECTED: tuple[Expected, ...] = ()
