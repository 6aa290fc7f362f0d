"""Runs to and from other tools: imported logs, exported files, published folders, trackers."""
