"""What is recorded of a run and read by others: progress, usage, and stored samples for other tools."""
