"""The run folder: the only code that writes results. Imports nothing of Polymeter but the vocabulary."""
