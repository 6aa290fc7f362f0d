"""Runs at a glance: their place in the list, their result, parts, outcomes, progress, settings and records."""
