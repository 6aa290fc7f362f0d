"""The suite against EvalScope 0.17.0: its adapters on generated rows, in both tools."""
