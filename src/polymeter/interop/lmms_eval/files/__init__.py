"""Files in lmms-eval's form: the lines of its sample files, and its summary of the tokens and the time of answers."""
