"""``import``: the log of another tool as a run folder."""
