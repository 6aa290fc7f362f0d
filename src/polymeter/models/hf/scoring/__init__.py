"""Log-probabilities of continuations: prefixes shared, tails packed or padded, whole texts."""
