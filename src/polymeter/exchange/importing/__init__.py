"""``import``: turns the log of another tool into a run folder."""
