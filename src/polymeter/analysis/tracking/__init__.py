"""The checkpoints of a training: each is measured once, and a curve shows how the model changes."""
