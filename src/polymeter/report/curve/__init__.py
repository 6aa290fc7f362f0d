"""The curve of a training: its page, its tables and its sentences."""
