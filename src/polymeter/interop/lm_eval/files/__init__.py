"""Files in lm-eval's form: the lines of its sample files, its table, and the facts that they record of a checkpoint or
wrapper.
"""
