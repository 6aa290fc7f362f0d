"""Models that are a user's own object, as EvalScope's scripts give them."""
