"""A leaderboard: its page, its tables and its sentences."""
