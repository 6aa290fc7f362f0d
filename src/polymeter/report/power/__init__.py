"""A power analysis: its page and its tables."""
