"""Means of values or of clusters: moments, degrees of freedom, and intervals."""
