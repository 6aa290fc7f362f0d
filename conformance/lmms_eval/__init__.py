"""The suite against lmms-eval 0.7.2: its published tasks on generated rows, in both tools."""
