"""Tasks that are Python classes: what their authors subclass, and how a run calls their methods."""
