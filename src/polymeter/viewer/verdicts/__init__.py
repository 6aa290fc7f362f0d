"""The verdicts that people can give on a sample: what its task and its judge allow."""
