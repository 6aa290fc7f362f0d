"""Metrics of a whole corpus, and the overlap of texts with references."""
