"""Ranking of many runs: ``polymeter leaderboard``."""
