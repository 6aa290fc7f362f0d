"""EvalScope 1.x: its own adapters on generated rows, in both tools."""
