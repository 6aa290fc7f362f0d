"""The suite against lm-eval: its published tasks on generated rows and a small checkpoint, in both tools."""
