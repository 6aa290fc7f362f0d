"""Batches for a model on this machine: which requests share one, how large it is, and the thread that computes it."""
