"""Tracking of the checkpoints of a training run: each is measured once, and a curve shows how the model changes."""
