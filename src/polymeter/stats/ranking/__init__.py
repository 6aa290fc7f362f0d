"""Rank intervals of several models, and a common scale from pairwise comparisons."""
