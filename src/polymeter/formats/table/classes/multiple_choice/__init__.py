"""Multiple choice: the prompt, which option an answer names, circular evaluation, and the dataset classes."""
