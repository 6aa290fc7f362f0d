"""VLMEvalKit: its own dataset classes over generated rows, in both tools."""
