"""Many runs in one ranking: ``polymeter leaderboard``."""
