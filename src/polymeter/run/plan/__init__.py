"""From what a user asked for to a plan: benchmarks chosen, models made, settings checked; nothing is spent."""
