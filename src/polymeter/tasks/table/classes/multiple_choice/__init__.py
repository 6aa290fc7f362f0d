"""Multiple choice: prompts, reading which option an answer names, circular evaluation, and the dataset classes."""
