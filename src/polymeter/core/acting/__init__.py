"""Models that act: tools, their calls, and how results are shown."""
