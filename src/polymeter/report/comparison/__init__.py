"""The comparison of runs: its page, its tables and its sentences."""
