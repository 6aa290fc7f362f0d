"""Tools and environments of tasks: what models call, and what it does."""
