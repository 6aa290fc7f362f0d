"""The report of one run: its table of results, its settings and its samples."""
