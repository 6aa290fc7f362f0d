"""Files in lmms-eval's form: the lines of its sample files, and its summary of what answers cost."""
