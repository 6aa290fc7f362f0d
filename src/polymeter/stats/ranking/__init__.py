"""Ranks of several models, and one scale for players from pairwise comparisons."""
