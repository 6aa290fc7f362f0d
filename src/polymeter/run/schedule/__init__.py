"""The loop between tasks and models: which samples are in progress, what they ask, and what is written down."""
