"""Exchange of runs with other tools: imported logs, exported files, published folders, trackers."""
