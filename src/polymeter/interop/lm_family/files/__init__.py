"""The files that both tools write."""
