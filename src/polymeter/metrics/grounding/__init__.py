"""Metrics of places in images: boxes and points."""
