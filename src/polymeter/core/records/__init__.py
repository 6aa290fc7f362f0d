"""Records of a run that others read: progress, usage, and stored samples for other tools."""
