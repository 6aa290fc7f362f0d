"""The curve of a training run: its page, its tables and its sentences."""
