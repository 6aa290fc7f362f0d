"""Collections: prompts drawn from several benchmarks, in one file."""
