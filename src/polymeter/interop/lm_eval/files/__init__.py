"""Files in lm-eval's form: the lines of its sample files, its table, and what they say of a checkpoint or wrapper."""
